package escape

// Frees inside the literal that a deferred statement calls. What the literal reads only as
// long as a flag is not set is freed in it, behind that, where the flag is not set; and by
// the function itself, as soon as it is dead, where the flag is:
//
//	defer func() {
//		if !done {
//			b.Reset()
//			b.Free()
//		}
//	}()
//	…
//	done = true
//	b.Reset()
//	b.Free()
//
// The literal has one source and runs at each exit: a free in it is planned for all of them
// or for none. It runs where something panics, too, so at each point that may panic its
// variable must hold a buffer that is owned there, as far as the flags let it get to the free.

import (
	"go/ast"
	"slices"
)

// An insidePlan is a plan's part inside the literal that stmt calls.
type insidePlan struct {
	stmt    *ast.DeferStmt     // nil: nothing is freed there
	reached map[gapKey][]state // the states at its gaps, and where something may panic
}

// maxInside bounds the blocks of a function in which that is tried, as states are then
// followed through all of them.
const maxInside = 4000

// freeInside plans again, with frees inside the literal that a deferred statement calls and
// that alone, of all that is deferred, reads what group x could not free.
func (d *decider) freeInside(x *decision) {
	g := x.g
	stmt := d.readInside(g)
	if stmt == nil || len(d.f.rpo) > maxInside {
		return
	}
	pl := g.newPlanner(false)
	pl.inside.stmt = stmt
	for range 50 {
		if pl.run() != "" || len(pl.unfixed) > 0 {
			return
		}
		frees, again, ok := d.insideOf(x, pl)
		if !ok {
			return
		}
		if again {
			continue
		}
		if len(frees) > 0 {
			x.pl, x.frees = pl, frees
		}
		return
	}
}

// readInside returns the deferred statement that calls a literal and is the only one to read
// what of g is not freed; nil if there is none, or if the program does more with it than use
// it, so that it may not be owned where something panics.
func (d *decider) readInside(g *group) *ast.DeferStmt {
	var stmt *ast.DeferStmt
	ok := true
	for _, o := range g.objs {
		ok = ok && o.kind != objParam && !o.coll
		o.eachEvent(func(e event) {
			ok = ok && e.kind == evUse
			if s := e.at.deferred; s != nil {
				ok = ok && (stmt == nil || stmt == s)
				stmt = s
			}
		})
	}
	if !ok || stmt == nil {
		return nil
	}
	if _, lit := ast.Unparen(stmt.Call.Fun).(*ast.FuncLit); !lit {
		return nil
	}
	return stmt
}

// insideOf gives the frees of pl inside the deferred literal their text. Those that cannot
// stand there are forbidden, and again is true.
func (d *decider) insideOf(x *decision, pl *planner) (frees []planned, again, ok bool) {
	type insideKey struct {
		gap *gap
		o   *object
	}
	at := map[insideKey][]freePoint{}
	var order []insideKey
	for _, fp := range pl.plan {
		if fp.gap.gap.deferred == nil {
			continue
		}
		k := insideKey{fp.gap.gap, fp.obj}
		if at[k] == nil {
			order = append(order, k)
		}
		at[k] = append(at[k], fp)
	}
	for _, k := range order {
		fps := at[k]
		name := d.w.nameAt(k.o, fps[0].gap)
		if name == nil || name.via != "" || name.place.root.obj == nil {
			return nil, false, false
		}
		if len(k.gap.under) == 0 {
			return nil, false, false // nothing is freed earlier than by a deferred call of its own
		}
		nilHere, ok := d.freedInside(pl, k.gap, k.o, name.place)
		if !ok {
			for _, c := range d.copiesOf(k.gap) {
				pl.forbid[gapKey{k.o, c}] = true
			}
			again = true
			continue
		}
		fp := fps[0]
		fp.isNil = nilHere || slices.ContainsFunc(fps, func(fp freePoint) bool { return fp.isNil })
		p, why := d.give(x, fp)
		if why != "" || p.place != name.place || p.keep {
			return nil, false, false
		}
		for _, fp := range fps[1:] {
			p.copies = append(p.copies, fp.gap)
		}
		frees = append(frees, p)
	}
	if again {
		pl.accept = map[*block][]bool{}
	}
	return frees, again, true
}

// copiesOf lists the copies of a gap inside a deferred literal.
func (d *decider) copiesOf(of *gap) []*value {
	var out []*value
	for _, b := range d.f.rpo {
		for _, i := range b.copied {
			if b.instrs[i].gap == of {
				out = append(out, b.instrs[i])
			}
		}
	}
	return out
}

// freedInside reports whether variable p may be freed at gap of, inside the deferred literal,
// wherever that runs: it holds o, which is owned and dead there by pl, or nothing.
func (d *decider) freedInside(pl *planner, of *gap, o *object, p *place) (mayNil, ok bool) {
	g := pl.g
	holds := func(at *value) bool {
		v := d.w.f.valueAt(p, at.blk, at.at)
		return v != nil && origin(v) == o.def
	}
	for _, c := range d.copiesOf(of) {
		st := pl.inside.reached[gapKey{o, c}]
		if !slices.ContainsFunc(st, func(s state) bool { return s != 0 }) {
			continue // the flags let no path get there
		}
		if !pl.placed[gapKey{o, c}] || !holds(c) {
			return false, false
		}
	}
	// It is registered where the variable holds o, and nothing assigns that behind.
	at := d.gapBefore(of.deferred)
	if at == nil || !holds(at) {
		return false, false
	}
	behind := spread(ahead, nil, at.blk.succs...)
	var panics []*value
	for _, b := range d.f.rpo {
		for i, v := range b.instrs {
			switch {
			case v.op == opSet && v.place == p && (behind[b] || b == at.blk && i > at.at):
				return false, false
			case v.op == opHold && v.deferred == of.deferred && len(o.events[v]) > 0 && slices.Equal(v.under, of.under):
				panics = append(panics, v)
			}
		}
	}
	running := d.runningAt([]*object{o})
	for _, v := range panics {
		for c, s := range pl.inside.reached[gapKey{o, v}] {
			if s == 0 || !g.flagged(v, c) {
				continue
			}
			if s&^(sOwned|sNil) != 0 {
				return false, false
			}
			mayNil = mayNil || s&sNil != 0
			if running(v) && !beforeWait(v) {
				return false, false
			}
		}
	}
	return mayNil, true
}
