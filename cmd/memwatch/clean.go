package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean returns s fit for a terminal and for a line of text: what another process
// wrote may hold control sequences, line breaks, invisible marks or text that runs
// backwards. Everything that is not plainly printable becomes a question mark.
func clean(s string) string {
	ok := true
	for _, r := range s {
		ok = ok && r != utf8.RuneError && unicode.IsPrint(r)
	}
	if ok {
		return s
	}
	return strings.Map(func(r rune) rune {
		// IsPrint refuses controls, format marks such as bidirectional overrides, private
		// and unassigned code points, and all spaces but the ordinary one.
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
