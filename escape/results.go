package escape

// What the results of a function are.

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// inferResults decides what each result is.
func (p *pkg) inferResults(f *fn, w *flow, s *Summary) {
	planners := map[*group]*planner{}
	partial, left := false, false
	mayNil, flagged := false, false
	owned := func(x, in, ret *value) (ok, neutral, armed bool) {
		if in != nil && in.op == opAddr && in.place.root.result == nil && p.collects(origin(x).typ0()) {
			was := mayNil
			defer func() { mayNil = was }() // its pointer is not nil, and nobody tests an empty collection
		}
		if c := together(x, ret); c != nil {
			// With an error it is what the callee leaves.
			whole, lefts := partial, left || c.args[0].call.sum.left(c.index)
			defer func() { partial, left = whole, lefts }()
		}
		x = origin(x)
		if x.op == opNil {
			if last, isConst := w.boolean(ret.args[len(ret.args)-1]); !flagged || !isConst || last {
				mayNil = mayNil || !w.fails(ret)
			}
			return false, true, false
		}
		o := w.byDef[x]
		if o == nil || o.kind == objParam || o.group.why != "" || twice(x, ret) {
			return false, false, false
		}
		g := o.group
		pl, done := planners[g]
		if !done {
			pl = g.dry()
			planners[g] = pl
		}
		if pl == nil {
			return false, false, false
		}
		j := g.index(o)
		seen := false
		for _, e := range pl.exitsAt(ret) {
			for c := range g.n {
				st := e.st[j*g.n+c]
				if st&^sNone == 0 {
					continue
				}
				if failing(f) && g.errorOf(ret, c) != no {
					partial = partial || st&sOwned != 0
					left = left || st&^(sOwned|sNil|sNone) != 0
				}
				if g.failed(ret, c) {
					continue // with an error, results own nothing, as a rule
				}
				if flagged && g.isTrue(ret.args[len(ret.args)-1], c) == no {
					continue
				}
				if st&sNil != 0 && (g.errorOf(ret, c) == no || !failing(f)) {
					mayNil = true
				}
				if st&^(sOwned|sNil|sNone) != 0 {
					return false, false, false
				}
				if st&sNil != 0 && o.errRes == nil {
					mayNil = true
				}
				seen = true
			}
		}
		return seen, !seen, g.armed()
	}
	for i := range s.Res {
		t := f.sig.Results().At(i).Type()
		if p.plain(t) {
			continue
		}
		all, some, armed := true, false, false
		partial, left, mayNil, flagged = false, false, false, w.flagged(i)
		must, ismask := true, uint64(0)
		var fields, bad, empty []string
		structs := true
		hollow := false // without an error, a field may be nil
		filled := false // with an error, it may point to a struct with nil in its fields
		for _, r := range f.exits {
			if r.blk == nil || r.blk.order < 0 || i >= len(r.args) {
				continue
			}
			v := r.args[i]
			pk := packOf(v)
			ok, neutral, arm := owned(v, pk, r)
			some = some || ok
			armed = armed || arm
			if !ok && !neutral {
				all = false
			}
			if pv := origin(v); pv.op == opParam && pv.index < 64 {
				if ismask != 0 && ismask != 1<<pv.index {
					must = false
				}
				ismask |= 1 << pv.index
			} else if !neutral {
				must = false
			}
			// A struct that is followed field by field.
			if pk != nil {
				filled = filled || pk.op == opAddr && failing(f) && errRoot(r.args[len(r.args)-1]).op != opNil
				for k, leaf := range leavesUnder(pk) {
					was := mayNil
					mayNil = false
					ok, neutral, _ := owned(pk.args[k], pk, r)
					none := mayNil
					hollow = hollow || none
					mayNil = was || none && !neutral
					switch {
					case ok && !slices.Contains(fields, leaf):
						fields = append(fields, leaf)
					case neutral && none:
						empty = append(empty, leaf)
					case !ok && !neutral:
						bad = append(bad, leaf)
					}
				}
			} else if !neutral {
				structs = false
			}
		}
		fields = slices.DeleteFunc(fields, func(leaf string) bool { return !structs || slices.Contains(bad, leaf) })
		slices.Sort(fields)
		h := p.destructs(t, fields)
		insists := h != nil && p.freeing[h.free].Insists
		// A struct of one field is freed by its field if it has no free, or one that goes wrong.
		if all && some && !(len(fields) > 0 && (!p.isResource(t) || hollow && insists)) {
			s.Res[i].Owned, s.Res[i].Armed, s.Res[i].Partial, s.Res[i].MayNil = true, armed, partial, mayNil
			s.Res[i].Flagged = flagged
		} else if len(fields) > 0 {
			mayNil = mayNil || slices.ContainsFunc(fields, func(leaf string) bool { return slices.Contains(empty, leaf) })
			s.Res[i].Owned, s.Res[i].Fields, s.Res[i].MayNil = true, fields, mayNil
			if h != nil && !(hollow && insists) {
				s.Res[i].Fields = nil // as a whole: its type has a free
				left = left || filled && insists
			}
		}
		s.Res[i].Left = s.Res[i].Owned && left
		s.Res[i].Must = s.Res[i].Is != 0 && must
	}
	// Views of what another result owns.
	for i := range s.Res {
		for j := range s.Res {
			if i == j || !s.Res[j].Owned || len(s.Res[j].Fields) > 0 {
				continue
			}
			number := p.plain(f.sig.Results().At(i).Type())
			for _, r := range f.exits {
				if r.blk == nil || r.blk.order < 0 || i >= len(r.args) {
					continue
				}
				if o := w.byDef[origin(r.args[j])]; o != nil {
					told := o.told[r.args[i]]
					if k, ok := o.members[r.args[i]]; ok && k == mView && (told || !number) {
						s.Res[i].Tells = s.Res[i].Tells || told
						s.Res[i].Of |= 1 << j
					}
				}
			}
		}
	}
}

