package pointsto

import (
	"fmt"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// A Deferred is what a deferred call has been given, in all turns of a loop: it is read when the
// function ends, whatever its operands are by then.
type Deferred struct {
	Defer *ssa.Defer
	n     int
}

// Name returns a name that no register has.
func (d *Deferred) Name() string                  { return fmt.Sprintf("deferred%d", d.n) }
func (d *Deferred) String() string                { return d.Name() }
func (d *Deferred) Type() types.Type              { return types.Typ[types.Invalid] }
func (d *Deferred) Parent() *ssa.Function         { return d.Defer.Parent() }
func (d *Deferred) Referrers() *[]ssa.Instruction { return nil }
func (d *Deferred) Pos() token.Pos                { return d.Defer.Pos() }

// given returns what a deferred call has been given.
func (f *Func) given(d *ssa.Defer) *Deferred {
	if f.deferreds[d] == nil {
		f.deferreds[d] = &Deferred{d, len(f.deferreds)}
	}
	return f.deferreds[d]
}

// circles reports whether a block may run again.
func circles(b *ssa.BasicBlock) bool {
	seen := map[*ssa.BasicBlock]bool{}
	open := []*ssa.BasicBlock{b}
	for len(open) > 0 {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		for _, s := range at.Succs {
			if s == b {
				return true
			}
			if !seen[s] {
				seen[s] = true
				open = append(open, s)
			}
		}
	}
	return false
}
