package escape

// From the states at a function's exits to its summary.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// infer returns the summary of f as its body shows it.
func (p *pkg) infer(f *fn, w *flow) *Summary {
	s := blank(f.sig)
	if f.declined != "" {
		u := worst(f.sig, "not decided: "+f.declined)
		return u
	}
	s.NoReturn = len(f.exits) == 0 || !slices.ContainsFunc(f.exits, func(r *value) bool { return r.blk != nil && r.blk.order >= 0 })
	for _, o := range w.objs {
		if o.kind == objParam {
			s.Args[o.def.index] = p.inferArg(w, o, s)
		}
	}
	if e, ok := p.freeing[f.obj]; ok && f.obj != nil && len(s.Args) > 0 {
		s.Args[0] = e
	} else if f.obj != nil {
		for _, v := range f.params {
			e := &s.Args[v.index]
			e.Resets = true
			for _, u := range w.fieldUses(v) {
				if u.frees && u.exit&^(fFreed|fNil) == 0 {
					e.Fields = append(e.Fields, u.field.Name())
					e.Resets = e.Resets && u.exit == fNil
				}
			}
			e.Resets = e.Resets && len(e.Fields) > 0
		}
	}
	p.inferResults(f, w, s)
	p.afterRecover(f, w, s)
	if f.sig.Recv() != nil { // whether it frees may be for a spec to say
		s.Disarms = p.bodyDisarms(f.body)
	}
	return s
}

// inferArg decides what the function does with the parameter o.
func (p *pkg) inferArg(w *flow, o *object, s *Summary) ArgEffect {
	var e ArgEffect
	g := o.group
	o.eachEvent(func(ev event) {
		if ev.kind == evMove && e.Via == "" {
			e.Via = ev.why
		}
		if ev.kind == evFree || ev.kind == evDefer {
			if ev.m == mMaybe && e.Via == "" {
				e.Via = "a part of what it holds is freed there"
			}
			e.Repeatable = ev.repeat
		}
		if ev.kind == evReturn {
			bit := uint64(1) << o.def.index
			if o.def.index >= 64 {
				e.Escapes = When{K: Always}
				return
			}
			if plain(w.f.sig.Results().At(ev.res).Type()) {
				return // a number says something about it, it does not lead there
			}
			r := &s.Res[ev.res]
			switch ev.m {
			case mView, mHolder:
				r.Views |= bit
			default:
				r.Is |= bit
			}
		}
		if ev.kind == evRetain {
			e.Retained = true
		}
	})
	for _, m := range o.order {
		for _, u := range m.users {
			if u.op == opStore && len(u.args) > 1 && u.args[1] == m && (p.holdsResource(u.args[0].typ0()) || o.members[m] == mWhole && u.note == "stored through a pointer") {
				e.Writes = true
			}
		}
	}
	if n, _ := p.structOf(o.def.typ0()); e.Writes && p.held[n].closed(p) {
		e.Writes = false
	}
	if isPointer(o.def.typ0()) {
		e.NilOK = p.toleratesNil(w.f, o.def)
	}
	if g.why != "" {
		if e.Via == "" {
			e.Via = g.why
		}
		e.Escapes = When{K: Always}
		return e
	}
	pl := g.dry()
	if pl == nil {
		e.Escapes = When{K: Always}
		e.Via = "not decided"
		return e
	}
	j := g.index(o)
	var freed, gone outcome
	for _, x := range pl.exits {
		for c := range g.n {
			st := x.st[j*g.n+c]
			if st == 0 {
				continue
			}
			class := g.errorOf(x.ret, c)
			f := st&(sFreed|sDeferred) != 0
			nf := st&^(sFreed|sDeferred|sNone) != 0
			f = f || st&sPerhaps != 0
			m := st&sMoved != 0
			nm := st&^(sMoved|sNone) != 0
			freed.add(class, c, f, nf)
			gone.add(class, c, m, nm)
		}
	}
	e.Freed = freed.when(g, w.f, s)
	e.Escapes = gone.when(g, w.f, s)
	if e.Freed.K == Maybe && e.Escapes.K == Never {
		e.Via = "which frees it on some paths"
	}
	if e.Escapes.K == Maybe {
		e.Escapes = When{K: Always}
	}
	if e.Freed.K == Never {
		e.Repeatable = false
	}
	return e
}

