package proof_test

import (
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

// netted is what has such lists, and makes them.
const netted = `
type links struct{ ls []link }

type link struct{ in *T }

func (l *links) Close() {
	for _, x := range l.ls {
		x.in.Free()
	}
}

type Net struct { n int; ts []*T }

func (n *Net) Close() {
	for _, t := range n.ts {
		t.Free()
	}
}

func (n *Net) Sum() (k int) {
	for _, t := range n.ts {
		k += t.Len()
	}
	return k
}

func MakeNet(n int) *Net {
	x := &Net{n: n}
	for range n {
		x.ts = append(x.ts, MustT())
	}
	return x
}

func NewNet(n int) (*Net, error) {
	x := &Net{n: n}
	for i := range n {
		t, err := New(i)
		if err != nil {
			for _, t := range x.ts {
				t.Free()
			}
			return nil, err
		}
		x.ts = append(x.ts, t)
	}
	return x, nil
}

func list(n int) []*T {
	var ts []*T
	for range n {
		ts = append(ts, MustT())
	}
	return ts
}

func twiceIn(n int) []*T {
	var ts []*T
	for range n {
		t := MustT()
		ts = append(ts, t, t)
	}
	return ts
}

func holes(n int) []*T {
	ts := make([]*T, n)
	for i := range n {
		if i > 2 {
			ts[i] = MustT()
		}
	}
	return ts
}

func twiceNet(n int) *Net {
	x := &Net{n: n}
	for range n {
		t := MustT()
		x.ts = append(x.ts, t, t)
	}
	return x
}

func keptNet(n int) *Net {
	x := &Net{n: n}
	for range n {
		t := MustT()
		k1 = t
		x.ts = append(x.ts, t)
	}
	return x
}

func given(t *T) *Net {
	return &Net{ts: []*T{t}}
}

var kn *Net

func f(n int) {
`

// TestPointed has lists of pointers to structs that own, and loops that free all.
func TestPointed(t *testing.T) {
	l := newLab()
	for _, tt := range slices.Concat(pointedLists, pointedElse) {
		t.Run(tt.name, func(t *testing.T) { withheld(t, l, pointed+"\nfunc f(n int) {\n"+tt.text+"\n}\n", tt.words) })
	}
	for _, tt := range pointedStructs {
		t.Run(tt.name, func(t *testing.T) { withheld(t, l, pointed+netted+tt.text+"\n}\n", tt.words) })
	}
}

// pointedLists are what is done to a list; where there are no words the frees are accepted.
var pointedLists = []whole{
	{"a constructor", "", `var ts []*T
for range n {
	ts = append(ts, MustT())
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"a constructor that may fail", "", `var ts []*T
for i := range n {
	t, err := New(i)
	if err != nil {
		return
	}
	ts = append(ts, t)
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
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
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"a literal", "", `ts := []*T{MustT(), MustT()}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"room for all", "", `ts := make([]*T, 0, n)
for range n {
	ts = append(ts, MustT())
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"by a name", "", `var ts []*T
for range n {
	t := MustT()
	print(t.Len())
	ts = append(ts, t)
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"places that stay empty", "it may be nil", `ts := make([]*T, n)
for i := range n {
	if i > 2 {
		ts[i] = MustT()
	}
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"a constructor that may give nothing", "it may be nil", `var ts []*T
for i := range n {
	ts = append(ts, MayT(i))
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"what it gives is tested", "", `var ts []*T
for i := range n {
	t := MayT(i)
	if t != nil {
		ts = append(ts, t)
	}
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"one that is nil from the beginning", "it may be nil", `ts := []*T{nil}
for range n {
	ts = append(ts, MustT())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"one that is freed and forgotten", "the program may have freed it before", `var ts []*T
for range n {
	ts = append(ts, MustT())
}
if n > 2 {
	ts[0].Free()
	ts[0] = nil
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"one is put in twice", sameMemory, `var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t, t)
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"one is appended twice", sameMemory, `var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t)
	ts = append(ts, t)
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"the same one each time", sameMemory, `var ts []*T
t := MustT()
for range n {
	ts = append(ts, t)
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"a loop puts it in", sameMemory, `var ts []*T
for i := range n {
	t := MustT()
	for range i {
		ts = append(ts, t)
	}
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"a jump puts it in again", sameMemory, `var ts []*T
for range n {
	t := MustT()
again:
	ts = append(ts, t)
	if len(ts) < 3 {
		goto again
	}
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"the first one again", sameMemory, `var ts []*T
for range n {
	ts = append(ts, MustT())
}
ts = append(ts, ts[0])
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"all of them again", sameMemory, `var ts []*T
for range n {
	ts = append(ts, MustT())
}
ts = append(ts, ts...)
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"they are copied behind themselves", sameMemory, `var ts []*T
for range n {
	ts = append(ts, MustT())
}
copy(ts[1:], ts)
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"one is assigned to another place", sameMemory, `var ts []*T
for range n {
	ts = append(ts, MustT())
}
ts[0] = ts[1]
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"two change places", sameMemory, `var ts []*T
for range n {
	ts = append(ts, MustT())
}
ts[0], ts[1] = ts[1], ts[0]
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"they share what they own", sameMemory, `var ts []*T
b := Make()
for i := range n {
	ts = append(ts, &T{i, b})
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"one gets what another owns", sameMemory, `var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t)
}
b := ts[0].b
ts[1].b = b
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"all get what one owns", sameMemory, `var ts []*T
b := Make()
for range n {
	t := MustT()
	t.b.Free()
	t.b = b
	ts = append(ts, t)
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"one becomes a copy of another", "not made here", `var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t)
}
*ts[0] = *ts[1]
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"all become copies of one", sameMemory, `var ts []*T
a := MustT()
for range n {
	t := MustT()
	*t = *a
	ts = append(ts, t)
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"one is freed before", "the program may have freed it before", `var ts []*T
for i := range n {
	t := MustT()
	ts = append(ts, t)
	if i == 3 {
		t.Free()
	}
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"one is used behind it", "used by Len", `var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t)
}
u := ts[0]
for _, x := range ts { //F
	x.Free() //F
} //F
print(u.Len())`},
	{"another list has them", sameMemory, `var ts []*T
var us []*T
for range n {
	t := MustT()
	ts = append(ts, t)
	us = append(us, t)
}
for _, x := range ts { //F
	x.Free() //F
} //F
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
for _, x := range ts { //F
	x.Free() //F
} //F
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
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"somebody keeps the list", "not made here", `var ts []*T
for range n {
	ts = append(ts, MustT())
}
kept = ts
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"somebody keeps the list later", "not made here", `var ts []*T
for range n {
	ts = append(ts, MustT())
}
for _, x := range ts { //F
	x.Free() //F
} //F
kept = ts`},
	{"the last one is used behind it", "used by Len", `var last *T
var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t)
	last = t
}
for _, x := range ts { //F
	x.Free() //F
} //F
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
for _, x := range ts { //F
	x.Free() //F
} //F`},
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
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"a callee puts it in twice", "not made here", `var ts []*T
for range n {
	ts = twice(ts, MustT())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"a goroutine has one", sameMemory, `var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t)
	go func() { print(t.Len()) }()
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"a deferred call has one", "used by Len", `var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t)
	defer t.Len()
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"a map has one at two keys", sameMemory, `m := map[int]*T{}
for i := range n {
	t := MustT()
	m[i] = t
	m[i+n] = t
}
for _, x := range m { //F
	x.Free() //F
} //F`},
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
for _, x := range m { //F
	x.Free() //F
} //F`},
	{"an array", "a pointer that leads to it may be nil", `var a [4]*T
for i := range n {
	if i < 4 {
		a[i] = MustT()
	}
}
for _, x := range a { //F
	x.Free() //F
} //F`},
	{"structs with pointers", "a pointer that leads to it may be nil", `type item struct{ t *T }
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
	{"what one owns is used behind it", "its name is read", `var ts []*T
for range n {
	t := MustT()
	ts = append(ts, t)
}
b := ts[0].b
for _, x := range ts { //F
	x.Free() //F
} //F
b.Use()`},
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
for _, x := range ts { //F
	x.Free() //F
} //F
for _, u := range us {
	print(u.Len())
}`},
	{"a part of the list is read", "used by Len", `var ts []*T
for range n {
	ts = append(ts, MustT())
}
us := ts[:1]
for _, x := range ts { //F
	x.Free() //F
} //F
print(us[0].Len())`},
	{"one that went through a channel", sameMemory, `var ts []*T
c := make(chan *T, 9)
for range n {
	t := MustT()
	c <- t
	ts = append(ts, <-c)
	ts = append(ts, t)
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"two lists", "", `var ts []*T
var us []*T
for range n {
	ts = append(ts, MustT())
	us = append(us, MustT())
}
for _, t := range ts {
	print(t.Len())
}
for _, x := range ts { //F
	x.Free() //F
} //F
for _, x := range us { //F
	x.Free() //F
} //F`},
}

// pointedElse are lists of others.
var pointedElse = []whole{
	{"one of which a number is set", "", `var ts []*T
for i := range n {
	t := MustT()
	t.n = i
	ts = append(ts, t)
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"numbers of memory that owns nothing", "", `var ts []*T
k := []int{3, n}
for range n {
	ts = append(ts, withNumber(k))
}
for _, x := range ts { //F
	x.Free() //F
} //F
print(k[0])`},
	{"a list beside it that is added to", "", `var ts []*T
g := &bag{}
for range n {
	ts = append(ts, MustT())
	g.add(Make())
}
for _, x := range ts { //F
	x.Free() //F
} //F
print(len(g.bs))`},
	{"structs that share what owns nothing", "", `type item struct {
	b *B
	k *int
}
var ts []item
k := 3
for range n {
	ts = append(ts, item{Make(), &k})
}
for _, x := range ts { //F
	x.b.Free() //F
} //F
print(k)`},
	{"the first one, through a callee, each time", sameMemory, `var ts []*T
var first *T
for range n {
	t := MustT()
	if first == nil {
		first = t
	}
	u, _ := same(first)
	ts = append(ts, u)
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"the elements of a literal, twice", sameMemory, `var ts []*T
l := []*T{MustT()}
ts = append(ts, l...)
ts = append(ts, l...)
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"places that stay empty, of a type that has nothing to free then", "it may be nil", `ts := make([]*mild, n)
for i := range n {
	if i > 2 {
		ts[i] = newMild()
	}
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"no empty places, of that type", "", `var ts []*mild
for range n {
	ts = append(ts, newMild())
}
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"what one leads to gets what that of another owns", sameMemory, `var ts []*outer
for range n {
	ts = append(ts, newOuter())
}
u, v := ts[0].in, ts[1].in
u.b = v.b
for _, x := range ts { //F
	x.Free() //F
} //F`},
}

// pointedStructs are what is done to a struct with such a list, and to lists that were made elsewhere.
var pointedStructs = []whole{
	{"a struct with a list", "", `x := MakeNet(n)
print(x.Sum())
x.Close() //F`},
	{"one that may fail", "", `x, err := NewNet(n)
if err != nil {
	return
}
print(x.Sum())
x.Close() //F`},
	{"a list that was made elsewhere", "", `ts := list(n)
print(len(ts))
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"one is in the list twice", "not made here", `ts := twiceIn(n)
print(len(ts))
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"places of the list stay empty", "it may be nil", `ts := holes(n)
print(len(ts))
for _, x := range ts { //F
	x.Free() //F
} //F`},
	{"one is in the struct twice", "not made here", `x := twiceNet(n)
print(x.Sum())
x.Close() //F`},
	{"the constructor keeps one", "not made here", `x := keptNet(n)
print(x.Sum())
x.Close() //F`},
	{"the constructor was given one", "not made here", `t := MustT()
x := given(t)
print(x.Sum())
x.Close() //F
print(t.Len())`},
	{"one of them is used behind it", "used by Len", `x := MakeNet(n)
t := x.ts[0]
x.Close() //F
print(t.Len())`},
	{"what one owns is used behind it", "its name is read", `x := MakeNet(n)
t := x.ts[0].b
x.Close() //F
print(t.Sum())`},
	{"somebody keeps one", "not made here", `x := MakeNet(n)
k1 = x.ts[0]
x.Close() //F`},
	{"somebody keeps the struct", "not made here", `x := MakeNet(n)
kn = x
x.Close() //F`},
	{"the first one again", sameMemory, `x := MakeNet(n)
x.ts = append(x.ts, x.ts[0])
x.Close() //F`},
	{"all of them again", sameMemory, `x := MakeNet(n)
x.ts = append(x.ts, x.ts...)
x.Close() //F`},
	{"one is assigned to another place", sameMemory, `x := MakeNet(n)
x.ts[0] = x.ts[1]
x.Close() //F`},
	{"one is forgotten", "it may be nil", `x := MakeNet(n)
x.ts[0] = nil
x.Close() //F`},
	{"one is freed before", "the program may have freed it before", `x := MakeNet(n)
x.ts[0].Free()
x.Close() //F`},
	{"one gets what another owns", sameMemory, `x := MakeNet(n)
x.ts[0].b = x.ts[1].b
x.Close() //F`},
	{"one becomes a copy of another", sameMemory, `x := MakeNet(n)
*x.ts[0] = *x.ts[1]
x.Close() //F`},
	{"a copy of the struct is used behind it", "it is used by Sum", `x := MakeNet(n)
y := *x
x.Close() //F
print(y.Sum())`},
	{"another struct has the list", "it is freed by Close", `x := MakeNet(n)
y := &Net{ts: x.ts}
x.Close() //F
y.Close()`},
	{"another struct has them as well, and is freed", sameMemory, `x, y := MakeNet(n), MakeNet(n)
y.ts = append(y.ts, x.ts...)
print(y.Sum())
y.Close() //F
x.Close()`},
	{"two structs have them, and both are freed", sameMemory, `x, y := MakeNet(n), MakeNet(n)
y.ts = append(y.ts, x.ts...)
print(y.Sum())
y.Close() //F
x.Close() //F`},
	{"two structs", "", `x, y := MakeNet(n), MakeNet(n)
print(x.Sum())
x.Close() //F
print(y.Sum())
y.Close() //F`},
	{"one in each round", "", `for range n {
	x := MakeNet(n)
	print(x.Sum())
	x.Close() //F
}`},
	{"one of an earlier round is used", "used by Len", `var t *T
for range n {
	x := MakeNet(n)
	if t != nil {
		print(t.Len())
	}
	t = x.ts[0]
	x.Close() //F
}`},
	{"another list has them", sameMemory, `var ts []*T
for range n {
	x := MakeNet(n)
	ts = append(ts, x.ts...)
	x.Close() //F
}
print(ts[0].Len())`},
	{"a loop over the field", "", `x := MakeNet(n)
print(x.Sum())
for _, t := range x.ts { //F
	t.Free() //F
} //F`},
	{"behind the end of the list there is one more", "it is used by Len", `x := MakeNet(n)
x.ts = x.ts[1:]
t := x.ts[:cap(x.ts)]
x.Close() //F
print(t[0].Len())`},
	{"a goroutine has one", "not made here", `x := MakeNet(n)
t := x.ts[0]
go t.Len()
x.Close() //F`},
	{"there may be no struct", "a pointer that leads to it may be nil", `var x *Net
if n > 3 {
	x = MakeNet(n)
}
print(x != nil)
x.Close() //F`},
	{"a loop keeps each", "not made here", `x := MakeNet(n)
for _, t := range x.ts {
	k1 = t
}
x.Close() //F`},
	{"it is freed already", "the program may have freed it before", `x := MakeNet(n)
x.Close()
x.Close() //F`},
	{"one is freed through another list", sameMemory, `x := MakeNet(n)
var ts []*T
ts = append(ts, x.ts[0])
for _, x := range ts { //F
	x.Free() //F
} //F
x.Close() //F`},
	{"structs in a list share one", "does more than free", `x := &links{}
t := MustT()
x.ls = append(x.ls, link{t}, link{t})
x.Close() //F`},
}
