package proof_test

import (
	"regexp"
	"slices"
	"testing"
)

const sameMemory = "two elements may lead to the same memory"

// pointed is what the programs below put into lists.
const pointed = `
type T struct {
	n int
	b *B
}

func New(n int) (*T, error) {
	b, err := Try()
	if err != nil {
		return nil, err
	}
	return &T{n, b}, nil
}

func MustT() *T { return &T{3, Make()} }

func MayT(n int) *T {
	if n > 3 {
		return nil
	}
	return &T{n, Make()}
}

func (t *T) Free() { t.b.Free() }

func (t *T) Len() int { return t.b.Sum() }

func withNumber(of []int) *T { return &T{of[0], Make()} }

func same(t *T) (*T, bool) { return t, true }

func free(b *B) {
	if b != nil {
		b.Free()
	}
}

type mild struct{ b *B }

func (m *mild) Free() { free(m.b) }

func newMild() *mild { return &mild{Make()} }

type outer struct{ in *T }

func newOuter() *outer { return &outer{&T{1, Make()}} }

func (o *outer) Free() { o.in.Free() }

type bag struct{ bs []*B }

func (g *bag) add(b *B) { g.bs = append(g.bs, b) }

func twice(ts []*T, t *T) []*T { return append(ts, t, t) }

var kept []*T

var k1 *T
`

// TestPointed has lists of pointers to structs that own, and loops that free all.
func TestPointed(t *testing.T) {
	l := newLab()
	for _, tt := range slices.Concat(pointedLists, pointedElse) {
		t.Run(tt.name, func(t *testing.T) {
			withheld(t, l, pointed+"\nfunc f(n int) {\n"+writtenOut(tt.text), tt.words)
		})
	}
}

// inLists are what stands in many of the texts: a list is filled, looked at, and freed.
var inLists = [][2]string{
	{`; `, "\n"},
	{`FILLED\((\w+)\)`, "var $1 []*T\nfor range n {\n\t$1 = append($1, MustT())\n}"},
	{`NAMED\((\w+)\)`, "var $1 []*T\nfor range n {\n\tt := MustT()\n\t$1 = append($1, t)\n}"},
	{`LOOK\((\w+)\)`, "for _, t := range $1 {\n\tprint(t.Len())\n}"},
	{`FREE\((\w+)\)`, "for _, x := range $1 { //F\n\tx.Free() //F\n} //F"},
}

// writtenOut returns a text with all of that written out.
func writtenOut(text string) string {
	for _, m := range inLists {
		text = regexp.MustCompile(m[0]).ReplaceAllString(text, m[1])
	}
	return text + "\n}\n"
}