// failing reports whether the last result of f is an error.
func failing(f *fn) bool {
	n := f.sig.Results().Len()
	return n > 0 && isError(f.sig.Results().At(n-1).Type())
}

// together returns the result of a call that x is, if the error that ret returns
// beside it is another result of that call.
func together(x, ret *value) *value {
	x = copied(x)
	if x.op != opResult || len(ret.args) == 0 {
		return nil
	}
	err := errRoot(ret.args[len(ret.args)-1])
	if err.op != opResult || !isError(err.typ) || err.args[0] != x.args[0] {
		return nil
	}
	return x
}

// flagged reports whether the last result is a boolean, and result i is nil
// wherever it is false, which is seen at each return.
func (w *flow) flagged(i int) bool {
	res := w.f.sig.Results()
	n := res.Len()
	if i >= n-1 || !types.Identical(res.At(n-1).Type().Underlying(), types.Typ[types.Bool]) {
		return false
	}
	some := false
	for _, r := range w.f.exits {
		if r.blk == nil || r.blk.order < 0 {
			continue
		}
		if len(r.args) != n {
			return false
		}
		v, ok := errRoot(r.args[i]), errRoot(r.args[n-1])
		t, isConst := w.boolean(ok)
		switch {
		case t:
		case isConst && v.op == opNil:
			some = true
		case v.op == opResult && ok.op == opResult && v.args[0] == ok.args[0] && v.args[0].call.okRes == ok && v.args[0].call.sum.Res[v.index].Flagged:
			some = true // both of one call, of which it is true
		case v.op == opResult && v.args[0].call.succeeds(ok, v.index):
			some = true // whether the call that makes it gives no error
		default:
			return false
		}
	}
	return some
}

// succeeds reports whether v is true where c returns no error, and false where it does and makes no result i.
func (c *callInfo) succeeds(v *value, i int) bool {
	x, ok := nilTest(v)
	if !ok || v.tok != token.EQL || c.errRes == nil || errRoot(x) != c.errRes || i >= len(c.sum.Res) {
		return false
	}
	r := c.sum.Res[i]
	return r.Owned && !r.Partial && !r.Left
}

// boolean returns v if it is a constant; no value is false as well.
func (w *flow) boolean(v *value) (t, isConst bool) {
	if v = errRoot(v); v.op == opNil {
		return false, true
	}
	return constBool(w.p, v)
}

// destructs returns how t is held if its inferred free covers these fields.
func (p *pkg) destructs(t types.Type, fields []string) *holding {
	n, _ := p.structOf(t)
	h := p.held[n]
	if h == nil || h.free == nil {
		return nil
	}
	if _, ok := p.freeing[h.free]; !ok {
		return nil
	}
	for _, f := range fields {
		if !h.freed[strings.TrimPrefix(f, ".")] {
			return nil
		}
	}
	return h
}

// left reports whether result i may be something that is not owned beside an error.
func (s *Summary) left(i int) bool { return i < len(s.Res) && s.Res[i].Left }

// fails reports whether ret is sure to return an error: one that is made there,
// or that was tested on the way.
func (w *flow) fails(ret *value) bool {
	res := w.f.sig.Results()
	n := len(ret.args)
	if n == 0 || n != res.Len() || !isError(res.At(n-1).Type()) {
		return false
	}
	err := errRoot(ret.args[n-1])
	if nonNil(err) {
		return true
	}
	for b, i := ret.blk, 0; len(b.preds) == 1 && i < 50; b, i = b.preds[0], i+1 {
		p := b.preds[0]
		if p.cond == nil || len(p.succs) != 2 {
			continue
		}
		c, want := p.cond, p.succs[0] == b
		for c.op == opNot {
			c, want = c.args[0], !want
		}
		if x, ok := nilTest(c); ok && errRoot(x) == err && (c.tok == token.NEQ) == want {
			return true
		}
	}
	return false
}

// twice reports whether ret hands x out in more than one result or field.
func twice(x, ret *value) bool {
	n := 0
	for _, a := range ret.args {
		if origin(a) == x {
			n++
		} else if pk := packOf(a); pk != nil {
			for _, leaf := range pk.args {
				if origin(leaf) == x {
					n++
				}
			}
		}
	}
	return n > 1
}

// packOf returns v if it is a struct read leaf by leaf, or a pointer to one.
func packOf(v *value) *value {
	for v.op == opCopy {
		v = v.args[0]
	}
	packs := v.op == opPack && v.note.Kind == report.Struct || v.op == opAddr
	if packs && v.place != nil && len(v.place.path) == 0 && len(v.args) == len(v.place.root.leaves) {
		return v
	}
	return nil
}

func leavesUnder(v *value) []string {
	var out []string
	for _, l := range v.place.root.leaves {
		out = append(out, l.name)
	}
	return out
}

func (g *group) armed() bool {
	for _, o := range g.objs {
		if o.armed {
			return true
		}
	}
	return false
}
