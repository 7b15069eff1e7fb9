// SPDX-License-Identifier: BSD-2-Clause
// go_healthy.go: two goroutines pass work to each other, and mostly sleep.
package main

import (
	"fmt"
	"time"
)

func main() {
	jobs, sums := make(chan int), make(chan int)
	go func() {
		for job := range jobs {
			sum := 0
			for i := 0; i < 100000; i++ {
				sum += i % (job + 1)
			}
			sums <- sum
		}
		close(sums)
	}()
	total := 0
	for i := 0; i < 25; i++ {
		jobs <- i
		total += <-sums
		time.Sleep(90 * time.Millisecond)
	}
	fmt.Println(total)
}
