package proof_test

import "testing"

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

// TestPointedStructs has structs with lists of pointers to structs that own, and lists that were made
// elsewhere.
func TestPointedStructs(t *testing.T) {
	l := newLab()
	for _, tt := range pointedStructs {
		t.Run(tt.name, func(t *testing.T) { withheld(t, l, pointed+netted+writtenOut(tt.text), tt.words) })
	}
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
	{"a list that was made elsewhere", "", `ts := list(n); print(len(ts)); FREE(ts)`},
	{"one is in the list twice", "not made here", `ts := twiceIn(n); print(len(ts)); FREE(ts)`},
	{"places of the list stay empty", "it may be nil", `ts := holes(n); print(len(ts)); FREE(ts)`},
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
	{"there may be no struct", "it may be nil", `var x *Net
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
FREE(ts)
x.Close() //F`},
	{"structs in a list share one", "does more than free", `x := &links{}
t := MustT()
x.ls = append(x.ls, link{t}, link{t})
x.Close() //F`},
}
