package plan

import (
	"fmt"
	"math/rand"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRandom runs the rooms over random functions, and over what they made of these: a second run changes
// nothing. The functions are made of what gets names, and frees that come late.
func TestRandom(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 50
	}
	for seed := range n {
		text := random(int64(seed))
		once := settled(t, header+randomHead+text)
		require.Equal(t, once, settled(t, once), "of seed %d:\n%s", seed, text)
	}
}

const randomHead = `
type Rep struct{ p uintptr }

//lastuse:effect result 0 owned
func Rust(n int) *Rep

//lastuse:effect recv freed repeatable
func (b *Rep) Free()

//lastuse:effect recv borrowed
func (b *Rep) Use() int

func sum(n ...int) int

func num(b bool) int

func lend(f func()) { f() }

func id(b *Buf) *Buf { return b }

type pair struct{ a, b *Buf }

func mk() pair { return pair{Must(1), Must(2)} }

func mkp() *pair { return &pair{Must(1), Must(2)} }

func keep(a, b *Buf) pair { return pair{a, b} }

`

// A writer writes a function.
type writer struct {
	*rand.Rand
	text  strings.Builder
	names int
	bufs  []string // variables that hold a buffer
	pairs []string // and two of them
	depth int      // of blocks
	loops int      // around
	fixed bool     // the buffers are used once more by what stands around, so none is freed
	left  int      // statements that may follow
	gives bool     // the function returns a number
}

func random(seed int64) string {
	w := &writer{Rand: rand.New(rand.NewSource(seed)), left: 10}
	w.gives = w.Intn(2) == 0
	result := ""
	if w.gives {
		result = " int"
	}
	w.line("func f()%s {", result)
	w.block(10)
	if w.gives {
		w.line("\treturn %s", w.number(2))
	}
	w.line("}")
	return w.text.String()
}

func (w *writer) line(f string, args ...any) {
	w.text.WriteString(strings.Repeat("\t", w.depth) + fmt.Sprintf(f, args...) + "\n")
}

func (w *writer) one(of ...string) string { return of[w.Intn(len(of))] }

func (w *writer) name(p string) string {
	w.names++
	return p + strconv.Itoa(w.names)
}

// buf returns what holds a buffer; "" if nothing does.
func (w *writer) buf() string {
	if len(w.pairs) > 0 && w.Intn(3) == 0 {
		return w.one(w.pairs...) + w.one(".a", ".b")
	}
	if len(w.bufs) > 0 {
		return w.one(w.bufs...)
	}
	return ""
}

// number returns an expression that is a number.
func (w *writer) number(deep int) string {
	b := w.buf()
	if deep <= 0 {
		if b != "" && w.Intn(2) == 0 {
			return b + ".Use()"
		}
		return strconv.Itoa(w.Intn(9))
	}
	switch w.Intn(9) {
	case 0, 1:
		return w.one("Must", "Rust") + "(" + w.number(deep-1) + ").Use()"
	case 2:
		return "sum(" + w.number(deep-1) + ", " + w.number(deep-1) + ")"
	case 3:
		return w.number(deep-1) + "+" + w.number(deep-1)
	case 4:
		return w.one("mk()", "mkp()", "keep(Must(1), id(Must(2)))") + w.one(".a", ".b") + ".Use()"
	case 5:
		return "num(" + w.test(deep-1) + ")"
	case 6:
		return w.number(0)
	}
	if b == "" {
		return "sum()"
	}
	return b + ".Use()"
}

func (w *writer) test(deep int) string {
	if w.Intn(3) == 0 {
		return w.number(deep) + " > " + w.number(deep)
	}
	return w.number(deep) + " > 1 " + w.one("&&", "||") + " " + w.number(deep) + " > 2"
}

// block writes some statements. What it declares ends with it, and what it frees.
func (w *writer) block(n int) {
	bufs, pairs, alive := w.bufs, len(w.pairs), map[string]bool{}
	w.depth++
	for ; n > 0 && w.left > 0; n-- {
		w.statement()
	}
	w.depth--
	for _, b := range w.bufs {
		alive[b] = true
	}
	w.bufs = nil
	for _, b := range bufs {
		if alive[b] {
			w.bufs = append(w.bufs, b)
		}
	}
	w.pairs = w.pairs[:min(pairs, len(w.pairs))]
}

