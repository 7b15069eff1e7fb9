// SPDX-License-Identifier: BSD-2-Clause
// go_handover.go: each number goes through two channels without a buffer.
package main

import "fmt"

func square(in <-chan int, out chan<- int) {
	for v := range in {
		out <- v * v
	}
	close(out)
}

func feed(out chan<- int) {
	for i := 0; i < 4000000; i++ {
		out <- i
	}
	close(out)
}

func main() {
	numbers, squares := make(chan int), make(chan int)
	go feed(numbers)
	go square(numbers, squares)
	sum := 0
	for v := range squares {
		sum += v
	}
	fmt.Println(sum)
}
