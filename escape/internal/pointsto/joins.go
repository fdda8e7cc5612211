package pointsto

import (
	"go/token"
	"go/types"
	"slices"

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
			if !f.in.IR.OnlyDone(i, group) {
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

// starts returns the call that an instruction starts a goroutine with, and what runs in the
// group that waits for it; nil if it starts none, or none that anybody is known to wait for.
func (f *Func) starts(i ssa.Instruction) (*ssa.CallCommon, *Running) {
	switch i := i.(type) {
	case *ssa.Go:
		if done := f.in.IR.FirstDone(i); done != nil {
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

// started lists what starting a goroutine that is joined does to an operand that it reads; ok is
// false if it does anything else, or is not joined.
func (f *Func) started(i ssa.Instruction, of ssa.Value) (out []Act, ok bool) {
	c, r := f.starts(i)
	if r == nil {
		return nil, false
	}
	out = f.call(i, c, of)
	for k := range out {
		if out[k].Op != Read {
			return nil, false
		}
		out[k].Op, out[k].To = Await, r
	}
	return out, len(out) > 0 && f.joined(i, r, of)
}

// joined reports whether all that can run behind an instruction waits for a group before the
// function ends or panics, and v is not set before.
func (f *Func) joined(i ssa.Instruction, r *Running, v ssa.Value) bool {
	type point struct{ node, at int }
	n, at, _ := f.Graph.Where(i)
	open, seen := []point{{n, at + 1}}, map[int]bool{}
	for len(open) > 0 {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		waits := false
		for _, j := range f.Graph.Nodes[p.node].Instrs[p.at:] {
			if waits = slices.Contains(r.Waits, j); waits {
				break
			}
			if f.Gives(j, v) {
				return false
			}
		}
		if waits {
			continue
		}
		if len(f.Graph.Succs[p.node]) == 0 || p.node == f.Graph.Panic {
			return false
		}
		for _, s := range f.Graph.Succs[p.node] {
			if !seen[s] {
				seen[s] = true
				open = append(open, point{s, 0})
			}
		}
	}
	return true
}
