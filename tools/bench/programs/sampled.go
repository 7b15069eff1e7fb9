// SPDX-License-Identifier: BSD-2-Clause
// sampled.go: beside peer.go: Go's own sampler is on, as in all programs that could read it.
package main

import "runtime"

var reader = runtime.MemProfile
