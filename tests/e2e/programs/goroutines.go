// SPDX-License-Identifier: BSD-2-Clause
// goroutines.go: goroutines that compute, allocate or write, for so many seconds and until each has
// done much, as a busy recorder knows them late, and print their ids; for go.bats.
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
var sum int

// The id as the runtime prints it.
func id() string {
	var text [64]byte

	return strings.Fields(string(text[:runtime.Stack(text[:], false)]))[1]
}

//go:noinline
func compute(until time.Time, least int) {
	for n := 0; n < least || time.Now().Before(until); n++ {
		for i := 0; i < 1000; i++ {
			sum ^= i
		}
	}
}

//go:noinline
func computes(until time.Time) { compute(until, 50000) }

//go:noinline
func allocate(until time.Time) {
	for n := 0; n < 5000 || time.Now().Before(until); n++ {
		sink = [][]byte{make([]byte, 32768)}
	}
}

//go:noinline
func write(until time.Time) {
	file, _ := os.OpenFile("/dev/null", os.O_WRONLY, 0)
	for n := 0; n < 500 || time.Now().Before(until); n++ {
		file.Write([]byte("x"))
		compute(time.Now().Add(100*time.Microsecond), 0)
	}
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	until := time.Now().Add(time.Duration(seconds * 1e9))
	var all sync.WaitGroup

	for _, work := range []struct {
		name string
		run  func(time.Time)
	}{{"compute", computes}, {"allocate", allocate}, {"write", write}} {
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
