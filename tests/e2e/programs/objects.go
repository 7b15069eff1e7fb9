// SPDX-License-Identifier: BSD-2-Clause
// objects.go: allocates so many times four nodes (48 bytes) and a slice (1024), and keeps one node
// of 64; for ever without an argument. With another one it waits first, until that is the runtime's
// period of samples.
package main

import (
	"os"
	"runtime"
	"strconv"
	"time"
)

type node struct {
	left, right *node
	value       [4]int64
}

var keep []*node
var last []byte

//go:noinline
func makeNode(i int) *node { return &node{value: [4]int64{int64(i)}} }

//go:noinline
func makeBytes(n int) []byte { return make([]byte, n) }

func main() {
	times := -1
	if len(os.Args) > 1 {
		times, _ = strconv.Atoi(os.Args[1])
	}
	if len(os.Args) > 2 {
		period, _ := strconv.Atoi(os.Args[2])
		for runtime.MemProfileRate != period {
			time.Sleep(time.Millisecond)
		}
	}
	for i := 0; i != 4*times; i++ {
		p := makeNode(i)
		if i%64 == 0 && len(keep) < 100000 {
			keep = append(keep, p)
		}
		if i%4 == 0 {
			last = makeBytes(1000)
		}
	}
}
