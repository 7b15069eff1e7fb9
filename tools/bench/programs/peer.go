// SPDX-License-Identifier: BSD-2-Clause
// peer.go: the programs of protocol.h for Go.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

type node struct {
	left, right *node
	i, j        int32
}

func populate(depth int, n *node) {
	if depth <= 0 {
		return
	}
	n.left, n.right = new(node), new(node)
	populate(depth-1, n.left)
	populate(depth-1, n.right)
}

func makeTree(depth int) *node {
	if depth <= 0 {
		return new(node)
	}
	return &node{left: makeTree(depth - 1), right: makeTree(depth - 1)}
}

func countNodes(n *node) int {
	if n == nil {
		return 0
	}
	return 1 + countNodes(n.left) + countNodes(n.right)
}

func trees(depth int) int {
	return 2 * (1<<19 - 1) / (1<<(depth+1) - 1)
}

func gcbench() {
	makeTree(18)
	longLived := new(node)
	populate(16, longLived)
	array := make([]float64, 500000)
	for i := 1; i < len(array)/2; i++ {
		array[i] = 1 / float64(i)
	}
	for depth := 4; depth <= 16; depth += 2 {
		for i := 0; i < trees(depth); i++ {
			populate(depth, new(node))
		}
		for i := 0; i < trees(depth); i++ {
			makeTree(depth)
		}
	}
	if countNodes(longLived) != 2<<16-1 || array[1000] != 1.0/1000 {
		panic("the long-lived data was damaged")
	}
}

type small struct {
	serial int64
	rest   [3]int64
}

var kept *small

// One in 1024 is published, so all of them are on the heap.
func allocateShort() {
	for i := int64(0); i < 20000000; i++ {
		object := &small{serial: i}
		if i%1024 == 0 {
			kept = object
		}
	}
}

func churnThread() {
	lengths := [7]int{2, 3, 4, 6, 8, 16, 64}
	ring := make([][]int64, 256)
	next := 0
	for i := 0; i < 4000000; i++ {
		object := make([]int64, lengths[next])
		object[0] = int64(i)
		if i%64 == 0 {
			ring[i/64%256] = object
		}
		if next++; next == len(lengths) {
			next = 0
		}
	}
}

func churn(threads int) {
	var group sync.WaitGroup
	for i := 0; i < threads; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			churnThread()
		}()
	}
	group.Wait()
}

func cpu() int64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func main() {
	times, _ := strconv.Atoi(os.Args[2])
	for ; times > 0; times-- {
		start, before := time.Now(), cpu()
		switch os.Args[1] {
		case "gcbench":
			gcbench()
		case "short":
			allocateShort()
		case "churn":
			threads, _ := strconv.Atoi(os.Args[3])
			churn(threads)
		default:
			os.Exit(2)
		}
		fmt.Println(time.Since(start).Nanoseconds(), cpu()-before)
	}
}
