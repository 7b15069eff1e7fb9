// SPDX-License-Identifier: BSD-2-Clause
// go_regexp.go: a regular expression is compiled in each call.
package main

import (
	"fmt"
	"regexp"
)

//go:noinline
func isAddress(text string) bool {
	return regexp.MustCompile(`^[a-z0-9._]+@([a-z0-9]+[.])+[a-z]{2,4}$`).MatchString(text)
}

func main() {
	valid := 0
	for i := 0; i < 120000; i++ {
		if isAddress("somebody@example.com") {
			valid++
		}
	}
	fmt.Println(valid)
}
