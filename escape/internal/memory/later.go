package memory

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

// Given returns what a deferred call has been given.
func (f *Func) Given(d *ssa.Defer) *Deferred {
	if f.deferreds[d] == nil {
		f.deferreds[d] = &Deferred{d, len(f.deferreds)}
	}
	return f.deferreds[d]
}
