package escape

// States: what instructions and events do to them.

import (
	"slices"
)

// step applies the events and definitions at instruction v.
func (pl *planner) step(v *value, st []state) {
	g := pl.g
	if v.op == opHold && pl.inside.stmt != nil && pl.record {
		for j, o := range g.objs {
			pl.inside.reached[gapKey{o, v}] = slices.Clone(st[j*g.n : (j+1)*g.n])
		}
	}
	if v.op == opReturn && pl.record {
		pl.exits = append(pl.exits, exitState{ret: v, st: slices.Clone(st)})
	}
	for _, i := range g.bitsAt[v] {
		fixed := unknown
		if b := g.bits[i]; b.nonnil && nonNil(b.v) {
			fixed = yes
		}
		for j := range g.objs {
			for c := range g.n {
				if c>>i&1 == 0 {
					x := st[j*g.n+c] | st[j*g.n+(c|1<<i)]
					st[j*g.n+c], st[j*g.n+(c|1<<i)] = x, x
					if fixed == yes {
						st[j*g.n+c] = 0
					}
				}
			}
		}
	}
	for j, o := range g.objs {
		evs := o.events[v]
		if pl.record && slices.ContainsFunc(evs, func(e event) bool { return e.ours }) {
			if pl.before == nil {
				pl.before = map[gapKey][]state{}
			}
			pl.before[gapKey{o, v}] = slices.Clone(st)
		}
		for _, e := range evs { // operands are read before the call does anything
			if e.kind == evUse {
				pl.event(j, o, v, e, st)
			}
		}
		for _, e := range evs {
			if e.kind != evUse && e.kind != evFill {
				pl.event(j, o, v, e, st)
			}
		}
	}
	for j, o := range g.objs { // what fills a collection has left its owner by now, if it had one
		for _, e := range o.events[v] {
			if e.kind == evFill {
				pl.event(j, o, v, e, st)
			}
		}
	}
	for _, o := range g.atDef[v] {
		j := g.index(o)
		for c := range g.n {
			if st[j*g.n+c] == 0 {
				continue // no path that c allows leads here
			}
			if pl.record && st[j*g.n+c]&sOwned != 0 && pl.unfixed[o] == nil {
				pl.unfixed[o] = v // made again while the last one is still owned
			}
			switch {
			case g.w.ownerOp(v) && pl.empty(v, c, st):
				st[j*g.n+c] = sNil
			case o.okRes != nil:
				switch g.isTrue(o.okRes, c) {
				case yes:
					st[j*g.n+c] = sOwned
				case no:
					st[j*g.n+c] = sNil
				default:
					st[j*g.n+c] = sOwned | sNil
				}
			case o.errRes == nil:
				st[j*g.n+c] = sOwned
			case len(o.errRes.users) == 0:
				st[j*g.n+c] = sOwned | o.failed() // nobody looks at the error
			default:
				switch g.isNonNil(o.errRes, c) {
				case yes:
					st[j*g.n+c] = o.failed()
				case no:
					st[j*g.n+c] = sOwned
				default:
					st[j*g.n+c] = sOwned | o.failed()
				}
			}
			if o.mayNil && st[j*g.n+c]&sOwned != 0 {
				st[j*g.n+c] |= sNil
			}
		}
	}
}

// failed is the state of what a call gives beside an error.
func (o *object) failed() state {
	st := sNil
	if o.left {
		st = sMoved
	}
	if o.partial {
		st |= sOwned
	}
	return st
}

// empty reports whether the collection that v makes owns nothing under
// combination c, as none of its elements did.
func (pl *planner) empty(v *value, c int, st []state) bool {
	g := pl.g
	for _, a := range v.args {
		r := origin(a)
		if r.op == opNil || pl.g.w.p.plain(a.typ0()) {
			continue
		}
		q := g.w.byDef[r]
		if q == nil {
			return false
		}
		k := g.index(q)
		if k < 0 || st[k*g.n+c]&^(sNil|sNone) != 0 {
			return false
		}
	}
	return true
}

