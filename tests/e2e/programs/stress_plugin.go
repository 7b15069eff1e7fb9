// SPDX-License-Identifier: BSD-2-Clause
// stress_plugin.go: a plugin of stress_c.go that allocates.
package main

// Work returns a number that depends on the rounds alone.
func Work(rounds int) int {
	lists := map[int][]int{}
	for i := 0; i < rounds*1000; i++ {
		lists[i%50] = append(lists[i%50][:len(lists[i%50])%100], i)
	}
	sum := 0
	for _, list := range lists {
		sum += len(list) * list[0]
	}
	return sum
}
