package main

import (
	_ "embed"
	"strings"
)

//go:embed main.go
var source string

// usage is the package comment: one text for the manual and for -h.
var usage = manual(source)

// manual returns the package comment at the head of a Go file.
func manual(src string) string {
	var b strings.Builder
	for line := range strings.Lines(src) {
		text, ok := strings.CutPrefix(line, "//")
		if !ok {
			break
		}
		b.WriteString(strings.TrimPrefix(text, " "))
	}
	return b.String()
}
