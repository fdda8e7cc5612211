// Package report makes words of what was found.
//
// A text names places of the source: "freed at a.go:12". Who writes a text puts [At] where the
// place is to stand, and goes on as with any string. [Words] puts the file and the line there at
// last, and says where in the text it did. So whoever has changed the source since can say the
// same of the new one, and needs to find nothing in sentences.
//
// What an instruction stands for, and how a buffer is stored or used by it, is a [Note]: a kind with
// its operands, which the analysis asks for. Its words are made here.
package report

import (
	"go/token"
	"strconv"
	"strings"
)

// mark stands on both sides of a place in a text that is not finished. No source has it in a name.
const mark = "\x00"

// A Place is where a text names a place of the source.
type Place struct {
	Start, End int // bytes of the text
	Pos        token.Pos
}

// At returns what stands for the place pos in a text.
func At(pos token.Pos) string { return mark + strconv.Itoa(int(pos)) + mark }

// Words returns text with the words that line has for its places, and where they are.
func Words(text string, line func(token.Pos) string) (string, []Place) {
	parts := strings.Split(text, mark)
	if len(parts) == 1 {
		return text, nil
	}
	var out strings.Builder
	var places []Place
	for i, part := range parts {
		if i%2 == 0 {
			out.WriteString(part)
			continue
		}
		n, err := strconv.Atoi(part)
		if err != nil {
			panic("report: a place that At did not make: " + strconv.Quote(part))
		}
		p := Place{Start: out.Len(), Pos: token.Pos(n)}
		out.WriteString(line(p.Pos))
		p.End = out.Len()
		places = append(places, p)
	}
	return out.String(), places
}

// Again returns a finished text with other words for its places.
func Again(text string, places []Place, line func(token.Pos) string) string {
	var out strings.Builder
	at := 0
	for _, p := range places {
		out.WriteString(text[at:p.Start])
		out.WriteString(line(p.Pos))
		at = p.End
	}
	out.WriteString(text[at:])
	return out.String()
}
