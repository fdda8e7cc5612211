package vars

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Fixed reports whether v gets a value where it is declared, or is a parameter, and holds that
// for good: it is not assigned, and nobody has its address. A loop's variable is not fixed.
func (x *Index) Fixed(v *types.Var) bool {
	s := x.of(v)
	return s.defined == 1 && s.assigned == 0 && !s.addressed && !s.header
}

// Once reports whether v, which is no parameter, gets its value in one place, where it is declared
// or behind that, and nobody has its address. In a loop, that place may be passed again.
func (x *Index) Once(v *types.Var) bool {
	s := x.of(v)
	return s.defined+s.assigned == 1 && !s.param && !s.addressed
}

// Changes reports whether a literal that captures v may assign it, or somebody who has its address.
func (x *Index) Changes(v *types.Var) bool {
	s := x.of(v)
	return s.captured && s.assigned > 0 || s.addressed
}

// Shared reports whether a literal captures v or somebody has its address: a call may change it, or read it.
func (x *Index) Shared(v *types.Var) bool {
	s := x.of(v)
	return s.captured || s.addressed
}

// Header reports whether the head of a loop declares v, so that what one iteration captures may be
// assigned by the next. Since Go 1.22 each iteration has its own; that of a loop with three clauses
// starts as a copy of the one before, and is assigned by the last clause.
func (x *Index) Header(v *types.Var) bool { return x.of(v).header }

// Elements reports whether the array v, which body declares, is used in no other way than v[CONSTANT],
// len(v), range v, and assignment of a literal that lists its elements. The address of an element may
// be moved along the array, so that is another way.
func (x *Index) Elements(v *types.Var, body ast.Node) bool {
	if v.IsField() || !within(body, v.Pos()) {
		return false
	}
	s := x.of(v)
	return s.elements.ask(body, func() bool { return x.findElements(s) })
}

func (x *Index) findElements(s *variable) bool {
	declared := false
	for _, i := range s.at {
		switch u := &x.uses[i]; {
		case u.Const:
			if u.Op == Addr && u.Steps == 1 {
				return false
			}
		case u.Steps > 0:
			return false
		case u.Op == Declare && u.Tok != token.FUNC:
			declared = true
		case u.Op == Define && u.Value != nil && x.lists(u.Value):
			declared = true
		case u.Op == Assign && u.Value != nil && x.lists(u.Value):
		case u.Op == Over, u.Op == Len:
		default:
			return false
		}
	}
	return declared
}

// lists reports whether e is an array literal without keys.
func (x *Index) lists(e ast.Expr) bool {
	lit, ok := ast.Unparen(e).(*ast.CompositeLit)
	if !ok {
		return false
	}
	if _, ok := underlying(x.info.TypeOf(lit)).(*types.Array); !ok {
		return false
	}
	for _, el := range lit.Elts {
		if _, keyed := el.(*ast.KeyValueExpr); keyed {
			return false
		}
	}
	return true
}

// Assigns reports whether v, or an element of it, is assigned or has its address taken in n.
func (x *Index) Assigns(n ast.Node, v *types.Var) bool {
	for _, i := range x.usesOf(v, n) {
		if u := &x.uses[i]; (u.Op == Assign || u.Op == Addr) && u.Steps <= 1 && u.Part&(Field|Star) == 0 {
			return true
		}
	}
	return false
}

// AssignsOuter reports whether lit assigns a variable from outside, or takes the address of one. What
// is assigned through a pointer may be one.
func (x *Index) AssignsOuter(lit *ast.FuncLit) bool {
	for _, u := range x.In(lit.Body) {
		if (u.Op == Assign || u.Op == Addr) && (u.Part&Star != 0 || u.Var != nil && !within(lit, u.Var.Pos())) {
			return true
		}
	}
	return false
}

// Outer lists the variables from outside that lit mentions, in the order in which it does.
func (x *Index) Outer(lit *ast.FuncLit) []*types.Var {
	var out []*types.Var
	seen := map[*types.Var]bool{}
	for _, u := range x.In(lit.Body) {
		if u.Var != nil && !seen[u.Var] && !within(lit, u.Var.Pos()) {
			seen[u.Var] = true
			out = append(out, u.Var)
		}
	}
	return out
}

// Reads calls do for each use of v in n that is more than "v = x", as long as it returns true.
func (x *Index) Reads(v *types.Var, n ast.Node, do func(id ast.Expr) bool) {
	for _, i := range x.usesOf(v, n) {
		if u := &x.uses[i]; u.reads() && !do(u.ID) {
			return
		}
	}
}

// reads reports whether a use is more than a declaration or "v = x".
func (u *Use) reads() bool {
	switch u.Op {
	case Declare, Define:
		return false
	case Assign:
		return u.Tok != token.ASSIGN || u.Steps > 0
	}
	return true
}

// ReadIn lists the variables of which n has a use that is more than "v = x".
func (x *Index) ReadIn(n ast.Node) []*types.Var {
	var out []*types.Var
	seen := map[*types.Var]bool{}
	for _, u := range x.In(n) {
		if u.Var != nil && !seen[u.Var] && u.reads() {
			seen[u.Var] = true
			out = append(out, u.Var)
		}
	}
	return out
}
