package escape

// Addresses that are numbers, or strings that lie in foreign memory. A number says
// something about a buffer, as its width does, and leads nowhere; it is an address where a
// summary says that it is a view, and where it was converted from a pointer. Such a value
// is followed through arithmetic, collections and other functions, which is of no use for
// other numbers. One that is formatted as text is not followed any further.

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// tells reports whether member v of o, which came from member from, is an address as a
// number or a string, or has one in it.
func (o *object) tells(v, from *value) bool {
	if from == nil || !carries(v.typ0(), 0) {
		return false
	}
	switch {
	case o.told[from]:
		return true
	case v.op == opResult:
		if c := v.args[0].call; v.index < len(c.sum.Res) && c.sum.Res[v.index].Tells {
			return true
		}
		return plain(v.typ0())
	case v.op == opCopy, v.op == opPure:
		return plain(v.typ0()) && rawType(from.typ0())
	}
	return false
}

// tell notes that what is a number or a string in v is an address.
func (w *flow) tell(o *object, v *value) {
	if o.told[v] {
		return
	}
	if o.told == nil {
		o.told = map[*value]bool{}
	}
	o.told[v] = true
	if _, ok := o.members[v]; ok {
		o.open = append(o.open, v) // its users may have been visited as of a number that is none
	}
}

// isNumber reports whether a value of type t leads to no memory, and is no address either.
func (p *pkg) isNumber(t types.Type) bool { return p.plain(t) && !carries(t, 0) }

// returnsAddress reports whether the function value v may return an address that is a
// number or a string.
func (p *pkg) returnsAddress(v *value) bool { return p.mayReturnAddress(v, 4) }

func (p *pkg) mayReturnAddress(v *value, depth int) bool {
	v = copied(v)
	if depth == 0 {
		return true
	}
	switch v.op {
	case opFunc, opBound:
		return v.fn == nil || p.saysAddress(p.summaryOf(v.fn), v.fn.Signature())
	case opClosure:
		return p.makesAddress(v.lit.Body)
	case opParam:
		return false // for the caller to say, who knows what it is
	case opPhi:
		return slices.ContainsFunc(v.args, func(a *value) bool { return a.find() != v && p.mayReturnAddress(a, depth-1) })
	case opResult:
		// A function made of others, or by a function of this package.
		call := v.args[0]
		if d := p.decls[call.fn]; d != nil && d.Body != nil && p.makesAddress(d.Body) {
			return true
		} else if d == nil && !slices.ContainsFunc(call.args, func(a *value) bool { return isFunc(a.typ0()) }) {
			return true
		}
		return slices.ContainsFunc(call.args, func(a *value) bool { return isFunc(a.typ0()) && p.mayReturnAddress(a, depth-1) })
	}
	return true
}

// saysAddress reports whether a summary says of a number or a string that it is an address.
func (p *pkg) saysAddress(s *Summary, sig *types.Signature) bool {
	for i, r := range s.Res {
		if i < sig.Results().Len() && (r.Tells || r.Views|r.Is != 0 && p.plain(sig.Results().At(i).Type()) && !p.isNumber(sig.Results().At(i).Type())) {
			return true
		}
	}
	return false
}

// makesAddress reports whether a call or a conversion in body makes an address that is a
// number or a string.
func (p *pkg) makesAddress(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || found {
			return !found
		}
		if p.info.Types[call.Fun].IsType() {
			found = len(call.Args) == 1 && rawType(p.typeOf(call.Args[0])) && p.plain(p.typeOf(call))
		} else if f := p.called(call); f != nil {
			found = p.saysAddress(p.summaryOf(f), f.Signature())
		}
		return !found
	})
	return found
}

// carries reports whether a value of type t may have an address in it that is a number, or
// a piece of one, or a string. An int is a size, an index or a sum.
func carries(t types.Type, depth int) bool {
	if t == nil || depth > 4 {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&(types.IsInteger|types.IsString) != 0 && t != types.Typ[types.Int] || u.Kind() == types.UnsafePointer
	case *types.Struct:
		for i := range u.NumFields() {
			if carries(u.Field(i).Type(), depth+1) {
				return true
			}
		}
		return false
	case *types.Array:
		return carries(u.Elem(), depth+1)
	}
	return true
}

// encodes reports whether f writes numbers where they can be read again: as bytes, or in
// a variable.
func encodes(f *types.Func) bool {
	return f != nil && f.Pkg() != nil && (f.Pkg().Path() == "encoding/binary" || f.Pkg().Path() == "sync/atomic")
}

// numbers notes in s what the function does with the numbers and strings in its
// parameter v, if one of them is an address.
func (f *fn) numbers(v *value, s *Summary) {
	if !carries(v.typ0(), 0) {
		return
	}
	e := &s.Args[v.index]
	seen := map[*value]bool{v: true}
	open := []*value{v}
	reach := func(u *value) {
		if !seen[u] && carries(u.typ0(), 0) {
			seen[u] = true
			open = append(open, u)
		}
	}
	for len(open) > 0 && !e.Keeps {
		x := open[len(open)-1]
		open = open[:len(open)-1]
		for _, u := range x.users {
			switch u.op {
			case opSet:
				e.Keeps = e.Keeps || u.place.root.exposed != ""
			case opElem:
				reach(u)
				e.Keeps = e.Keeps || len(u.args) > 1 && u.args[1] == x // copy
			case opCopy, opPure, opPart, opPhi, opPack, opAppend, opAddr, opRecv:
				reach(u)
			case opUse:
				e.Keeps = e.Keeps || u.note.Kind == report.NumberKey
			case opCmp, opNot, opDiscard, opGap, opHold, opLoopFree, opResult, opOut:
			case opStore:
				e.Keeps = e.Keeps || u.args[0] == x
			case opReturn:
				for i, a := range u.args {
					if a == x && v.index < 64 {
						s.Res[i].Shows |= 1 << v.index
					}
				}
			case opCall, opDefer:
				e.Keeps = e.Keeps || u.call.goes || f.passes(x, u, reach)
			default:
				e.Keeps = true
			}
		}
	}
}

// passes reports whether call u keeps a number or string in its operand x, and calls
// reach for each result that may have it.
func (f *fn) passes(x, u *value, reach func(*value)) bool {
	ci := u.call
	for j, a := range u.args {
		if a != x {
			continue
		}
		pi := ci.params[j]
		if pi == -2 { // a function: what it returns may be an address
			if !isFunc(x.typ0()) {
				return true
			}
			for _, r := range ci.results {
				reach(r)
			}
			continue
		}
		e := ci.sum.arg(pi)
		if e.Keeps || e.Escapes.K != Never || encodes(u.fn) {
			return true
		}
		for i, r := range ci.results {
			if i < len(ci.sum.Res) {
				re := ci.sum.Res[i]
				if u.operandIs(j, re.Is|re.Views|re.Shows) {
					reach(r)
				}
			}
		}
	}
	return false
}
