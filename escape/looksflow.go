package escape

// Literals that only look at a variable they capture, as their own flow form shows.

import (
	"go/ast"
	"go/types"
)

// looks is what a literal does with the variables that it captures.
type looks struct {
	l       *lower
	closure *value
	index   int                 // in its block
	more    map[*types.Var]bool // by its syntax, it does more with these; nil until asked for
	only    map[*types.Var]bool // by its flow, it does no more with these; nil until asked for
}

// at reports whether the literal only looks at what r holds, which is the same for as long as
// anybody has the literal.
func (k *looks) at(r *root) bool {
	if r.obj == nil || r.outer || r.global {
		return false
	}
	p := k.l.p
	once := p.vars().Fixed(r.obj)
	if once && len(r.leaves) == 1 && len(r.leaves[0].path) == 0 {
		if k.more == nil {
			k.more = p.doesMore(k.closure.lit)
		}
		if !k.more[r.obj] {
			return true
		}
	}
	if !p.mayLead(r.typ) || !once && !k.stays(r) {
		return false
	}
	if k.only == nil {
		k.only = p.onlyLookedAt(k.closure.lit)
	}
	return k.only[r.obj]
}

// mayLead reports whether a value of type t may be a buffer, hold one or look into one: if it
// cannot, nobody asks what a literal does with it.
func (p *pkg) mayLead(t types.Type) bool {
	if p.holdsResource(t) || types.IsInterface(t) {
		return true
	}
	n, ok := types.Unalias(deref(t)).(*types.Named)
	return ok && n.Obj().Pkg() != nil && (n.Obj().Pkg() == p.types || p.facts.reach(n.Obj().Pkg()) != nil)
}

// maxStays bounds the instructions through which a variable is followed from where it is captured.
const maxStays = 4000

// stays reports whether r is assigned on no way from the closure on, until it is declared
// anew, and whether no pointer leads to it.
func (k *looks) stays(r *root) bool {
	if k.l.pointsTo(r) || k.l.p.vars().Header(r.obj) {
		return false
	}
	steps := 0
	// goesOn reports whether r may be assigned behind instrs, and whether it is there.
	goesOn := func(instrs []*value) (on, assigned bool) {
		for _, v := range instrs {
			if steps++; steps > maxStays {
				return false, true
			}
			if v.op == opSet && v.place.root == r {
				return false, v.pos != r.obj.Pos()
			}
		}
		return true, false
	}
	at := k.closure.blk
	on, assigned := goesOn(at.instrs[k.index+1:])
	var stack []*block
	if on {
		stack = append(stack, at.succs...)
	}
	seen := map[*block]bool{}
	for len(stack) > 0 && !assigned {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[b] {
			continue
		}
		seen[b] = true
		if on, assigned = goesOn(b.instrs); on {
			stack = append(stack, b.succs...)
		}
	}
	return !assigned
}

// pointsTo reports whether the address of r is taken.
func (l *lower) pointsTo(r *root) bool {
	if l.pointedAt == nil {
		l.pointedAt = map[*root]bool{}
		for _, b := range l.f.blocks {
			for _, v := range b.instrs {
				if v.op == opAddr {
					l.pointedAt[v.place.root] = true
				}
			}
		}
	}
	return l.pointedAt[r]
}

// onlyLookedAt lists the variables that lit captures, only looks at, and leaves as they are:
// what they hold on entry is used, and may be returned, and that is all.
func (p *pkg) onlyLookedAt(lit *ast.FuncLit) map[*types.Var]bool {
	only := map[*types.Var]bool{}
	sig, ok := p.typeOf(lit).(*types.Signature)
	if !ok {
		return only
	}
	f := &fn{p: p, node: lit, name: "a literal", sig: sig, body: lit.Body, typ: lit.Type}
	p.build(f)
	if f.declined != "" || f.flow == nil {
		return only
	}
	for _, x := range f.outers {
		only[x.place.root.obj] = true
	}
	for _, x := range f.outers {
		if !f.flow.onlyLooks(x.value) {
			delete(only, x.place.root.obj)
		}
	}
	for _, b := range f.rpo {
		for _, v := range b.instrs {
			switch v.op {
			case opSet, opAddr:
				delete(only, v.place.root.obj)
			case opClosure: // one that may run later, or elsewhere
				for _, r := range v.captures {
					delete(only, r.obj)
				}
			}
		}
	}
	return only
}

// onlyLooks reports whether all that happens to v, which the function does not own, is that it
// is used, or returned as something else than an error, which nobody takes for a way to it.
func (w *flow) onlyLooks(v *value) bool {
	o := &object{kind: objParam, def: v, holder: w.p.isHolder(v.typ0())}
	w.web(o)
	if o.complex != "" {
		return false
	}
	ok := true
	o.eachEvent(func(e event) {
		switch e.kind {
		case evUse:
		case evReturn:
			ok = ok && !isError(w.f.sig.Results().At(e.res).Type())
		default:
			ok = false
		}
	})
	for _, m := range o.order {
		for _, u := range m.users {
			if !ok {
				return false
			}
			switch {
			case u.op == opStore:
				ok = len(u.args) < 2 || u.args[1] != m || w.p.plain(u.args[0].typ0())
			case u.call != nil:
				for j, a := range u.args {
					ok = ok && (a != m || u.call.params[j] < -1 || !u.call.sum.arg(u.call.params[j]).Writes)
				}
			}
		}
	}
	return ok
}