// pointedLists are what is done to a list; where there are no words the frees are accepted.
var pointedLists = []whole{
	{"a constructor", "", `FILLED(ts); LOOK(ts); FREE(ts)`},
	{"a constructor that may fail", "", `var ts []*T
for i := range n {
	t, err := New(i)
	if err != nil {
		return
	}
	ts = append(ts, t)
}
LOOK(ts)
FREE(ts)`},
	{"what was made before it failed", "", `var ts []*T
for i := range n {
	t, err := New(i)
	if err != nil {
		for _, x := range ts { //F
			x.Free() //F
		} //F
		return
	}
	ts = append(ts, t)
}
LOOK(ts)
FREE(ts)`},
	{"a literal", "", `ts := []*T{MustT(), MustT()}; LOOK(ts); FREE(ts)`},
	{"room for all", "", `ts := make([]*T, 0, n)
for range n {
	ts = append(ts, MustT())
}
LOOK(ts)
FREE(ts)`},
	{"by a name", "", `var ts []*T
for range n {
	t := MustT()
	print(t.Len())
	ts = append(ts, t)
}
LOOK(ts)
FREE(ts)`},
	{"places that stay empty", "it may be nil", `ts := make([]*T, n)
for i := range n {
	if i > 2 {
		ts[i] = MustT()
	}
}
LOOK(ts)
FREE(ts)`},
	{"a constructor that may give nothing", "it may be nil", `var ts []*T
for i := range n {
	ts = append(ts, MayT(i))
}
FREE(ts)`},
	{"what it gives is tested", "", `var ts []*T
for i := range n {
	t := MayT(i)
	if t != nil {
		ts = append(ts, t)
	}
}
LOOK(ts)
FREE(ts)`},
	{"one that is nil from the beginning", "it may be nil", `ts := []*T{nil}
for range n {
	ts = append(ts, MustT())
}
FREE(ts)`},
	{"one that is freed and forgotten", "the program may have freed it before", `FILLED(ts)
if n > 2 {
	ts[0].Free()
	ts[0] = nil
}
FREE(ts)`},
	{"one is put in twice", sameMemory, `var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t, t)
}
LOOK(ts)
FREE(ts)`},
	{"one is appended twice", sameMemory, `var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t)
	ts = append(ts, t)
}
LOOK(ts)
FREE(ts)`},
	{"the same one each time", sameMemory, `var ts []*T
t := MustT()
for range n {
	ts = append(ts, t)
}
LOOK(ts)
FREE(ts)`},
	{"a loop puts it in", sameMemory, `var ts []*T
for i := range n {
	t := MustT()
	for range i {
		ts = append(ts, t)
	}
}
LOOK(ts)
FREE(ts)`},
	{"a jump puts it in again", sameMemory, `var ts []*T
for range n {
	t := MustT()
again:
	ts = append(ts, t)
	if len(ts) < 3 {
		goto again
	}
}
LOOK(ts)
FREE(ts)`},
	{"the first one again", sameMemory, `FILLED(ts); ts = append(ts, ts[0]); LOOK(ts); FREE(ts)`},
	{"all of them again", sameMemory, `FILLED(ts); ts = append(ts, ts...); LOOK(ts); FREE(ts)`},
	{"they are copied behind themselves", sameMemory, `FILLED(ts); copy(ts[1:], ts); LOOK(ts); FREE(ts)`},
	{"one is assigned to another place", sameMemory, `FILLED(ts); ts[0] = ts[1]; LOOK(ts); FREE(ts)`},
	{"two change places", sameMemory, `FILLED(ts); ts[0], ts[1] = ts[1], ts[0]; LOOK(ts); FREE(ts)`},
	{"they share what they own", sameMemory, `var ts []*T
b := Make()
for i := range n {
	ts = append(ts, &T{i, b})
}
LOOK(ts)
FREE(ts)`},
	{"one gets what another owns", sameMemory, `NAMED(ts); b := ts[0].b; ts[1].b = b; LOOK(ts); FREE(ts)`},
	{"all get what one owns", sameMemory, `var ts []*T
b := Make()
for range n {
	t := MustT()
	t.b.Free()
	t.b = b
	ts = append(ts, t)
}
LOOK(ts)
FREE(ts)`},
	{"one becomes a copy of another", "not made here", `NAMED(ts); *ts[0] = *ts[1]; LOOK(ts); FREE(ts)`},
	{"all become copies of one", sameMemory, `var ts []*T
a := MustT()
for range n {
	t := MustT()
	*t = *a
	ts = append(ts, t)
}
LOOK(ts)
FREE(ts)`},
	{"one is freed before", "the program may have freed it before", `var ts []*T
for i := range n {
	t := MustT()
	ts = append(ts, t)
	if i == 3 {
		t.Free()
	}
}
LOOK(ts)
FREE(ts)`},
	{"one is used behind it", "used by Len", `NAMED(ts); u := ts[0]; FREE(ts); print(u.Len())`},
	{"another list has them", sameMemory, `var ts []*T
var us []*T
for range n {
	t := MustT()
	ts = append(ts, t)
	us = append(us, t)
}
FREE(ts)
for _, u := range us {
	print(u.Len())
}`},
	{"another list frees them", sameMemory, `var ts []*T
var us []*T
for range n {
	t := MustT()
	ts = append(ts, t)
	us = append(us, t)
}
FREE(ts)
for _, u := range us {
	u.Free()
}`},
	{"somebody keeps one", "not made here", `var ts []*T
for i := range n {
	t := MustT()
	ts = append(ts, t)
	if i == 2 {
		k1 = t
	}
}
FREE(ts)`},
	{"somebody keeps the list", "not made here", `FILLED(ts); kept = ts; FREE(ts)`},
	{"somebody keeps the list later", "not made here", `FILLED(ts); FREE(ts); kept = ts`},
	{"the last one is used behind it", "used by Len", `var last *T
var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t)
	last = t
}
FREE(ts)
if last != nil {
	print(last.Len())
}`},
	{"the last one is used before", "", `var last *T
var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t)
	last = t
}
if last != nil {
	print(last.Len())
}
FREE(ts)`},
	{"one of an earlier round is used", "used by Len", `var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t)
	print(ts[0].Len())
	for _, x := range ts { //F
		x.Free() //F
	} //F
}`},
	{"the list begins anew", "", `var ts []*T
for i := range n {
	t := MustT()
	ts = append(ts, t)
	print(t.Len())
	if i%3 == 0 {
		for _, x := range ts { //F
			x.Free() //F
		} //F
		ts = nil
	}
}`},
	{"the list goes on", "the loop that frees it may run again", `var ts []*T
for i := range n {
	t := MustT()
	ts = append(ts, t)
	if i%3 == 0 {
		for _, x := range ts { //F
			x.Free() //F
		} //F
	}
}`},
	{"a literal puts it in", sameMemory, `var ts []*T
var l *T
add := func() {
	if l != nil {
		ts = append(ts, l)
	}
}
for range n {
	l = MustT()
	add()
	add()
}
FREE(ts)`},
	{"a callee puts it in twice", "not made here", `var ts []*T
for range n {
	ts = twice(ts, MustT())
}
FREE(ts)`},
	{"a goroutine has one", sameMemory, `var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t)
	go func() { print(t.Len()) }()
}
FREE(ts)`},
	{"a deferred call has one", "used by Len", `var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t)
	defer t.Len()
}
FREE(ts)`},
	{"a map has one at two keys", sameMemory, `m := map[int]*T{}
for i := range n {
	t := MustT()
	m[i] = t
	m[i+n] = t
}
FREE(m)`},
	{"a map", "", `m := map[int]*T{}
for i := range n {
	t := MustT()
	if m[i] == nil {
		m[i] = t
	}
}
for _, x := range m {
	print(x.Len())
}
FREE(m)`},
	{"an array", "it may be nil", `var a [4]*T
for i := range n {
	if i < 4 {
		a[i] = MustT()
	}
}
FREE(a)`},
	{"structs with pointers", "two elements may lead to the same memory", `type item struct{ t *T }
var ts []item
for range n {
	t := MustT()
	ts = append(ts, item{t}, item{t})
}
for _, x := range ts { //F
	x.t.Free() //F
} //F`},
	{"structs that share a pointer", "a pointer that leads to it may be nil", `type item struct{ t *T }
var ts []*item
t := MustT()
for range n {
	ts = append(ts, &item{t})
}
for _, x := range ts { //F
	x.t.Free() //F
} //F`},
	{"what one owns is used behind it", "its name is read", `NAMED(ts); b := ts[0].b; FREE(ts); b.Use()`},
	{"a list that may be another", sameMemory, `var ts []*T
var us []*T
for i := range n {
	t := MustT()
	if i > 2 {
		ts = append(ts, t)
	} else {
		us = append(us, t)
	}
}
if n > 2 {
	us = ts
}
FREE(ts)
for _, u := range us {
	print(u.Len())
}`},
	{"a part of the list is read", "used by Len", `FILLED(ts); us := ts[:1]; FREE(ts); print(us[0].Len())`},
	{"one that went through a channel", sameMemory, `var ts []*T
c := make(chan *T, 9)
for range n {
	t := MustT()
	c <- t
	ts = append(ts, <-c)
	ts = append(ts, t)
}
FREE(ts)`},
	{"two lists", "", `var ts []*T
var us []*T
for range n {
	ts = append(ts, MustT())
	us = append(us, MustT())
}
LOOK(ts)
FREE(ts)
FREE(us)`},
}
