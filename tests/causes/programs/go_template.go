// SPDX-License-Identifier: BSD-2-Clause
// go_template.go: a template is parsed for each page.
package main

import (
	"fmt"
	"strings"
	"text/template"
)

//go:noinline
func render(name string) string {
	var out strings.Builder
	page := template.Must(template.New("page").Parse("<h1>{{.}}</h1>{{if .}}<p>{{len .}}</p>{{end}}{{range $i, $c := .}}{{$i}}{{end}}"))
	page.Execute(&out, name)
	return out.String()
}

func main() {
	length := 0
	for i := 0; i < 60000; i++ {
		length += len(render("x"))
	}
	fmt.Println(length)
}
