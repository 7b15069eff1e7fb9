// SPDX-License-Identifier: BSD-2-Clause
// heap.go: keeps some objects and drops others, writes its own heap profile to a file when all is
// quiet, and waits; for go.bats.
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"time"
)

type item struct{ value [100]int64 }

var small []*item
var large [][]byte
var dropped []byte

//go:noinline
func keepSmall() { small = append(small, new(item)) }

//go:noinline
func keepLarge() { large = append(large, make([]byte, 300000)) }

//go:noinline
func drop() { dropped = make([]byte, 5000) }

func main() {
	runtime.MemProfileRate = 65536
	for i := 0; i < 20000; i++ {
		keepSmall()
		drop()
		if i%200 == 0 {
			keepLarge()
		}
	}
	dropped = nil // the last one may be a sample
	for i := 0; i < 3; i++ {
		runtime.GC()
	}
	runtime.ReadMemStats(new(runtime.MemStats)) // it stops the world
	file, _ := os.Create(os.Args[1])
	pprof.Lookup("heap").WriteTo(file, 0)
	file.Close()
	os.Rename(os.Args[1], os.Args[1]+".done")
	for {
		time.Sleep(time.Second)
	}
}
