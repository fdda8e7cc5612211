package escape

// A second try. Where the proof does not accept a plan since it knows less than the planner, of
// flags, of nil, or of how often a function calls a literal, the buffer is planned once more without
// that, and freed later, or behind a test.

import (
	"slices"

	"github.com/lastuse/lastuse/escape/internal/proof"
)

type caution uint8

const (
	// no free stands in a literal inside its buffer's function, and no flag is known
	outside  caution = 1 << iota
	maybeNil         // what may be nil by its type is tested
)

// cautionFor is what might help where a plan is withheld for this reason.
func cautionFor(why *proof.Reason) caution {
	if why.Nil {
		return maybeNil
	}
	switch why.Rule {
	case proof.Readable, proof.Dead, proof.Deferred:
		return outside
	}
	return 0
}

// captures reports whether gap v stands in a literal around which o was made.
func (o *object) captures(v *value) bool {
	for _, lit := range v.gap.inner {
		if o.def.pos < lit.Pos() || o.def.pos >= lit.End() {
			return true
		}
	}
	return false
}

// gapFor returns the first gap of b from its i-th on, before end, at which a free of o may stand
// under the group's caution; first, which is that gap, without any.
func (pl *planner) gapFor(o *object, b *block, first, end int) int {
	if pl.g.caution&outside == 0 || first < 0 {
		return first
	}
	i, _ := slices.BinarySearch(b.gaps, first)
	for ; i < len(b.gaps) && b.gaps[i] < end; i++ {
		if !o.captures(b.instrs[b.gaps[i]]) {
			return b.gaps[i]
		}
	}
	return -1
}

// knows reports whether the condition of b counts: not those of deferred code where flags are
// not known.
func (g *group) knows(b *block) bool {
	return g.caution&outside == 0 || !slices.ContainsFunc(b.succs, func(s *block) bool {
		return slices.ContainsFunc(s.instrs, func(v *value) bool { return v.deferred != nil })
	})
}
