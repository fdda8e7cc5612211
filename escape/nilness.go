package escape

// What a body does with a parameter that is nil, and with finalizers.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// toleratesNil reports whether f does nothing with parameter v, a pointer, that
// goes wrong when it is nil: on the paths on which it is, nothing is read or
// stored through it, it goes only to functions that tolerate nil as well, and f returns.
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
		if b.noreturn {
			return false
		}
		for _, x := range b.instrs {
			if x.op == opPanic {
				return false
			}
			if x.op == opUse && x.note.Kind == report.Looked {
				continue
			}
			for j, a := range x.args {
				if origin(a) != v {
					continue
				}
				switch x.op {
				case opCopy:
					if x.note.Kind == report.Pointee {
						return false
					}
				case opCmp:
					if handedOn(x, map[*value]bool{}) {
						return false // perhaps to something that insists
					}
				case opSet, opNot, opDiscard, opReturn, opGap:
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
			if x, ok := nilTest(b.cond); ok && saysNil(x) && origin(x) == v {
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

// onlyLooks reports whether f compares parameter v, or its fields, and does nothing
// else with it.
func (p *pkg) onlyLooks(f *fn, v *value) bool {
	ours := map[*value]bool{v: true}
	looked := false
	for grew := true; grew; {
		grew = false
		for _, b := range f.rpo {
			for _, x := range b.instrs {
				for _, a := range x.args {
					if !ours[origin(a)] && !ours[a] {
						continue
					}
					switch x.op {
					case opCmp:
						looked = true
					case opGap, opDiscard:
					case opUse:
						if x.note.Kind != report.Looked {
							return false
						}
					case opSet:
						if x.place.root.exposed != "" {
							return false
						}
					case opCopy, opPart:
						if !ours[x] {
							ours[x] = true
							grew = true
						}
					default:
						return false
					}
				}
			}
		}
	}
	return looked
}

// handedOn reports whether the boolean x is an operand of a call.
func handedOn(x *value, seen map[*value]bool) bool {
	if seen[x] {
		return false
	}
	seen[x] = true
	return slices.ContainsFunc(x.users, func(u *value) bool {
		switch u.op {
		case opSet, opDiscard, opReturn, opGap:
			return false
		case opCmp, opNot, opCopy, opPhi:
			return handedOn(u, seen)
		}
		return true
	})
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
