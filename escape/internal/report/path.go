package report

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// A Step is a station on the way of a buffer from where it is made to the act by which it leaves.
type Step struct {
	Pos  token.Pos
	Text string
}

// mostSteps bounds the stations that are told, and mostValues what is looked at for them.
const (
	mostSteps  = 20
	mostValues = 2000
)

// path returns the stations of what a site makes on the shortest way to a value.
func (w *Reasons) path(f *pointsto.Func, s *pointsto.Site, to ssa.Value) []Step {
	type made struct {
		of ssa.Value
		by ssa.Instruction // nil: it is the same
	}
	from := map[ssa.Value]made{s.Value: {}}
	add := func(v, of ssa.Value, by ssa.Instruction) ssa.Value {
		if _, seen := from[v]; seen || v == nil || !f.May(v, s) {
			return nil
		}
		from[v] = made{of, by}
		return v
	}
	for open := []ssa.Value{s.Value}; len(open) > 0 && len(from) < mostValues; open = open[1:] {
		if _, done := from[to]; done {
			break
		}
		v := open[0]
		for _, m := range f.Formers(v) {
			if n := add(m, v, nil); n != nil {
				open = append(open, n)
			}
		}
		for _, i := range f.Users(v) {
			for _, a := range f.Acts(i, v) {
				if n := add(a.To, v, i); n != nil {
					open = append(open, n)
				}
			}
		}
	}
	var out []Step
	for v := to; v != s.Value && v != nil && len(out) < mostSteps; v = from[v].of {
		by := from[v].by
		if by == nil {
			continue
		}
		if text := step(f, by, v); text != "" && position(by).IsValid() {
			out = append(out, Step{position(by), text})
		}
	}
	slices.Reverse(out)
	return out
}

// step returns the words for how an instruction makes a value of a buffer; "" if that is not said.
func step(f *pointsto.Func, by ssa.Instruction, to ssa.Value) string {
	switch i := by.(type) {
	case *ssa.FieldAddr:
		return Note{Kind: Field, Name: fieldName(i.X, i.Field)}.Step()
	case *ssa.Field:
		return Note{Kind: Field, Name: fieldName(i.X, i.Field)}.Step()
	case *ssa.Slice:
		return Note{Kind: Slice}.Step()
	case *ssa.Index, *ssa.IndexAddr, *ssa.Lookup, *ssa.Next:
		return Note{Kind: Element}.Step()
	case *ssa.MakeClosure:
		if m := calls.Method(i.Fn.(*ssa.Function)); m != nil {
			return "bound to the method value " + FuncName(m, f.SSA.Pkg.Pkg)
		}
		return "captured by a function literal"
	case *ssa.Store:
		switch memory.Pointee(memory.RootOf(to).Type()).Underlying().(type) {
		case *types.Struct, *types.Array:
			return "put into " + strings.TrimPrefix(typeName(memory.RootOf(to)), "*")
		}
	case *ssa.MapUpdate:
		return "put into " + typeName(i.Map)
	case *ssa.Call:
		if b, ok := i.Call.Value.(*ssa.Builtin); ok {
			if b.Name() == "append" {
				return "appended to a slice"
			}
			return ""
		}
		return "the result of " + calleeName(f, &i.Call) + " leads to it"
	}
	return ""
}
