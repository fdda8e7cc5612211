package ir

import (
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// SteadyIndexes reports whether no element of a variable is sliced, or set by an index that is
// not constant: then each is a part.
func SteadyIndexes(addr ssa.Value) bool {
	for _, i := range *addr.Referrers() {
		switch i := i.(type) {
		case *ssa.Slice:
			return false
		case *ssa.FieldAddr:
			if !SteadyIndexes(i) {
				return false
			}
		case *ssa.IndexAddr:
			if i.X != addr {
				continue
			}
			if _, ok := i.Index.(*ssa.Const); !ok {
				for _, u := range *i.Referrers() {
					if l, ok := u.(*ssa.UnOp); !ok || l.Op != token.MUL {
						return false
					}
				}
			} else if !SteadyIndexes(i) {
				return false
			}
		}
	}
	return true
}
