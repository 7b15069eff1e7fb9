// SPDX-License-Identifier: BSD-2-Clause
// go_mutex.go: goroutines wait for one mutex, which is held while a request is handled.
package main

import (
	"fmt"
	"sync"
)

var (
	lock  sync.Mutex
	table = map[int]int{}
)

//go:noinline
func handle(i int) int {
	lock.Lock()
	defer lock.Unlock()
	sum := 0
	for j := 0; j < 3000; j++ {
		sum += table[(i+j)%100] + j
	}
	table[i%100] = sum % 7
	return sum
}

func main() {
	var group sync.WaitGroup
	for g := 0; g < 8; g++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 6000; i++ {
				handle(i)
			}
		}()
	}
	group.Wait()
	fmt.Println(len(table))
}
