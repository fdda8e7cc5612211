package groups

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about goroutines that are started for a group.

// Starts returns the call that an instruction starts a goroutine with, and the group that counts it; false:
// it starts none, or none that a group counts.
func (f *Finder) Starts(i ssa.Instruction) (*ssa.CallCommon, Group, bool) {
	switch i := i.(type) {
	case *ssa.Go:
		if done := f.firstDone(i); done.Base != nil {
			return &i.Call, done, true
		}
	case *ssa.Call:
		if name, g := Call(&i.Call); name == "Go" {
			if m, ok := i.Call.Args[1].(*ssa.MakeClosure); ok {
				return &ssa.CallCommon{Value: m}, g, true
			}
		}
	}
	return nil, Group{}, false
}

// added returns what is added to a group by a call of its Add; 0 if that is not known.
func added(i *ssa.Call) int64 {
	if name, _ := Call(&i.Call); name == "Add" {
		if c, ok := i.Call.Args[1].(*ssa.Const); ok {
			return max(c.Int64(), 0)
		}
	}
	return 0
}

// onlyDone reports whether a literal does nothing with a group but say Done when all else in it
// has run, in goroutines that the group counts. If one were not counted, the group would wait for
// one less.
func (f *Finder) onlyDone(m *ssa.MakeClosure, g Group) bool {
	for k, b := range m.Bindings {
		if b == g.Base && len(users(m.Fn.(*ssa.Function).FreeVars[k], g.Path)) != 1 {
			return false
		}
	}
	for _, i := range *m.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.Go:
			if f.firstDone(i) != g || !f.counted(i, g) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// counted reports whether a group counts a goroutine before it is started: by an Add in front of
// it, in its block, that is of none of those in between.
func (f *Finder) counted(started *ssa.Go, g Group) bool {
	n := int64(0)
	for _, i := range started.Block().Instrs {
		switch i := i.(type) {
		case *ssa.Go:
			if i == started {
				return n > 0
			}
			if f.firstDone(i) == g {
				n--
			}
		case *ssa.Call:
			if _, of := Call(&i.Call); of == g {
				n += added(i)
			}
		}
	}
	return false
}

// firstDone returns the group that a goroutine says Done to when all else in it has run: by the
// call that it defers before it does anything else.
func (f *Finder) firstDone(g *ssa.Go) Group {
	m, ok := g.Call.Value.(*ssa.MakeClosure)
	if !ok {
		return Group{}
	}
	fn := m.Fn.(*ssa.Function)
	if len(fn.Blocks) == 0 {
		return Group{}
	}
	for _, i := range fn.Blocks[0].Instrs {
		if d, ok := i.(*ssa.Defer); ok {
			name, of := Call(&d.Call)
			for k, v := range fn.FreeVars {
				if name == "Done" && of.Base == ssa.Value(v) {
					return Group{m.Bindings[k], of.Path}
				}
			}
			return Group{}
		}
		if !ir.Quiet(i) && !f.IR.Marks(i) {
			return Group{}
		}
	}
	return Group{}
}
