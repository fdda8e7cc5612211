package ir

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// A Kind says what a statement inserted at a place needs around it.
type Kind uint8

const (
	InList  Kind = iota // nothing: it joins a list of statements
	Else                // an else, which is not written
	ElseIf              // a block between else and if
	Default             // a default, which is not written
)

func (k Kind) String() string { return [...]string{"list", "else", "elseif", "default"}[k] }

// A Place is where a statement may be inserted.
type Place struct {
	N    int // its number in the package
	Kind Kind
	Pos  token.Pos // the statement goes in front of this
	Node ast.Node  // of the pass: the block or clause, or the if or switch without that branch

	Block *ssa.BasicBlock // nil: no path leads here
	Call  *ssa.Call       // gap.place, nil where Block is
	Marks []Mark
}

// A Mark says what a variable holds at a place.
type Mark struct {
	Var  *types.Var
	Call *ssa.Call
	Need bool // it may hold something else than at the mark before; false only if Input.All
}

// Held returns the value of the variable, and whether that is a load of its cell.
func (m Mark) Held() (v ssa.Value, cell bool) {
	v = m.Call.Call.Args[1]
	if u, ok := v.(*ssa.UnOp); ok && u.Op == token.MUL && u.Pos() == token.NoPos && len(*u.Referrers()) == 1 {
		switch u.X.(type) {
		case *ssa.Alloc, *ssa.FreeVar:
			return u.X, true
		case *ssa.Phi: // the cell of a loop's variable, another one in each turn
			return u.X, true
		}
	}
	return v, false
}

// Value returns what v holds at a place, or the cell that it is: as at the nearest mark
// that dominates the place. It returns nil where the scope of v has not begun.
func (p *Package) Value(at *Place, v *types.Var) (held ssa.Value, cell bool) {
	var best *Mark
	for _, q := range p.marked[v] {
		if at.Block == nil || q.Block == nil || q != at && !before(q.Call, at.Call) {
			continue
		}
		for i := range q.Marks {
			m := &q.Marks[i]
			if m.Need && m.Var == v && (best == nil || before(best.Call, m.Call)) {
				best = m
			}
		}
	}
	if best == nil {
		return nil, false
	}
	return best.Held()
}

// before reports whether every path to b passes a first.
func before(a, b *ssa.Call) bool {
	if a.Block() != b.Block() {
		return a.Parent() == b.Parent() && a.Block().Dominates(b.Block())
	}
	for _, i := range a.Block().Instrs {
		if i == a {
			return a != b
		}
		if i == b {
			return false
		}
	}
	return false
}
