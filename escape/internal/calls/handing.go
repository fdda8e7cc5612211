package calls

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
)

// handing returns what a function that a call returned hands to the one that it is called with.
func (t *Table) handing(v ssa.Value) effect.Hands {
	n := 0
	for {
		switch x := v.(type) {
		case *ssa.ChangeType:
			v = x.X
			continue
		case *ssa.Extract:
			v, n = x.Tuple, x.Index
			continue
		case *ssa.Call:
			if s := t.Of(&x.Call); n < len(s.Results) {
				return s.Results[n].Hands
			}
		}
		return effect.Hands{}
	}
}
