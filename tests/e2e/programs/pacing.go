// SPDX-License-Identifier: BSD-2-Clause
// pacing.go: a Go program that changes how its collector is paced: as its environment says, then
// GOGC=300, then GOGC=off with a memory limit of 32 MiB.
package main

import "runtime/debug"

var sink []byte

func garbage(mib int) {
	for i := 0; i < mib; i++ {
		sink = make([]byte, 1<<20)
	}
}

func main() {
	garbage(200)
	debug.SetGCPercent(300)
	garbage(200)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(32 << 20)
	garbage(200)
}
