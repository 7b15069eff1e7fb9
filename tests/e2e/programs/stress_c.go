// SPDX-License-Identifier: BSD-2-Clause
// stress_c.go: stress.go with C code that calls back, and with a plugin.
package main

/*
#include <stdlib.h>
#include <string.h>

int called(int);
static int calls(int n)
{
	char *text = malloc(100 + n);
	int sum;

	memset(text, n, 100 + n);
	sum = text[n] + (n > 0 ? called(n - 1) : 0);
	free(text);
	return sum;
}
*/
import "C"

import (
	"os"
	"path/filepath"
	"plugin"
)

//export called
func called(n C.int) C.int { return C.calls(n) + C.int(grow(2, 0).total()) }

// Go and C by turns, 60 deep.
func cgo(rounds int) int {
	sum := 0
	for i := 0; i < rounds; i++ {
		sum += int(C.calls(C.int(i % 30)))
	}
	return sum
}

func plugins(rounds int) int {
	program, _ := os.Executable()
	opened, err := plugin.Open(filepath.Join(filepath.Dir(program), "stress_plugin.so"))
	if err != nil {
		panic(err)
	}
	work, _ := opened.Lookup("Work")
	return work.(func(int) int)(rounds) + trees(rounds)
}

func init() {
	modes["cgo"] = cgo
	modes["plugins"] = plugins
}
