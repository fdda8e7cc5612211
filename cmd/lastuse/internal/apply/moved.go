package apply

import (
	"bytes"
	"go/token"
)

// A lineMap tells the new number of each line of a file that was rewritten; index 0
// is not used.
type lineMap []int

// newLineMap compares a file before and after. A line that is not there any more is
// taken for the next one that is.
func newLineMap(old, new []byte) lineMap {
	a, b := bytes.SplitAfter(old, []byte("\n")), bytes.SplitAfter(new, []byte("\n"))
	m := make(lineMap, len(a)+1)
	for _, r := range lineDiff(a, b) {
		for i := range r.aLen {
			if r.common {
				m[r.a+i+1] = r.b + i + 1
			} else {
				m[r.a+i+1] = min(r.b+1, len(b))
			}
		}
	}
	return m
}

func (m lineMap) line(n int) int {
	if n <= 0 || n >= len(m) {
		return n
	}
	return m[n]
}

// Moved has the line maps of the files that a run rewrote, by name.
type Moved map[string]lineMap

// Note takes over files that were written.
func (m Moved) Note(outs []*Output) {
	for _, out := range outs {
		m[out.File] = newLineMap(out.Old, out.New)
	}
}

// Position returns where a place is now.
func (m Moved) Position(p token.Position) token.Position {
	if lines := m[p.Filename]; lines != nil {
		p.Line = lines.line(p.Line)
	}
	return p
}