// outcome gathers on which exits something happened.
type outcome struct {
	yes, no        [3]bool // by the error result: unknown, nil, not nil
	comboY, comboN map[int]bool
}

func (o *outcome) add(err tri, c int, y, n bool) {
	if o.comboY == nil {
		o.comboY, o.comboN = map[int]bool{}, map[int]bool{}
	}
	o.yes[err] = o.yes[err] || y
	o.no[err] = o.no[err] || n
	if y {
		o.comboY[c] = true
	}
	if n {
		o.comboN[c] = true
	}
}

func (o *outcome) when(g *group, f *fn, s *Summary) When {
	anyY := o.yes[0] || o.yes[1] || o.yes[2]
	anyN := o.no[0] || o.no[1] || o.no[2]
	switch {
	case !anyY:
		return When{}
	case !anyN:
		return When{K: Always}
	}
	if !o.yes[unknown] && !o.no[unknown] {
		if o.yes[no] && !o.no[no] && !o.yes[yes] {
			return When{K: OnSuccess}
		}
		if o.yes[yes] && !o.no[yes] && !o.yes[no] {
			return When{K: OnError}
		}
	}
	for i, b := range g.bits {
		if b.nonnil || b.v.op != opParam || b.v.index > 100 {
			continue
		}
		onlyT, onlyF := true, true
		for c := range o.comboY {
			if o.comboN[c] {
				onlyT, onlyF = false, false
			}
			if c>>i&1 == 1 {
				onlyF = false
			} else {
				onlyT = false
			}
		}
		for c := range o.comboN {
			if c>>i&1 == 1 {
				onlyT = false
			} else {
				onlyF = false
			}
		}
		if onlyT {
			return When{K: IfTrue, Arg: int8(b.v.index)}
		}
		if onlyF {
			return When{K: IfFalse, Arg: int8(b.v.index)}
		}
	}
	return When{K: Maybe}
}

func (o *object) eachEvent(do func(event)) {
	for _, evs := range sortedEvents(o) {
		for _, e := range evs {
			do(e)
		}
	}
}

// dry runs the group without planning; nil if it cannot be decided.
func (g *group) dry() *planner {
	if g.live == nil {
		g.liveness()
	}
	pl := g.newPlanner(true)
	if why := pl.run(); why != "" {
		return nil
	}
	return pl
}

