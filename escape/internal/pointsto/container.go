package pointsto

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/memory"
)

// This file is about what is put into slices and maps that are made here, and taken out.

// containerActs lists what an instruction does to what is in a container.
func (f *Func) containerActs(i ssa.Instruction, of *memory.Container) []Act {
	one := func(op Op, to ssa.Value) []Act { return []Act{{Instr: i, Op: op, Of: of, To: to}} }
	switch i := i.(type) {
	case *ssa.UnOp:
		return f.taken(i, i, of)
	case *ssa.Lookup:
		return f.taken(i, memory.Extract(i, 0), of)
	case *ssa.Next:
		return append(f.taken(i, memory.Extract(i, 1), of), f.taken(i, memory.Extract(i, 2), of)...)
	case *ssa.Return:
		return one(Leave, nil)
	case *ssa.Call:
		b, ok := i.Call.Value.(*ssa.Builtin)
		if !ok {
			return f.call(i, &i.Call, of)
		}
		switch to := f.Origin(i.Call.Args[0]); {
		case b.Name() == "append" && f.Container(i) == nil:
			return one(Keep, nil)
		case b.Name() == "append" && f.Origin(i) != ssa.Value(of):
			return one(Wrap, f.Origin(i))
		case b.Name() == "copy" && to != ssa.Value(of) && f.holder(to):
			return one(Wrap, to)
		case b.Name() == "copy" && to != ssa.Value(of):
			return one(Keep, nil)
		}
	}
	return one(Read, nil)
}

// holder reports whether what is put into an origin is found again only where this function
// takes it out.
func (f *Func) holder(v ssa.Value) bool {
	_, ok := v.(*memory.Container)
	return ok || (f.InMemory(v) || f.IsSlot(v)) && f.isClosed(v)
}
