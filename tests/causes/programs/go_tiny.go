// SPDX-License-Identifier: BSD-2-Clause
// go_tiny.go: lines are written to a file without a buffer.
package main

import (
	"fmt"
	"os"
)

//go:noinline
func writeRow(file *os.File, i int) {
	fmt.Fprintf(file, "%d\n", i)
}

func main() {
	file, _ := os.Create("rows")
	for i := 0; i < 1200000; i++ {
		writeRow(file, i)
	}
}
