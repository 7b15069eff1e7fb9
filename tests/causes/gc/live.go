// SPDX-License-Identifier: BSD-2-Clause
// live.go: one function makes garbage, another one objects that stay alive.

package main

import "os"

type node struct {
	next *node
	rest [5]int
}

var kept []*node
var sink *[8]*int

func keep(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, &node{next: nil})
	}
}

func garbage(n int) {
	for i := 0; i < n; i++ {
		sink = new([8]*int)
	}
}

func other(n int) {
	for i := 0; i < n; i++ {
		sink = new([8]*int)
	}
}

// live [nolive | nogarbage]: without what is kept, or without the garbage of one function.
func main() {
	without := ""
	if len(os.Args) > 1 {
		without = os.Args[1]
	}
	if without != "nolive" {
		keep(1000000)
	}
	for i := 0; i < 100; i++ {
		if without != "nogarbage" {
			garbage(400000)
		}
		other(100000)
	}
}
