package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// A unit is what belongs together of the input: a command, or CUDA C until its brackets are closed.
type unit struct {
	text string
	line int // of the input, from 1
	name string
}

// named returns u under a name.
func (u unit) named(name string) unit {
	u.name = name
	return u
}

// title returns a few words that tell u from others.
func (u unit) title() string {
	if u.name != "" {
		return u.name
	}
	text := strings.Join(strings.Fields(u.text), " ")
	if r := []rune(text); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return text
}

// units reads units.
type units struct {
	lines *bufio.Scanner
	ask   func(more bool) // is called before each line; more says that a unit is not complete
	line  int
	fail  error
}

func newUnits(in io.Reader, ask func(more bool)) *units {
	u := &units{lines: bufio.NewScanner(in), ask: ask}
	u.lines.Buffer(nil, 1<<20)
	return u
}

func (us *units) err() error { return us.fail }

// next returns the next unit, or false at the end of the input.
func (us *units) next() (unit, bool) {
	var u unit
	for us.ask(u.text != ""); us.lines.Scan(); us.ask(u.text != "") {
		us.line++
		line := us.lines.Text()
		if u.text == "" {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			u.line = us.line
		} else {
			u.text += "\n"
		}
		u.text += line
		if complete(u.text) {
			return u, true
		}
	}
	if us.fail = us.lines.Err(); us.fail == nil && u.text != "" {
		us.fail = fmt.Errorf("input ends within what began on line %d", u.line)
	}
	return unit{}, false
}

// complete reports whether text has all its brackets, comments and continued lines, and, if it declares
// something, its end. What is in strings and comments does not count.
func complete(text string) bool {
	depth, last := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case strings.HasPrefix(text[i:], "//"):
			i += strings.IndexByte(text[i:]+"\n", '\n') // its end, or the text's
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				return false
			}
			i += 2 + end + 1
		case c == '"' || c == '\'':
			for i++; i < len(text) && text[i] != c && text[i] != '\n'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case strings.IndexByte("({[", c) >= 0:
			depth++
		case strings.IndexByte(")}]", c) >= 0:
			depth--
		}
		if i < len(text) && strings.IndexByte(" \t\n/*", text[i]) < 0 {
			last = text[i]
		}
	}
	declares := text[0] != '#' && (declaration.MatchString(text) || kernelName.MatchString(text))
	return depth <= 0 && last != '\\' && (!declares || last == '}' || last == ';')
}
