package ir

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// This file is about groups that wait for goroutines: sync.WaitGroup and errgroup.Group.

// GroupCall returns what a call of a group's method is, and the group; "" if it is none.
func GroupCall(c *ssa.CallCommon) (name string, group ssa.Value) {
	callee := c.StaticCallee()
	if callee == nil || len(c.Args) == 0 {
		return "", nil
	}
	fn, ok := callee.Object().(*types.Func)
	if !ok || fn.Pkg() == nil || fn.Pkg().Path() != "sync" && fn.Pkg().Path() != "golang.org/x/sync/errgroup" {
		return "", nil
	}
	switch fn.FullName() {
	case "(*sync.WaitGroup)." + fn.Name(), "(*golang.org/x/sync/errgroup.Group)." + fn.Name():
		return fn.Name(), c.Args[0]
	}
	return "", nil
}

// Added returns what is added to a group by a call of its Add; 0 if that is not known.
func Added(i *ssa.Call) int64 {
	if name, _ := GroupCall(&i.Call); name == "Add" {
		if c, ok := i.Call.Args[1].(*ssa.Const); ok {
			return max(c.Int64(), 0)
		}
	}
	return 0
}

// OnlyDone reports whether a literal does nothing with a group but say Done when all else in it
// has run, in goroutines that the group counts. If one were not counted, the group would wait for
// one less.
func (p *Package) OnlyDone(m *ssa.MakeClosure, group ssa.Value) bool {
	for k, b := range m.Bindings {
		if b == group && len(*m.Fn.(*ssa.Function).FreeVars[k].Referrers()) != 1 {
			return false
		}
	}
	for _, i := range *m.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.Go:
			if p.FirstDone(i) != group || !p.Counted(i, group) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// Counted reports whether a group counts a goroutine before it is started: by an Add in front of
// it, in its block, that is of none of those in between.
func (p *Package) Counted(g *ssa.Go, group ssa.Value) bool {
	n := int64(0)
	for _, i := range g.Block().Instrs {
		switch i := i.(type) {
		case *ssa.Go:
			if i == g {
				return n > 0
			}
			if p.FirstDone(i) == group {
				n--
			}
		case *ssa.Call:
			if _, of := GroupCall(&i.Call); of == group {
				n += Added(i)
			}
		}
	}
	return false
}

// FirstDone returns the group that a goroutine says Done to when all else in it has run: by the
// call that it defers before it does anything else.
func (p *Package) FirstDone(g *ssa.Go) ssa.Value {
	m, ok := g.Call.Value.(*ssa.MakeClosure)
	if !ok {
		return nil
	}
	fn := m.Fn.(*ssa.Function)
	if len(fn.Blocks) == 0 {
		return nil
	}
	for _, i := range fn.Blocks[0].Instrs {
		if d, ok := i.(*ssa.Defer); ok {
			if name, g := GroupCall(&d.Call); name == "Done" {
				if k := slices.IndexFunc(fn.FreeVars, func(v *ssa.FreeVar) bool { return v == g }); k >= 0 {
					return m.Bindings[k]
				}
			}
			return nil
		}
		if !Quiet(i) && !p.Marks(i) {
			return nil
		}
	}
	return nil
}
