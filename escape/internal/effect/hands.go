package effect

import (
	"fmt"
	"strconv"
	"strings"
)

// handsOver says what a function is called with that is its own.
const handsOver = " hands "

// text adds the text of what is handed over, by who or what has a name.
func (h Hands) text(out []string, name string) []string {
	for i := range 64 {
		if h.Of>>i&1 == 0 {
			continue
		}
		t := fmt.Sprintf("%s%s%d", name, handsOver, i)
		if h.Nil>>i&1 == 1 {
			t += orNil
		}
		out = append(out, t)
	}
	return out
}

// add adds what else is handed over.
func (h *Hands) add(more Hands) { h.Of, h.Nil = h.Of|more.Of, h.Nil|more.Nil }

// cutHands returns a clause that says what is handed over as one that says no more of the operand, or result.
func cutHands(clause string) (rest string, h Hands) {
	name, number, ok := strings.Cut(clause, handsOver)
	number, none := strings.CutSuffix(number, orNil)
	i, err := strconv.Atoi(number)
	if !ok || err != nil {
		return clause, h
	}
	h.Of = 1 << i
	if none {
		h.Nil = h.Of
	}
	if strings.HasPrefix(name, "result ") {
		return name + " owned", h
	}
	return name + " borrowed", h
}
