package ir

import (
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// Chosen returns the value that says that a select has chosen a state; nil if nobody asks.
func Chosen(s *ssa.Select, state int) ssa.Value {
	for _, i := range *s.Referrers() {
		index, ok := i.(*ssa.Extract)
		if !ok || index.Index != 0 {
			continue
		}
		for _, i := range *index.Referrers() {
			if b, ok := i.(*ssa.BinOp); ok && b.Op == token.EQL {
				if c, ok := b.Y.(*ssa.Const); ok && c.Int64() == int64(state) {
					return b
				}
			}
		}
	}
	return nil
}
