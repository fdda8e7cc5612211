package ir

import (
	"go/constant"
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// This file is about ranges over all elements of a slice or a map.

// An Each is a loop that gets at each element of a slice or a map once, and that nothing leaves before its
// end but a panic.
type Each struct {
	Head  *ssa.BasicBlock
	Body  *ssa.BasicBlock   // where a turn begins
	Elems []ssa.Value       // the element of a turn, or the address of one that is taken apart
	Takes []ssa.Instruction // what takes it from the slice or map
}

// RangeOver returns the loop that an instruction begins: the length of a slice, or the range over a map; nil
// if it begins none, or one that may end early.
func RangeOver(begin ssa.Instruction) *Each {
	l := &Each{}
	var done *ssa.BasicBlock
	switch i := begin.(type) {
	case *ssa.Range:
		next := only[*ssa.Next](*i.Referrers())
		if next == nil {
			return nil
		}
		l.Head = next.Block()
		for _, r := range *next.Referrers() {
			if e, ok := r.(*ssa.Extract); ok && e.Index == 2 {
				l.Elems = append(l.Elems, e)
			}
		}
	case *ssa.Call:
		less := only[*ssa.BinOp](*i.Referrers())
		if less == nil || less.Op != token.LSS || less.Y != ssa.Value(i) {
			return nil
		}
		index, ok := less.X.(*ssa.BinOp)
		if !ok || !counts(index) || index.Block() != less.Block() {
			return nil
		}
		l.Head = less.Block()
		for _, r := range *i.Call.Args[0].Referrers() {
			at, ok := r.(*ssa.IndexAddr)
			if !ok || at.Index != ssa.Value(index) {
				continue
			}
			l.Takes = append(l.Takes, at)
			for _, u := range *at.Referrers() {
				switch u := u.(type) {
				case *ssa.UnOp:
					l.Elems = append(l.Elems, u)
				case *ssa.FieldAddr:
					l.Elems = append(l.Elems, at)
				case *ssa.DebugRef:
				default:
					return nil
				}
			}
		}
	}
	if _, ok := l.Head.Instrs[len(l.Head.Instrs)-1].(*ssa.If); !ok {
		return nil
	}
	l.Body, done = l.Head.Succs[0], l.Head.Succs[1]
	if !l.stays(done) {
		return nil
	}
	return l
}

// only returns the one instruction of a kind among those that use a value; the zero value if there is none,
// or another use.
func only[T ssa.Instruction](list []ssa.Instruction) (one T) {
	var none T
	n := 0
	for _, i := range list {
		if _, debug := i.(*ssa.DebugRef); debug {
			continue
		}
		n++
		one, _ = i.(T)
	}
	if n != 1 {
		return none
	}
	return one
}

// counts reports whether a value is one more in each turn of the loop that it is in, and zero in the first.
func counts(index *ssa.BinOp) bool {
	phi, ok := index.X.(*ssa.Phi)
	one, isConst := index.Y.(*ssa.Const)
	if !ok || !isConst || index.Op != token.ADD || !is(one, 1) || phi.Block() != index.Block() {
		return false
	}
	for _, e := range phi.Edges {
		c, isConst := e.(*ssa.Const)
		if e != ssa.Value(index) && !(isConst && is(c, -1)) {
			return false
		}
	}
	return true
}

func is(c *ssa.Const, n int64) bool {
	if c.Value == nil || c.Value.Kind() != constant.Int {
		return false
	}
	v, exact := constant.Int64Val(c.Value)
	return exact && v == n
}

// stays reports whether all ways from the body lead back to the head, or to a panic.
func (l *Each) stays(done *ssa.BasicBlock) bool {
	if len(l.Body.Preds) != 1 || l.Body == done {
		return false
	}
	seen := map[*ssa.BasicBlock]bool{}
	for open := []*ssa.BasicBlock{l.Body}; len(open) > 0; {
		b := open[len(open)-1]
		open = open[:len(open)-1]
		if b == l.Head || seen[b] {
			continue
		}
		seen[b] = true
		if b == done || !l.Body.Dominates(b) {
			return false
		}
		if len(b.Succs) == 0 {
			if _, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Panic); !ok {
				return false
			}
		}
		open = append(open, b.Succs...)
	}
	return seen[l.Body]
}
