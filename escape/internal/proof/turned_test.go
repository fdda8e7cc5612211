package proof_test

import (
	"strings"
	"testing"
)

// turnedPair is what the programs below turn.
const turnedPair = `
type pair struct{ a, b *B }

func (p *pair) swap()  { p.a, p.b = p.b, p.a }
func (p *pair) Close() { p.a.Free(); p.b.Free() }

var gw *B
var gp *pair
var gf func()

func f(n int, c bool) {
	x, y := Make(), Make()
	p := &pair{x, y}
	%
}
`

// TestTurned has methods that let fields of their receiver change places, or give one to another.
func TestTurned(t *testing.T) {
	l := newLab()
	for _, tt := range turned {
		t.Run(tt.name, func(t *testing.T) {
			withheld(t, l, strings.Replace(turnedPair, "%", tt.text, 1), tt.words)
		})
	}
	for _, tt := range turnedElse {
		t.Run(tt.name, func(t *testing.T) { withheld(t, l, tt.text, tt.words) })
	}
}

// turned are what is done to a pair; where there are no words the frees are accepted.
var turned = []whole{
	{"plain", "", `p.swap()
p.a.Use()
p.Close() //F
next()`},
	{"loop", "", `for range n {
	p.a.Use()
	p.swap()
}
p.Close() //F
next()`},
	{"branch", "", `if c {
	p.swap()
}
p.Close() //F
next()`},
	{"one", "", `p.swap()
p.a.Free() //F
x.Use()`},
	{"twice", "", `p.swap()
p.swap()
p.b.Free() //F
x.Use()`},
	{"alias", "", `q := p
q.swap()
p.a.Free() //F
x.Free() //F`},
	{"value", "", `var q pair
q.a, q.b = Make(), Make()
q.swap()
q.b.Use()
q.Close() //F
next()
p.Close()`},
	{"one, wrong", named, `p.swap()
p.b.Free() //F
x.Use()`},
	{"twice, wrong", named, `p.swap()
p.swap()
p.a.Free() //F
x.Use()`},
	{"branch, one", named, `if c {
	p.swap()
}
p.a.Free() //F
y.Use()`},
	{"loop, one", named, `for range n {
	p.swap()
}
p.a.Free() //F
x.Use()`},
	{"loop, other", named, `for range n {
	p.swap()
}
p.a.Free() //F
y.Use()`},
	{"used after", named, `p.swap()
p.Close() //F
x.Use()`},
	{"read after", named, `p.swap()
p.Close() //F
p.a.Use()`},
	{"swapped after", "it is used by swap", `p.Close() //F
p.swap()
x.Use()`},
	{"kept", handed, `gw = p.a
p.swap()
p.Close() //F`},
	{"kept after", handed, `p.swap()
gw = p.a
p.Close() //F`},
	{"kept whole", theirs, `gp = p
p.swap()
p.Close() //F`},
	{"alias, wrong", named, `q := p
q.swap()
q.b.Free() //F
x.Use()`},
	{"freed before", gone, `p.a.Free()
p.swap()
p.b.Free() //F`},
	{"freed before, whole", gone, `p.a.Free()
p.swap()
p.Close() //F`},
	{"freed after", "it is used by swap", `p.swap()
p.a.Free() //F
p.swap()
p.b.Free()`},
	{"both of ours", "it is used by swap", `p.a.Free() //F
p.swap()
p.b.Free() //F`},
	{"goroutine", theirs, `go p.swap()
p.a.Free() //F
x.Use()`},
	{"goroutine, whole", theirs, `go p.swap()
p.Close() //F`},
	{"deferred", theirs, `defer p.swap()
p.Close() //F`},
	{"deferred, read", named, `defer func() { p.b.Use() }()
p.swap()
x.Free() //F`},
	{"method value", named, `s := p.swap
s()
p.b.Free() //F
x.Use()`},
	{"kept method", theirs, `gf = p.swap
p.b.Free() //F`},
	{"method expression", named, `s := (*pair).swap
s(p)
p.b.Free() //F
x.Use()`},
	{"interface", theirs, `var s interface{ swap() } = p
s.swap()
p.b.Free() //F
x.Use()`},
	{"struct copy", named, `q := *p
p.swap()
p.a.Free() //F
q.b.Use()`},
	{"struct copy of the other", named, `q := *p
q.swap()
q.a.Free() //F
p.b.Use()`},
	{"nil", empty, `p.b.Free()
p.b = nil
p.swap()
p.a.Free() //F`},
	{"nil whole", empty, `p.b.Free()
p.b = nil
p.swap()
p.Close() //F`},
	{"two pairs", named, `q := &pair{Make(), Make()}
r := p
if c {
	r = q
}
r.swap()
p.a.Free() //F
x.Use()`},
	{"two pairs, other", named, `q := &pair{Make(), Make()}
r := p
if c {
	r = q
}
r.swap()
p.a.Free() //F
y.Use()`},
	{"loop made anew", named, `p.swap()
var last *pair
for range n {
	q := &pair{Make(), Make()}
	if last != nil {
		last.swap()
	}
	q.a.Free() //F
	if last != nil {
		last.b.Use()
	}
	last = q
}`},
}
