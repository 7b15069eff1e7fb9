// SPDX-License-Identifier: BSD-2-Clause
// points.go: a Go program whose own heap profile leads into a file: points FILE; for attacks.bats.
package main

import (
	"os"
	"runtime/debug"
	"syscall"
	"time"
	"unsafe"
)

//go:linkname mbuckets runtime.mbuckets
var mbuckets unsafe.Pointer

func main() {
	// The runtime itself must not read it.
	debug.SetGCPercent(-1)
	file, err := syscall.Open(os.Args[1], syscall.O_RDONLY, 0)
	if err != nil {
		panic(err)
	}
	data, err := syscall.Mmap(file, 0, 65536, syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	mbuckets = unsafe.Pointer(&data[0])
	os.Stdout.WriteString("ready\n")
	for {
		time.Sleep(time.Second)
	}
}
