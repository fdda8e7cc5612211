package ir

import (
	"fmt"
	"io"

	"golang.org/x/tools/go/ssa"
)

// Print writes a function: a place as "gap N line:column kind" with what variables hold,
// *t being a cell; each other instruction as go/ssa writes it; an edge of a branch that
// is forced with the reason.
func (p *Package) Print(w io.Writer, f *ssa.Function) {
	fmt.Fprintf(w, "func %s\n", f.Name())
	for _, b := range f.Blocks {
		fmt.Fprintf(w, "%d: %s\n", b.Index, b.Comment)
		hidden := map[ssa.Instruction]bool{}
		for _, i := range b.Instrs {
			if call, v := p.mark(i); v != nil {
				if _, cell := (Mark{Call: call}).Held(); cell {
					hidden[call.Call.Args[1].(ssa.Instruction)] = true
				}
			}
		}
		line := ""
		for _, i := range b.Instrs {
			call, v := p.mark(i)
			switch {
			case hidden[i]:
				continue
			case v != nil:
				held, cell := Mark{Call: call}.Held()
				star := ""
				if cell {
					star = "*"
				}
				line += fmt.Sprintf("  %s=%s%s", v.Name(), star, held.Name())
				if p.Reads(i) {
					line += " read"
				}
				continue
			}
			if line != "" {
				fmt.Fprintln(w, line)
				line = ""
			}
			if call != nil {
				pl := p.place(call)
				pos := f.Prog.Fset.Position(pl.Pos)
				line = fmt.Sprintf("\tgap %d %d:%d %s", pl.N, pos.Line, pos.Column, pl.Kind)
				continue
			}
			fmt.Fprintf(w, "\t%s%s\n", p.text(i), p.forced(i))
		}
	}
}

func (p *Package) text(i ssa.Instruction) string {
	if v, ok := i.(ssa.Value); ok && v.Name() != "" {
		return v.Name() + " = " + i.String()
	}
	return i.String()
}

func (p *Package) forced(i ssa.Instruction) string {
	s := ""
	if _, ok := i.(*ssa.If); ok {
		for k := range i.Block().Succs {
			e := Edge{i.Block(), k}
			if why := p.Forced(e); why != "" {
				s += fmt.Sprintf("  # to %d: %s", e.To().Index, why)
			}
		}
	}
	return s
}
