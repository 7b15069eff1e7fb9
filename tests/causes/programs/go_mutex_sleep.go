// SPDX-License-Identifier: BSD-2-Clause
// go_mutex_sleep.go: a mutex is held while a slow service is asked.
package main

import (
	"sync"
	"time"
)

var lock sync.Mutex

func askService() { time.Sleep(time.Millisecond) }

//go:noinline
func checkout() {
	lock.Lock()
	askService()
	lock.Unlock()
}

func main() {
	var group sync.WaitGroup
	for g := 0; g < 16; g++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 120; i++ {
				checkout()
			}
		}()
	}
	group.Wait()
}
