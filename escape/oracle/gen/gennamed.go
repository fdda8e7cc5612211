package gen

// Constructors with named results, which a deferred function frees if they fail.

// clean is what a named result is that a deferred function frees.
var clean = map[ResultKind]Kind{RBuf: KBuf, RPair: KPair, RPairPtr: KPairPtr, RSlice: KSlice, RStack: KStack}

// named is a constructor whose result is freed by a deferred function if it fails.
func (g *generator) named(f *Func) []Stmt {
	g.tag("named result")
	r := f.Clean
	switch {
	case r.fields():
		return g.filled(f)
	case r.Kind != KBuf:
		return g.grown(f)
	}
	body := []Stmt{&Make{Dst: Of(r), N: g.site(f.Res), Err: ECheck, Fail: []Stmt{&Return{Fail: true}}, ErrID: g.id()}}
	k := g.declare(r)
	g.f.groups[k.group].pinned = true
	body = append(body, g.first(r)...)
	body = append(body, g.stmts()...)
	if g.chance(0.5) {
		body = append(body, &If{Cond: &Cond{Op: CDraw}, Then: []Stmt{&Return{Fail: true}}})
	}
	return append(body, &Return{Path: Of(r)})
}

const rescue = "result that a recover returns"

// rescued is a constructor that recovers, and returns what it has by then, or nothing.
func (g *generator) rescued(f *Func) []Stmt {
	g.tag(rescue)
	f.May = true
	r := f.Clean
	body := []Stmt{&Make{Dst: Of(r), N: g.site(f.Res), Err: EMust, ErrID: g.id()}}
	k := g.declare(r)
	g.f.groups[k.group].pinned = true
	body = append(body, g.first(r)...)
	if g.chance(0.6) {
		body = append(body, g.stmts()...)
	}
	if leaves(body[len(body)-1]) {
		return body
	}
	return append(body, g.ret(&Return{})...)
}

// filled is a constructor whose named result gets its two buffers one after the other.
func (g *generator) filled(f *Func) []Stmt {
	g.tag("result filled in later")
	r := f.Clean
	r.Fixed = true
	body := []Stmt{&Compose{V: r}}
	for i := range 2 {
		m := &Make{Dst: At(r, i), N: g.site(f.Res), Err: ECheck, Fail: []Stmt{&Return{Fail: true}}, ErrID: g.id()}
		body = append(body, m, &Use{Op: OFill, Args: []Path{At(r, i)}, X: 1 + g.n(9), Init: true})
		if i == 0 && g.chance(0.6) {
			g.f.partial = true
			for range 1 + g.n(3) {
				add := g.action()
				if len(add) > 0 && leaves(add[len(add)-1]) {
					break
				}
				body = append(body, add...)
			}
			g.f.partial = false
		}
	}
	k := g.declare(r)
	g.of(k).pinned = true
	body = append(body, g.stmts()...)
	if g.chance(0.5) {
		body = append(body, &If{Cond: &Cond{Op: CDraw}, Then: []Stmt{&Return{Fail: true}}})
	}
	return append(body, &Return{Path: Of(r)})
}

// grown is a constructor whose named result gets its buffers in a loop.
func (g *generator) grown(f *Func) []Stmt {
	g.tag("result filled in later")
	r := f.Clean
	r.Fixed = true
	k := g.declare(r)
	g.of(k).pinned = true
	l := &Loop{Kind: []LoopKind{LCount, LClause, LFunc}[g.n(3)], N: 4, Label: g.label()}
	g.enter(l.Label)
	g.push()
	m, b := g.made(f.Res)
	g.merge(k, b)
	l.Body = append(m, &Append{V: r, Src: Of(b.v)})
	if g.chance(0.3) {
		l.Body = append(l.Body, g.probe())
	}
	g.pop()
	g.leave()
	body := append([]Stmt{&Compose{V: r}, l}, g.stmts()...)
	if g.chance(0.6) {
		body = append(body, &If{Cond: &Cond{Op: CDraw}, Then: []Stmt{&Return{Fail: true}}})
	}
	return append(body, &Return{Path: Of(r)})
}
