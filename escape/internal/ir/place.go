package ir

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Kind says what a statement inserted at a place needs around it.
type Kind uint8

const (
	InList  Kind = iota // nothing: it joins a list of statements
	Else                // an else, which is not written
	ElseIf              // a block between else and if
	Default             // a default, which is not written
	Head                // names in front of a loop for what its header starts with
)

func (k Kind) String() string { return [...]string{"list", "else", "elseif", "default", "head"}[k] }

// A Place is where a statement may be inserted.
type Place struct {
	N    int // its number in the package
	Kind Kind
	Pos  token.Pos // the statement goes in front of this
	Node ast.Node  // of the pass: the block or clause, or the if or switch without that branch, or the loop

	Block *ssa.BasicBlock // nil: no path leads here
	At    ssa.Instruction // its gap.place, or the jump to the loop; nil where Block is
	Marks []Mark
}

// A Mark says what a variable holds at a place.
type Mark struct {
	Var  *types.Var
	Call *ssa.Call
	Need bool // it may hold something else than at the mark before
	Read bool // the statement behind the place reads it, of which SSA may have nothing
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
	if at.Block == nil {
		return nil, false
	}
	marks := p.marksOf(v)
	for b := at.Block; b != nil; b = b.Idom() {
		list := marks[b]
		if b == at.Block { // those at the place itself, or in front of it
			end := len(list)
			for end > 0 && p.order[list[end-1].place.At] > p.order[at.At] {
				end--
			}
			list = list[:end]
		}
		if len(list) > 0 {
			return list[len(list)-1].mark.Held()
		}
	}
	return nil, false
}

// A standing is a mark, and where it is.
type standing struct {
	place *Place
	mark  *Mark
}

// marksOf returns the marks of v by block, in order.
func (p *Package) marksOf(v *types.Var) map[*ssa.BasicBlock][]standing {
	if have, ok := p.byBlock[v]; ok {
		return have
	}
	out := map[*ssa.BasicBlock][]standing{}
	for _, q := range p.marked[v] {
		for i := range q.Marks {
			if m := &q.Marks[i]; m.Need && m.Var == v && q.Block != nil {
				out[q.Block] = append(out[q.Block], standing{q, m})
			}
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b standing) int { return p.order[a.place.At] - p.order[b.place.At] })
	}
	p.byBlock[v] = out
	return out
}

// Marks reports whether an instruction is there for places only: a mark, or the load of a
// cell for one.
func (p *Package) Marks(i ssa.Instruction) bool {
	if call, _ := p.mark(i); call != nil {
		return true
	}
	u, ok := i.(*ssa.UnOp)
	if !ok || len(*u.Referrers()) != 1 {
		return false
	}
	call, v := p.mark((*u.Referrers())[0])
	if v == nil {
		return false
	}
	_, cell := Mark{Call: call}.Held()
	return cell
}

// Reads reports whether an instruction is a mark that reads its variable, or the load of a
// cell for one.
func (p *Package) Reads(i ssa.Instruction) bool { return p.ReadAt(i) != nil }

// ReadAt returns the place in front of the statement for which an instruction is a mark that reads its
// variable, or the load of a cell for one; nil if it is none.
func (p *Package) ReadAt(i ssa.Instruction) *Place {
	if u, ok := i.(*ssa.UnOp); ok && p.Marks(i) {
		i = (*u.Referrers())[0]
	}
	call, v := p.mark(i)
	if v == nil {
		return nil
	}
	at := p.place(call)
	if !slices.ContainsFunc(at.Marks, func(m Mark) bool { return m.Var == v && m.Read }) {
		return nil
	}
	return at
}

// Names returns the variables that are marked as holding a value, or as being a cell, each
// once, in the order of their marks.
func (p *Package) Names(v ssa.Value) []*types.Var {
	var out []*types.Var
	if v.Referrers() == nil { // of the package, or a constant
		return nil
	}
	for _, i := range *v.Referrers() {
		if u, ok := i.(*ssa.UnOp); ok && p.Marks(i) { // of a cell
			i = (*u.Referrers())[0]
		}
		if _, x := p.mark(i); x != nil && !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// Held returns places in lists at which x holds v and through which each path leads to another that comes
// from where v is made, the last first: in front of what gives x something else, and where x is marked.
func (p *Package) Held(to *Place, x *types.Var, v ssa.Value) (out []*Place) {
	if to.Block == nil {
		return nil
	}
	add := func(q *Place) {
		if q == nil || q.Kind != InList || slices.Contains(out, q) {
			return
		}
		if held, cell := p.Value(q, x); held == v && !cell {
			out = append(out, q)
		}
	}
	marks := p.marksOf(x)
	end, at := to.Block, p.order[to.At]+1
	made, _ := v.(ssa.Instruction)
	for b := to.Block; b != nil && len(out) == 0; b = b.Idom() {
		for _, s := range slices.Backward(marks[b]) {
			if b == to.Block && p.order[s.place.At] > p.order[to.At] {
				continue
			}
			if held, cell := s.mark.Held(); held == v && !cell {
				add(p.lastBefore(end, at, b))
				add(s.place)
			}
			end, at = b, p.order[s.place.At]
		}
		if made != nil && b == made.Block() {
			break
		}
	}
	return out
}

// lastBefore returns the last place in front of an instruction of a block, or of one that dominates it and
// that another one dominates; nil if there is none.
func (p *Package) lastBefore(b *ssa.BasicBlock, end int, top *ssa.BasicBlock) *Place {
	for {
		if q := p.LastBefore(b, end); q != nil || b == top {
			return q
		}
		b = b.Idom()
		end = len(b.Instrs)
	}
}

// LastBefore returns the last place in a block in front of an instruction, by its index; nil if there
// is none.
func (p *Package) LastBefore(b *ssa.BasicBlock, end int) *Place {
	for _, i := range slices.Backward(b.Instrs[:end]) {
		if call, v := p.mark(i); call != nil && v == nil {
			return p.place(call)
		}
	}
	return nil
}

// Beside reports whether nothing happens between two places of one block, the first of
// which stands in front.
func (p *Package) Beside(a, b *Place) bool {
	if a.Block != b.Block || a.Block == nil {
		return false
	}
	for _, i := range a.Block.Instrs[p.order[a.At]:p.order[b.At]] {
		if !p.Marks(i) {
			return false
		}
	}
	return true
}
