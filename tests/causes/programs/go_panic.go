// SPDX-License-Identifier: BSD-2-Clause
// go_panic.go: a missing key is told by a panic.
package main

import "fmt"

var prices = map[string]int{"apple": 1}

//go:noinline
func priceOf(name string) (price int) {
	defer func() {
		if recover() != nil {
			price = 0
		}
	}()
	price, found := prices[name]
	if !found {
		panic("no " + name)
	}
	return price
}

func main() {
	sum := 0
	for i := 0; i < 6000000; i++ {
		sum += priceOf("pear")
	}
	fmt.Println(sum)
}
