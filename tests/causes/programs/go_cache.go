// SPDX-License-Identifier: BSD-2-Clause
// go_cache.go: a cache keeps every answer.
package main

import "fmt"

type answer struct {
	text  string
	words []*string
}

var answers = map[int]*answer{}

//go:noinline
func lookup(question int) *answer {
	if found := answers[question]; found != nil {
		return found
	}
	made := &answer{text: fmt.Sprint("answer ", question)}
	for i := 0; i < 4; i++ {
		word := fmt.Sprint("word ", i)
		made.words = append(made.words, &word)
	}
	answers[question] = made
	return made
}

func main() {
	length := 0
	for i := 0; i < 900000; i++ {
		length += len(lookup(i).text)
	}
	fmt.Println(length)
}