// inner writes a block that may run several times, or in a literal.
func (w *writer) inner(n int) {
	fixed := w.fixed
	w.fixed = true
	w.block(n)
	w.fixed = fixed
}

func (w *writer) statement() {
	w.left--
	kinds := []func(*writer){(*writer).declares, (*writer).declares, (*writer).declares, (*writer).evaluates,
		(*writer).evaluates, (*writer).branches, (*writer).branches, (*writer).repeats, (*writer).frees,
		(*writer).frees, (*writer).frees, (*writer).gets, (*writer).lends, (*writer).leaves}
	kinds[w.Intn(len(kinds))](w)
}

func (w *writer) declares() {
	v := w.name("v")
	switch w.Intn(5) {
	case 0:
		w.line("%s := %s", v, w.one("mk()", "mkp()", "pair{Must(1), Must(2)}"))
		w.line("%s%s.Use()", v, w.one(".a", ".b"))
		w.pairs = append(w.pairs, v)
		return
	case 1:
		w.line("%s, err := Make(%s)", v, w.number(1))
		w.line("if err != nil {")
		w.returns()
		w.line("}")
	default:
		w.line("%s := %s(%s)", v, w.one("Must", "Must", "Rust"), w.number(2))
	}
	w.line("%s.Use()", v)
	w.bufs = append(w.bufs, v)
}

func (w *writer) evaluates() {
	if w.Intn(4) == 0 && w.depth == 1 && len(w.bufs) > 0 {
		w.line("defer sum(%s.Use())", w.one(w.bufs...))
		return
	}
	w.line("%ssum(%s, %s)", w.one("", "_ = "), w.number(2), w.number(2))
}

func (w *writer) branches() {
	if w.Intn(3) == 0 {
		w.line("switch %s {", w.number(2))
		w.line("case 1:")
		w.block(2)
		w.line("case 2:")
	} else {
		w.line("if %s {", w.test(2))
		w.block(2)
		w.line("} else {")
	}
	w.block(1)
	w.line("}")
}

func (w *writer) repeats() {
	if w.loops > 1 {
		return
	}
	w.loops++
	i := w.name("i")
	switch w.Intn(3) {
	case 0:
		w.line("for range %s {", w.number(2))
	case 1:
		w.line("for %s := %s; %s < 3; %s++ {", i, w.number(2), i, i)
	default:
		w.line("for %s {", w.test(1))
	}
	w.inner(3)
	w.line("}")
	w.loops--
}

func (w *writer) frees() {
	if len(w.bufs) == 0 || w.fixed {
		return
	}
	k := w.Intn(len(w.bufs))
	switch b := w.bufs[k]; {
	case w.depth == 1 && w.Intn(5) == 0:
		w.line("defer %s.Free()", b)
	case w.Intn(5) == 0:
		w.line("if %s {", w.test(1))
		w.line("\t%s.Free()", b)
		w.line("\t%s = nil", b)
		w.line("}")
	default:
		w.line("%s.Free()", b)
	}
	w.bufs = append(append([]string{}, w.bufs[:k]...), w.bufs[k+1:]...)
}

// gets gives a field another buffer.
func (w *writer) gets() {
	if len(w.pairs) > 0 {
		w.line("%s%s = Must(%s)", w.one(w.pairs...), w.one(".a", ".b"), w.number(2))
	}
}

func (w *writer) lends() {
	gives := w.gives
	w.gives = false
	w.line("lend(func() {")
	w.inner(2)
	w.line("})")
	w.gives = gives
}

// leaves returns on some way.
func (w *writer) leaves() {
	w.line("if sum() > 3 {")
	w.returns()
	w.line("}")
}

func (w *writer) returns() {
	if w.gives {
		w.line("\treturn %s", w.number(2))
	} else {
		w.line("\treturn")
	}
}
