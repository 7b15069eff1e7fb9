// SPDX-License-Identifier: BSD-2-Clause
// profiled.go: beside peer.go: Go's own CPU profile, and its heap profile once a second.
package main

import (
	"os"
	"runtime/pprof"
	"time"
)

func init() {
	cpu, err := os.Create("go.cpu")
	if err != nil || pprof.StartCPUProfile(cpu) != nil {
		panic("no CPU profile")
	}
	go func() {
		for range time.Tick(time.Second) {
			heap, err := os.Create("go.heap")
			if err != nil || pprof.WriteHeapProfile(heap) != nil || heap.Close() != nil {
				panic("no heap profile")
			}
		}
	}()
}
