package proof

// Callees that move fields: a method all of which is that fields of its receiver get what others of them had.
// For the caller that is an assignment of these fields, if they are in memory of its own.

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// A Move is a field of what an operand points to that gets what another one had.
type Move struct{ To, From string }

// moves notes in the summary of a function that it moves fields of what an operand points to, and does no
// more: it reads them, and then stores what it read.
func moves(fn *ssa.Function, s *Summary) {
	if len(fn.Blocks) != 1 || fn.Signature.Results().Len() > 0 {
		return
	}
	of, list, read := -1, []Move(nil), map[ssa.Value]string{}
	field := func(addr ssa.Value) string {
		for n, p := range fn.Params {
			_, pointer := p.Type().Underlying().(*types.Pointer)
			if path, loads := fieldOf(addr, p); pointer && loads == 0 && (of < 0 || of == n) {
				of = n
				return path
			}
		}
		return ""
	}
	for _, i := range fn.Blocks[0].Instrs {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.FieldAddr, *ssa.Return:
		case *ssa.UnOp:
			path := field(i.X)
			if path == "" || len(list) > 0 {
				return
			}
			read[i] = path
		case *ssa.Store:
			path, was := field(i.Addr), read[i.Val]
			if path == "" || was == "" {
				return
			}
			list = append(list, Move{path, was})
		default:
			return
		}
	}
	if of >= 0 {
		s.Params[of].Moves = list
	}
}

// moved reports whether all that a call does to operand n is that it moves fields: it happens where the call
// stands, in memory of the family.
func (f *family) moved(k *call, n int) bool {
	if !k.grows() || k.sum.param(n).Moves == nil {
		return false
	}
	_, own := f.memoryAt(k.args[n])
	return own
}

// move lets a call move fields of operand n.
func (f *family) move(k *call, n int) {
	at, _ := f.memoryAt(k.args[n])
	for _, m := range k.sum.param(n).Moves {
		f.copyParts(f.inside(at, m.To), f.inside(at, m.From))
	}
}

// move lets a call move fields of operand n, all at once.
func (w *walker) move(k *call, n int, s *set) *set {
	at, _ := w.f.memoryAt(k.args[n])
	was := ptr(*s)
	for _, m := range k.sum.param(n).Moves {
		from := w.f.inside(at, m.From)
		s = w.copyParts(was, s, w.f.inside(at, m.To), k.args[n], from, w.loaded(was, k.args[n], from), k.at, true)
	}
	return s
}
