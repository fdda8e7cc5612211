package memory

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/groups"
)

// This file is about goroutines that are joined: those that a sync.WaitGroup or errgroup.Group
// of this function waits for, on every path. What they read is in use until then.

// A Running is what the goroutines of one group have been given. It is read where the group is
// waited for, and nothing behind that.
type Running struct {
	Group ssa.Value // or what it is a field of
	Waits []ssa.Instruction
}

func (r *Running) Name() string                  { return "running in " + r.Group.Name() }
func (r *Running) String() string                { return r.Name() }
func (r *Running) Type() types.Type              { return types.Typ[types.Invalid] }
func (r *Running) Parent() *ssa.Function         { return r.Group.Parent() }
func (r *Running) Referrers() *[]ssa.Instruction { return nil }
func (r *Running) Pos() token.Pos                { return r.Group.Pos() }

// running returns what runs in a group that is made here, and of which all is known that is done with it;
// nil if that is not so.
func (f *Func) running(g groups.Group) *Running {
	r, ok := f.groups[g]
	if ok {
		return r
	}
	made := false
	switch base := g.Base.(type) {
	case *ssa.Alloc:
		made = true
	case *ssa.Extract:
		c, ok := base.Tuple.(*ssa.Call)
		made = ok && calls.Called(&c.Call) != nil &&
			calls.Called(&c.Call).FullName() == "golang.org/x/sync/errgroup.WithContext"
	}
	if made {
		if waits, known := f.Joins().Waits(g); known {
			r = &Running{g.Base, waits}
		}
	}
	f.groups[g] = r
	return r
}

// Joins finds what is done with groups.
func (f *Func) Joins() *groups.Finder { return &groups.Finder{IR: f.In.IR, Does: f.In.Effect} }

// Starts returns the call that an instruction starts a goroutine with, and what runs in the
// group that waits for it; nil if it starts none, or none that anybody is known to wait for.
func (f *Func) Starts(i ssa.Instruction) (*ssa.CallCommon, *Running) {
	c, g, ok := f.Joins().Starts(i)
	if !ok {
		return nil, nil
	}
	return c, f.running(g)
}
