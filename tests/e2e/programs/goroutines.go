// SPDX-License-Identifier: BSD-2-Clause
// goroutines.go: goroutines that compute, allocate or write, and print their ids; for go.bats.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

var sink [][]byte

// The id as the runtime prints it.
func id() string {
	var text [64]byte

	return strings.Fields(string(text[:runtime.Stack(text[:], false)]))[1]
}

//go:noinline
func compute(until time.Time) {
	for n := 0; time.Now().Before(until); n++ {
		for i := 0; i < 1000; i++ {
			n ^= i
		}
	}
}

//go:noinline
func allocate(until time.Time) {
	for time.Now().Before(until) {
		sink = [][]byte{make([]byte, 32768)}
	}
}

//go:noinline
func write(until time.Time) {
	file, _ := os.OpenFile("/dev/null", os.O_WRONLY, 0)
	for time.Now().Before(until) {
		file.Write([]byte("x"))
		compute(time.Now().Add(100 * time.Microsecond))
	}
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	until := time.Now().Add(time.Duration(seconds * 1e9))
	var all sync.WaitGroup

	for _, work := range []struct {
		name string
		run  func(time.Time)
	}{{"compute", compute}, {"allocate", allocate}, {"write", write}} {
		for i := 0; i < 3; i++ {
			work := work
			all.Add(1)
			go func() {
				fmt.Println(work.name, id())
				work.run(until)
				all.Done()
			}()
		}
	}
	all.Wait()
}
