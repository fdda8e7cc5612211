package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns s fit for a terminal and for a line of text. What is not plainly
// printable becomes a question mark: control characters and the sequences that begin
// with them, line breaks, marks that turn the direction of text, invisible and
// unassigned characters, all spaces but the ordinary one.
func Clean(s string) string { return cleanOf(s, "") }

// cleanOf is Clean that also replaces the characters of more.
func cleanOf(s, more string) string {
	bad := func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsPrint(r) || strings.ContainsRune(more, r)
	}
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if bad(r) {
			return '?'
		}
		return r
	}, s)
}

// cut shortens s to n characters, its end if tail is set.
func cut(s string, n int, tail bool) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	if n <= 1 {
		return string(r[:max(n, 0)])
	}
	if tail {
		return "…" + string(r[len(r)-n+1:])
	}
	return string(r[:n-1]) + "…"
}
