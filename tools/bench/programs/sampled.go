// SPDX-License-Identifier: BSD-2-Clause
// sampled.go: beside peer.go: Go's own sampler is on, as in all programs that could read it.
package main

import (
	"os"
	"runtime"
)

// The linker switches the sampler off unless code that it keeps calls this: a variable that
// nobody reads is not kept.
func init() {
	if len(os.Args) == 1 {
		runtime.MemProfile(nil, true)
	}
}
