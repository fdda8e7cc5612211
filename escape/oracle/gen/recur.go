package gen

// Literals that call themselves.

import (
	"fmt"
	"slices"
)

type (
	// Recur declares a literal that calls itself, fewer than N times inside each other, and
	// calls it. Last is the buffer of the call around, nothing in the outermost one.
	Recur struct {
		Name string
		Last *Var
		N    int
		Body []Stmt
	}
	// Deeper is where the literal calls itself with Arg, or, in the innermost call, runs Least.
	Deeper struct {
		Name  string
		Arg   Path
		Last  *Var
		Least []Stmt
	}
)

// recursion is the construct of these.
const recursion = "literal that calls itself"

func (*Recur) stmt()  {}
func (*Deeper) stmt() {}

// doRecur makes a buffer in each call, which the call inside reads.
func (g *generator) doRecur() []Stmt {
	if g.f.lit > 0 || g.f.fn.Hoist || g.deep() {
		return nil
	}
	g.tag(recursion)
	res := g.res()
	f := g.f
	depth, lit := f.depth, f.lit
	f.lits++
	f.depth, f.lit = depth+1, f.lits
	last, own := g.fresh(KBuf, res), g.fresh(KBuf, res)
	f.depth, f.lit = depth, lit
	s := &Recur{Name: fmt.Sprintf("again%d", g.id()), Last: last, N: 2 + g.n(2)}
	sum := func(v *Var) Stmt { return &Use{Op: OSum, Args: []Path{Of(v)}} }
	deeper := &Deeper{Name: s.Name, Arg: Of(own), Last: last, Least: []Stmt{
		&If{Cond: &Cond{Op: CNil, Path: Of(last)}, Then: []Stmt{sum(last), g.probe()}}}}
	m := &Make{Dst: Of(own), Decl: true, N: g.site(res), Via: g.via(res), Err: EMust}
	s.Body = append(append([]Stmt{m}, g.first(own)...), deeper)
	if g.chance(0.7) {
		s.Body = append(s.Body, sum(own), g.probe())
	}
	return []Stmt{s}
}

// nothing is the zero of a handle.
func (w *printer) nothing(r Res) string {
	if r == RMat {
		return "nil"
	}
	return w.handleType(r) + "{}"
}

func (w *printer) recur(s *Recur) {
	params := fmt.Sprintf("(n int, %s %s)", s.Last.Name, w.handleType(s.Last.Res))
	w.pf("var %[1]s func%[2]s\n%[1]s = func%[2]s {\n", s.Name, params)
	w.literal(s.Body)
	w.pf("}\n%s(c.N(%d), %s)\n", s.Name, s.N, w.nothing(s.Last.Res))
}

func (w *printer) deeper(s *Deeper) {
	w.pf("if n > 0 {\n%s(n-1, %s)\n} else {\n", s.Name, w.handle(s.Arg))
	w.block(s.Least)
	w.pf("}\n")
}

// recur runs a call of the literal s of f, in which so many more may be.
func (m *machine) recur(f *frame, s *Recur, n int, last *value) sig {
	sub := &frame{index: f.index, parent: f, flags: f.flags, lits: f.lits, recur: s, left: n}
	sub.env = map[*Var]*value{s.Last: last}
	m.stack = append(m.stack, sub)
	depth := len(m.stack)
	sg := m.list(sub, s.Body)
	m.stack = m.stack[:depth-1]
	if sg.kind == sPanic {
		return sg
	}
	return next
}

func (m *machine) deeper(f *frame, s *Deeper) sig {
	if f.left == 0 {
		return m.list(f, s.Least)
	}
	x := f.value(s.Arg.V).clone()
	touch(x.bufs)
	x.lend(1)
	sg := m.recur(f.parent, f.recur, f.left-1, x)
	x.lend(-1)
	return sg
}

// recur is what is live before and while the literal runs: each call has buffers of its own.
func (l *Liveness) recur(s *Recur, out Set, c liveCtx) (in, during Set) {
	c.targets, c.lit = nil, &out
	in = out.or(l.block(s.Body, out, c).without(Of(s.Last)))
	return in, in.or(out)
}

func (l *Liveness) deeper(s *Deeper, out Set, c liveCtx) (in, during Set) {
	return out.or(l.block(s.Least, out, c)).with(s.Arg), out
}

// recursed frees in a literal that calls itself.
func (t *trials) recursed(x *Trial, _ plan, _ *Free) bool {
	x.How = "a free in a literal that calls itself"
	var at []gap
	for _, g := range t.gaps {
		switch g.in.(type) {
		case *Recur, *Deeper:
			at = append(at, g)
		}
	}
	if len(at) == 0 {
		return false
	}
	g := at[t.n(len(at))]
	own := slices.DeleteFunc(slices.Clone(g.vars), func(v *Var) bool { return v.Class == 0 })
	v := own[t.n(len(own))]
	put(x.New, g, t.guarded(plan{maybe: v.Res == RMat}, &Free{Path: Of(v), Mine: true}))
	return true
}
