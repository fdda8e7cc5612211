package escape

// What is asked of the rewriter for a buffer that no variable holds.

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// rewriter returns what is known of the package where it is edited.
func (p *pkg) rewriter() *rewrite.Package {
	if p.edits == nil {
		p.edits = &rewrite.Package{Info: p.info, Types: p.types, Vars: p.vars(), Resource: p.holdsResource, Frees: p.freesSome}
	}
	return p.edits
}

// freesSome reports whether call is one such as is planned: it frees something, or keeps it alive.
func (p *pkg) freesSome(call *ast.CallExpr) bool {
	f := p.called(call)
	if f == nil {
		return false
	}
	if f.Pkg() != nil && f.Pkg().Path() == "runtime" && f.Name() == "KeepAlive" {
		return true
	}
	return slices.ContainsFunc(p.summaryOf(f).Args, func(e ArgEffect) bool { return e.Freed.K == Always })
}

// rewriter returns what is known of the syntax of the function.
func (f *fn) rewriter() *rewrite.Func {
	if f.edits == nil {
		f.edits = rewrite.NewFunc(f.p.rewriter(), f.node, f.sig, f.gotos)
	}
	return f.edits
}

// where is the place of the gap in the source.
func (g *gap) where() rewrite.Place {
	return rewrite.Place{Kind: g.kind, Anchor: g.anchor, List: g.list, Prev: g.prev, Next: g.next, Stmt: g.stmt, Scope: g.scope}
}

// result returns the result of a call that o is, or is a field of; nil if it is none.
func (o *object) result() *value {
	switch {
	case o.def.op == opResult:
		return o.def
	case o.def.op == opOut && len(o.def.args) > 1 && o.def.args[1].op == opResult:
		return o.def.args[1]
	}
	return nil
}

// field returns the field of a result that o is.
func (o *object) field() *place {
	for _, u := range o.def.users {
		if u.op == opSet && u.place.root.obj == nil {
			return u.place
		}
	}
	return nil
}

// hoisted returns a hoist that gives a name to o, or why there can be none, and what o is called
// then: a field of a result goes by the result's name, which is via if that may be nil.
func (d *decider) hoisted(o *object) (h *rewrite.Hoist, name, via, why string) {
	const none = "no variable holds it"
	if o.kind != objSite || o.result() == nil || o.def.expr == nil {
		return nil, "", "", none
	}
	f := o.field()
	if o.def.op == opOut && (f == nil || !d.p.reachable(f.root.typ, f.path)) {
		return nil, "", "", none
	}
	call, ok := ast.Unparen(o.def.expr).(*ast.CallExpr)
	if !ok {
		return nil, "", "", none
	}
	h, why = d.hoists.Call(call, o.result().index)
	if why != "" {
		return nil, "", "", why
	}
	name = h.Named(call, o.result().index)
	if o.def.op == opOut {
		if isPointer(o.result().typ0()) {
			via = name
		}
		name += f.name
	}
	return h, name, via, ""
}

// inHeader returns a hoist that gives a name to what the header of a statement gives to the variable
// that holds o, if there is one and the name is visible at g, and what is called o then.
func (d *decider) inHeader(o *object, g *gap) (h *rewrite.Hoist, name string, t types.Type) {
	if o.kind != objSite {
		return nil, "", nil
	}
	for _, m := range o.order {
		if origin(m) != o.def {
			continue
		}
		for _, u := range m.users {
			if u.op != opSet || u.place.root.obj == nil || !d.w.freeable(o, u.place) {
				continue
			}
			if h, name := d.hoists.Header(u.place.root.obj, o.def.pos, u.pos, g.where()); h != nil {
				return h, name + u.place.name, u.place.typ
			}
		}
	}
	return nil, "", nil
}

// freeable reports whether o can be freed through place p by a name of its root.
func (w *flow) freeable(o *object, p *place) bool {
	return w.p.reachable(p.root.typ, p.path) &&
		(w.p.isResource(p.typ) || o.coll && w.p.collects(p.typ) || types.Identical(p.typ, o.def.typ0()))
}

// headGap puts a gap between what the header of the loop s starts with, which has been
// lowered, and the loop.
func (l *lower) headGap(s ast.Stmt) {
	if l.cur == nil || l.splice != nil {
		return
	}
	f := l.f.rewriter()
	e := f.StartsWith(s)
	if e == nil {
		return
	}
	host, list, why := f.Hosted(s)
	if why != "" || f.JumpedOver(host.Pos(), list) {
		return
	}
	l.gap(&gap{kind: rewrite.Head, stmt: s, scope: s.Pos()}, e.End())
}

// takenOut lists the statements that go with the calls at.
func (d *decider) takenOut(at []*value) []ast.Stmt {
	calls := make([]ast.Expr, len(at))
	for i, v := range at {
		calls[i] = v.expr
	}
	return d.f.rewriter().TakenOut(d.src, calls, d.freed)
}
