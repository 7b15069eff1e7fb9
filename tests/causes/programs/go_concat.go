// SPDX-License-Identifier: BSD-2-Clause
// go_concat.go: a text grows by += in a loop.
package main

import "fmt"

//go:noinline
func join(lines int) string {
	text := ""
	for i := 0; i < lines; i++ {
		text += "a line of text that is added\n"
	}
	return text
}

func main() {
	fmt.Println(len(join(40000)))
}
