// SPDX-License-Identifier: BSD-2-Clause
// go_read.go: a file is read byte by byte, without a buffer.
package main

import (
	"fmt"
	"os"
)

//go:noinline
func countLines(name string) int {
	file, _ := os.Open(name)
	defer file.Close()
	lines, letter := 0, make([]byte, 1)
	for {
		if n, _ := file.Read(letter); n == 0 {
			return lines
		}
		if letter[0] == '\n' {
			lines++
		}
	}
}

func main() {
	os.WriteFile("text", make([]byte, 3000000), 0600)
	fmt.Println(countLines("text"))
}
