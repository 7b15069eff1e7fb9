// SPDX-License-Identifier: BSD-2-Clause
// stress.go: what is hard for Go's runtime, with results that can be compared.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

type node struct {
	left, right *node
	value       int
}

func grow(depth, value int) *node {
	if depth == 0 {
		return &node{value: value}
	}
	return &node{grow(depth-1, 2*value), grow(depth-1, 2*value+1), value}
}

func (n *node) total() int {
	if n.left == nil {
		return n.value
	}
	return n.value + n.left.total() + n.right.total()
}

// Some trees live long.
func trees(rounds int) int {
	var kept [8]*node
	sum := 0
	for i := 0; i < rounds; i++ {
		kept[i%len(kept)] = grow(12, i)
		if tree := kept[i*5%len(kept)]; tree != nil {
			sum += tree.total()
		}
		sum += len(make([]byte, 500+i%1000*100))
	}
	return sum
}

// Thousands at a time, which hand numbers on.
func goroutines(rounds int) int {
	sum := 0
	for i := 0; i < rounds; i++ {
		first := make(chan int)
		in := first
		for j := 0; j < 3000; j++ {
			out := make(chan int, j%2)
			go func(in, out chan int) { out <- <-in + grow(2, 1).total() }(in, out)
			in = out
		}
		first <- i
		sum += <-in
	}
	return sum
}

func deep(depth int, pad [64]byte) int {
	if depth == 0 {
		return int(pad[0])
	}
	pad[depth%64]++
	return deep(depth-1, pad) + len(make([]int, depth%20))
}

// Stacks grow to megabytes, and are moved while they do.
func stacks(rounds int) int {
	var wait sync.WaitGroup
	sums := make([]int, 20)
	for i := 0; i < rounds; i++ {
		for j := range sums {
			wait.Add(1)
			go func(j int) {
				defer wait.Done()
				sums[j] += deep(3000+j, [64]byte{})
			}(j)
		}
		wait.Wait()
	}
	sum := 0
	for _, s := range sums {
		sum += s
	}
	return sum
}

func fall(depth int, list []int) int {
	defer func() { recover(); panic(depth) }()
	if depth == 0 {
		return list[len(list)]
	}
	return fall(depth-1, append(list, depth))
}

// Panics within panics, and faults.
func panics(rounds int) int {
	sum := 0
	for i := 0; i < rounds; i++ {
		func() {
			defer func() { sum += recover().(int) }()
			fall(i%40, nil)
		}()
		func() {
			defer func() { sum += len(recover().(runtime.Error).Error()) }()
			sum += (*node)(nil).total()
		}()
	}
	return sum
}

func children(rounds int) int {
	sum := 0
	for i := 0; i < rounds; i++ {
		text, err := exec.Command("expr", strconv.Itoa(i), "+", "1").Output()
		n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		if err == nil {
			sum += n
		}
	}
	return sum
}

// The process executes itself, so many times.
func execs(rounds int) int {
	if sum := trees(20); rounds > 0 {
		syscall.Exec("/proc/self/exe", append([]string{os.Args[0], "execs", strconv.Itoa(rounds - 1)}, os.Args[3:]...), os.Environ())
	} else {
		return sum
	}
	return -1
}

// Ends in the midst of its work.
func ends(signal syscall.Signal) func(int) int {
	return func(ms int) int {
		time.AfterFunc(time.Duration(ms)*time.Millisecond, func() {
			syscall.Kill(os.Getpid(), signal)
		})
		return trees(1 << 30)
	}
}

func exits(ms int) int {
	time.AfterFunc(time.Duration(ms)*time.Millisecond, func() { os.Exit(7) })
	return trees(1 << 30)
}

func wild(ms int) int {
	time.AfterFunc(time.Duration(ms)*time.Millisecond, func() { (*node)(nil).value = 1 })
	return trees(1 << 30)
}

// What other files of the program add is here, too.
var modes = map[string]func(int) int{
	"trees": trees, "goroutines": goroutines, "stacks": stacks, "panics": panics,
	"children": children, "execs": execs, "exit": exits, "wild": wild,
	"quit": ends(syscall.SIGQUIT), "segv": ends(syscall.SIGSEGV), "term": ends(syscall.SIGTERM),
}

// Arguments: a mode and how many rounds. Prints the mode and a number that depends on the rounds
// alone.
func main() {
	rounds, _ := strconv.Atoi(os.Args[2])
	fmt.Println(os.Args[1], modes[os.Args[1]](rounds))
}
