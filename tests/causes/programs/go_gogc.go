// SPDX-License-Identifier: BSD-2-Clause
// go_gogc.go: with GOGC=5 a live index is collected over and over.
package main

import "fmt"

type node struct {
	next *node
	data [6]int
}

var index []*node

//go:noinline
func load(n int) {
	for i := 0; i < n; i++ {
		index = append(index, &node{next: nil})
	}
}

//go:noinline
func request(i int) int {
	buffer := make([]*node, 500)
	buffer[i%500] = index[i%len(index)]
	return len(buffer) + sink(buffer)
}

var kept []*node

func sink(b []*node) int { kept = b; return 1 }

func main() {
	load(400000)
	sum := 0
	for i := 0; i < 120000; i++ {
		sum += request(i)
	}
	fmt.Println(sum)
}