func (pl *planner) event(j int, o *object, v *value, e event, st []state) {
	g := pl.g
	if pl.record {
		var all state
		for c := range g.n {
			if e.kind == evReturn && g.failed(v, c) || !g.flagged(v, c) {
				continue // with an error, results are not looked at
			}
			all |= st[j*g.n+c]
		}
		bad := state(0)
		switch e.kind {
		case evUse, evRetain:
			bad = sFreed | sInserted
			if e.holds() || e.idle() {
				bad = sInserted // the program's own frees are its own affair
			}
			if e.kind == evRetain && pl.defers[o] {
				bad |= sDeferred
			}
		case evFree, evDefer:
			if !pl.repeats[o] && !e.repeat {
				bad = sFreed | sDeferred
			}
			bad |= sInserted
			if pl.repeats[o] || e.repeat {
				bad &^= sInserted
			}
		case evReturn:
			bad = sFreed | sDeferred | sInserted
		case evMove:
			bad = sFreed | sInserted
			if e.why == byLent || e.why == byView {
				bad = sInserted // said where it is freed, and of the use there
			}
			if pl.defers[o] {
				bad |= sDeferred
			}
		}
		if e.why == byClear && all&sOwned != 0 || e.why == byDelete && all&^sNil == sOwned {
			pl.issues = append(pl.issues, issue{obj: o, at: v, ev: e, must: true, st: sOwned, reach: all})
		}
		if all == sMoved && o.kind == objSite && (e.kind == evFree || e.kind == evUse && !e.holds() && !e.idle()) {
			// Handed to somebody who is sure to use or free it.
			if to := o.handoff(); to != "" && (e.kind == evFree || to == toPool) && !slices.ContainsFunc(o.events[v], func(x event) bool { return x.kind == evMove }) {
				e.why = to
				pl.issues = append(pl.issues, issue{obj: o, at: v, ev: e, must: true, st: sMoved, reach: all})
			}
		}
		if all&bad != 0 && all != 0 {
			pl.issues = append(pl.issues, issue{obj: o, at: v, ev: e, must: all&^(bad|sNil|sNone) == 0, st: all & bad, reach: all})
		}
	}
	if pl.record && e.kind == evGive {
		for c := range g.n {
			if s := st[j*g.n+c]; s&^(sOwned|sNil|sNone) != 0 {
				pl.bad = "put into a collection where it may not be owned"
			}
		}
	}
	for c := range g.n {
		s := st[j*g.n+c]
		if s == 0 {
			continue
		}
		applies := yes
		switch e.when.K {
		case Maybe:
			applies = unknown
		case OnSuccess, OnError:
			applies = unknown
			if er := e.call.call.errRes; er != nil {
				applies = g.isNonNil(er, c)
				if e.when.K == OnSuccess {
					applies = applies.not()
				}
			}
		case IfTrue, IfFalse:
			applies = unknown
			if a := condArg(e.call, e.when); a != nil {
				applies = g.isTrue(a, c)
				if e.when.K == IfFalse {
					applies = applies.not()
				}
			}
		}
		if e.own != nil {
			if k := g.index(e.own); k >= 0 && st[k*g.n+c]&sMoved == 0 {
				applies = no // not in the collection yet
			}
		}
		if applies == no {
			continue
		}
		t := s
		switch e.kind {
		case evFree:
			switch {
			case e.m == mMaybe || applies == unknown && (e.when.K == IfTrue || e.when.K == IfFalse):
				t = moved(s)
			case applies == unknown:
				if s&(sOwned|sDeferred) != 0 {
					t = s | sPerhaps
				}
			default:
				t = s&^(sOwned|sDeferred|sPerhaps) | freedFrom(s)
			}
		case evDefer:
			if applies == unknown || e.m == mMaybe {
				t = o.taken(s)
			} else if s&sOwned != 0 {
				t = s&^sOwned | sDeferred
			}
			if o.coll && t&sNil != 0 {
				t = t&^sNil | sDeferred // what will be put into it is freed as well
			}
		case evGive:
			t = moved(s)
		case evFill:
			if s&sNil != 0 {
				t = s&^sNil | sOwned
			}
		case evMove:
			t = o.taken(s)
		case evReturn:
			t = moved(s)
		case evRetain:
			t = moved(s)
		}
		st[j*g.n+c] = t
	}
}

// errorOf evaluates "the error that is returned is not nil"; unknown, too, for
// a function whose last result is no error.
func (g *group) errorOf(ret *value, c int) tri {
	res := g.w.f.sig.Results()
	n := len(ret.args)
	if n == 0 || n != res.Len() || !isError(res.At(n-1).Type()) {
		return unknown
	}
	return g.isNonNil(ret.args[n-1], c)
}

// failed reports whether the return hands out an error that is not nil.
func (g *group) failed(ret *value, c int) bool { return g.errorOf(ret, c) == yes }

func freedFrom(s state) state {
	if s&(sOwned|sDeferred) != 0 {
		return sFreed
	}
	return 0
}

// taken returns the state after o was handed to somebody who may keep it. A
// collection that owns nothing yet is gone as well: what is put into it later
// is theirs.
func (o *object) taken(s state) state {
	if o.coll && s&sNil != 0 {
		s = s&^sNil | sOwned
	}
	return moved(s)
}

func moved(s state) state {
	if s&(sOwned|sDeferred) != 0 {
		return s&^(sOwned|sDeferred|sPerhaps) | sMoved
	}
	return s
}
