// SPDX-License-Identifier: BSD-2-Clause
// go_fsync.go: each record is synchronised.
package main

import (
	"os"
	"time"
)

//go:noinline
func commit(file *os.File, record []byte) {
	file.Write(record)
	file.Sync()
}

func main() {
	file, _ := os.Create("wal")
	record := make([]byte, 300)
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		commit(file, record)
	}
}