// inferResults decides what each result is.
func (p *pkg) inferResults(f *fn, w *flow, s *Summary) {
	planners := map[*group]*planner{}
	partial := false
	mayNil := false
	owned := func(x *value, ret *value) (ok, neutral, armed bool) {
		whole := partial
		if together(x, ret) {
			defer func() { partial = whole }() // the callee keeps to the rule: with an error it is nil
		}
		x = origin(x)
		if x.op == opNil {
			mayNil = mayNil || !w.fails(ret)
			return false, true, false
		}
		o := w.byDef[x]
		if o == nil || o.kind == objParam || o.group.why != "" {
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
		for _, e := range pl.exits {
			if e.ret != ret {
				continue
			}
			for c := range g.n {
				st := e.st[j*g.n+c]
				if st&^sNone == 0 {
					continue
				}
				if failing(f) && st&sOwned != 0 && g.errorOf(ret, c) != no {
					partial = true
				}
				if g.failed(ret, c) {
					continue // with an error, results own nothing, as a rule
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
		if plain(t) {
			continue
		}
		all, some, armed := true, false, false
		partial, mayNil = false, false
		must, ismask := true, uint64(0)
		var fields, bad, empty []string
		structs := true
		for _, r := range f.exits {
			if r.blk == nil || r.blk.order < 0 || i >= len(r.args) {
				continue
			}
			v := r.args[i]
			ok, neutral, arm := owned(v, r)
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
			if pk := packOf(v); pk != nil {
				for k, leaf := range leavesUnder(pk) {
					was := mayNil
					ok, neutral, _ := owned(pk.args[k], r)
					switch {
					case ok && !slices.Contains(fields, leaf):
						fields = append(fields, leaf)
					case neutral && mayNil && !was:
						empty, mayNil = append(empty, leaf), false
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
		if all && some {
			s.Res[i].Owned, s.Res[i].Armed, s.Res[i].Partial, s.Res[i].MayNil = true, armed, partial, mayNil
		} else if len(fields) > 0 {
			mayNil = mayNil || slices.ContainsFunc(fields, func(leaf string) bool { return slices.Contains(empty, leaf) })
			s.Res[i].Owned, s.Res[i].Fields, s.Res[i].MayNil = true, fields, mayNil
			if p.destructs(t, fields) {
				s.Res[i].Fields = nil // as a whole: its type has a free
			}
		}
		s.Res[i].Must = s.Res[i].Is != 0 && must
	}
	// Views of what another result owns.
	for i := range s.Res {
		for j := range s.Res {
			if i == j || !s.Res[j].Owned || len(s.Res[j].Fields) > 0 || plain(f.sig.Results().At(i).Type()) {
				continue
			}
			for _, r := range f.exits {
				if r.blk == nil || r.blk.order < 0 || i >= len(r.args) {
					continue
				}
				if o := w.byDef[origin(r.args[j])]; o != nil {
					if k, ok := o.members[r.args[i]]; ok && k == mView {
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

// together reports whether x and the error that ret returns beside it are
// results of one call.
func together(x, ret *value) bool {
	x = errRoot(x)
	if x.op != opResult || len(ret.args) == 0 {
		return false
	}
	err := errRoot(ret.args[len(ret.args)-1])
	return err.op == opResult && isError(err.typ) && err.args[0] == x.args[0]
}

// destructs reports whether the type's inferred free covers these fields.
func (p *pkg) destructs(t types.Type, fields []string) bool {
	n, _ := p.structOf(t)
	h := p.held[n]
	if h == nil || h.free == nil {
		return false
	}
	if _, ok := p.freeing[h.free]; !ok {
		return false
	}
	for _, f := range fields {
		if !h.freed[strings.TrimPrefix(f, ".")] {
			return false
		}
	}
	return true
}

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

// packOf returns v if it is a struct read leaf by leaf, or a pointer to one.
func packOf(v *value) *value {
	for v.op == opCopy {
		v = v.args[0]
	}
	if (v.op == opPack && v.note == "struct" || v.op == opAddr) && v.place != nil && len(v.place.path) == 0 && len(v.args) == len(v.place.root.leaves) {
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

// toleratesNil reports whether f does nothing with parameter v, a pointer, that
// goes wrong when it is nil: on the paths on which it is, nothing is read or
// stored through it, and it goes only to functions that tolerate nil as well.
func (p *pkg) toleratesNil(f *fn, v *value) bool {
	seen := map[*block]bool{}
	stack := []*block{f.blocks[0]}
	for len(stack) > 0 {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[b] {
			continue
		}
		if seen[b] = true; len(seen) > 200 {
			return false
		}
		for _, x := range b.instrs {
			for j, a := range x.args {
				if origin(a) != v {
					continue
				}
				switch x.op {
				case opCopy:
					if x.note == "dereferenced" {
						return false
					}
				case opSet, opCmp, opNot, opDiscard, opReturn, opGap:
				case opCall, opDefer:
					if x.call.params[j] < -1 || !x.call.sum.arg(x.call.params[j]).NilOK {
						return false
					}
				default:
					return false
				}
			}
		}
		next := b.succs
		if b.cond != nil && len(b.succs) == 2 {
			if x, ok := nilTest(b.cond); ok && origin(x) == v {
				i := 0
				if b.cond.tok == token.NEQ {
					i = 1
				}
				next = b.succs[i : i+1]
			}
		}
		stack = append(stack, next...)
	}
	return true
}

// bodyDisarms reports whether a body takes back a finalizer or cleanup.
func (p *pkg) bodyDisarms(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f := p.funcOf(call.Fun); f != nil && f.Pkg() != nil && f.Pkg().Path() == "runtime" && f.Name() == "SetFinalizer" && len(call.Args) == 2 {
			found = found || p.info.Types[call.Args[1]].IsNil()
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Stop" {
			if s := p.info.Selections[sel]; s != nil && types.TypeString(deref(s.Recv()), nil) == "runtime.Cleanup" {
				found = true
			}
		}
		return true
	})
	return found
}

// litReleases reports whether a literal only frees its parameter.
func (p *pkg) litReleases(lit *ast.FuncLit) bool {
	sig, ok := p.typeOf(lit).(*types.Signature)
	if !ok {
		return false
	}
	f := &fn{p: p, node: lit, name: "a literal", sig: sig, body: lit.Body, typ: lit.Type}
	p.lower(f)
	s := p.infer(f, analyze(f))
	return len(s.Args) == 1 && s.Args[0].Freed.K == Always && s.Args[0].Escapes.K == Never
}
