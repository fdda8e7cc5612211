package memory

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about goroutines that are joined: those that a sync.WaitGroup or errgroup.Group
// of this function waits for, on every path. What they read is in use until then.

// A Running is what the goroutines of one group have been given. It is read where the group is
// waited for, and nothing behind that.
type Running struct {
	Group ssa.Value
	Waits []ssa.Instruction
}

func (r *Running) Name() string                  { return "running in " + r.Group.Name() }
func (r *Running) String() string                { return r.Name() }
func (r *Running) Type() types.Type              { return types.Typ[types.Invalid] }
func (r *Running) Parent() *ssa.Function         { return r.Group.Parent() }
func (r *Running) Referrers() *[]ssa.Instruction { return nil }
func (r *Running) Pos() token.Pos                { return r.Group.Pos() }

// running returns what runs in a group that is made here, and that nobody else gets at but
// goroutines that say Done; nil if that is not so.
func (f *Func) running(group ssa.Value) *Running {
	if r, ok := f.groups[group]; ok {
		return r
	}
	f.groups[group] = nil
	switch g := group.(type) {
	case *ssa.Alloc:
	case *ssa.Extract:
		if c, ok := g.Tuple.(*ssa.Call); !ok || calls.Called(&c.Call) == nil ||
			calls.Called(&c.Call).FullName() != "golang.org/x/sync/errgroup.WithContext" {
			return nil
		}
	default:
		return nil
	}
	r := &Running{Group: group}
	for _, i := range *group.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.MakeClosure:
			if !f.In.IR.OnlyDone(i, group) {
				return nil
			}
		case *ssa.Call:
			switch name, g := ir.GroupCall(&i.Call); {
			case g != group:
				return nil
			case name == "Wait":
				r.Waits = append(r.Waits, i)
			case name != "Go" && name != "SetLimit" && ir.Added(i) == 0:
				return nil
			}
		default:
			return nil
		}
	}
	f.groups[group] = r
	return r
}

// Starts returns the call that an instruction starts a goroutine with, and what runs in the
// group that waits for it; nil if it starts none, or none that anybody is known to wait for.
func (f *Func) Starts(i ssa.Instruction) (*ssa.CallCommon, *Running) {
	switch i := i.(type) {
	case *ssa.Go:
		if done := f.In.IR.FirstDone(i); done != nil {
			return &i.Call, f.running(done)
		}
	case *ssa.Call:
		if name, g := ir.GroupCall(&i.Call); name == "Go" {
			if m, ok := i.Call.Args[1].(*ssa.MakeClosure); ok {
				return &ssa.CallCommon{Value: m}, f.running(g)
			}
		}
	}
	return nil, nil
}
