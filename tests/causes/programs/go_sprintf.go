// SPDX-License-Identifier: BSD-2-Clause
// go_sprintf.go: keys of a map are printed.
package main

import "fmt"

func count(rows int) map[string]int {
	counts := map[string]int{}
	for i := 0; i < rows; i++ {
		counts[fmt.Sprintf("%d:%d", i%50, i%20)]++
	}
	return counts
}

func main() {
	fmt.Println(len(count(12000000)))
}
