// SPDX-License-Identifier: BSD-2-Clause
// go_exec.go: a program is started for each file.
package main

import "os/exec"

//go:noinline
func checksum(name string) []byte {
	sum, _ := exec.Command("sha256sum", name).Output()
	return sum
}

func main() {
	for i := 0; i < 400; i++ {
		checksum("/etc/passwd")
	}
}
