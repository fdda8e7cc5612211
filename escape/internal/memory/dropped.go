package memory

import (
	"fmt"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// A Dropped is one of several results of a call that nobody takes. The text may give it a name.
type Dropped struct {
	Call *ssa.Call
	N    int
}

// Name returns a name that no register has.
func (d *Dropped) Name() string                  { return fmt.Sprintf("%s#%d", d.Call.Name(), d.N) }
func (d *Dropped) String() string                { return d.Name() }
func (d *Dropped) Type() types.Type              { return d.Call.Call.Signature().Results().At(d.N).Type() }
func (d *Dropped) Parent() *ssa.Function         { return d.Call.Parent() }
func (d *Dropped) Referrers() *[]ssa.Instruction { return &[]ssa.Instruction{} }
func (d *Dropped) Pos() token.Pos                { return d.Call.Pos() }
