package escape

// Searches along the control flow.

import (
	"cmp"
	"slices"
)

// A turn is what a search makes of an instruction.
type turn uint8

const (
	goOn  turn = iota
	leave      // this path leads nowhere
	found      // the search is over
)

// search looks at each instruction that can be reached from instruction i of b, once,
// and reports whether one of them was found.
func search(b *block, i int, look func(v *value) turn) bool {
	seen := map[*block]bool{}
	type item struct {
		b *block
		i int
	}
	stack := []item{{b, i}}
next:
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, v := range it.b.instrs[it.i:] {
			switch look(v) {
			case found:
				return true
			case leave:
				continue next
			}
		}
		for _, s := range it.b.succs {
			if !seen[s] {
				seen[s] = true
				stack = append(stack, item{s, 0})
			}
		}
	}
	return false
}

// ahead and back are the ways on which spread goes on from a block.
func ahead(b *block) []*block { return b.succs }
func back(b *block) []*block  { return b.preds }

// spread returns the blocks that ways lead to from those in from, these included, and that
// do not go through without.
func spread(ways func(*block) []*block, without *block, from ...*block) map[*block]bool {
	seen := map[*block]bool{}
	stack := slices.Clone(from)
	for len(stack) > 0 {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[b] || b == without {
			continue
		}
		seen[b] = true
		stack = append(stack, ways(b)...)
	}
	return seen
}

// A finder answers again and again what search would say: whether, from a point behind
// a definition, one of some instructions is found before a path is left. It walks ahead
// from the definition and back from what there is to find, by turns, until one of the
// walks has an end: what matters lies in both, and each may be the whole function.
type finder struct {
	look    func(v *value) turn
	stops   map[*block][]stop // where look says found or leave, ascending
	known   map[*block]bool   // blocks that a path from the definition gets to
	reaches map[*block]bool   // blocks from whose beginning something is found: of all, or of the known
	all     bool
}

type stop struct {
	at    int
	found bool
}

// newFinder makes a finder for what comes behind def; look says leave or found at the
// instructions in at only.
func newFinder(def *value, at []*value, look func(v *value) turn) *finder {
	f := &finder{look: look, stops: map[*block][]stop{}, known: map[*block]bool{}, reaches: map[*block]bool{}}
	for _, v := range at {
		if t := look(v); t != goOn && v.blk != nil {
			f.stops[v.blk] = append(f.stops[v.blk], stop{v.at, t == found})
		}
	}
	var ahead, back []*block
	for b, s := range f.stops {
		slices.SortFunc(s, func(a, b stop) int { return cmp.Compare(a.at, b.at) })
		f.stops[b] = slices.Compact(s)
		if s[0].found {
			f.reaches[b] = true
			back = append(back, b)
		}
	}
	enter := func(b *block, i int) {
		if _, ok := f.first(b, i); ok {
			return
		}
		for _, s := range b.succs {
			if !f.known[s] {
				f.known[s] = true
				ahead = append(ahead, s)
			}
		}
	}
	pop := func(stack *[]*block) *block {
		last := len(*stack) - 1
		b := (*stack)[last]
		*stack = (*stack)[:last]
		return b
	}
	enter(def.blk, def.at+1)
	for len(back) > 0 {
		b := pop(&back)
		if len(ahead) > 0 {
			enter(pop(&ahead), 0)
		} else if !f.known[b] {
			continue // no path from the definition leads there
		}
		for _, p := range b.preds {
			if !f.reaches[p] && len(f.stops[p]) == 0 {
				f.reaches[p] = true
				back = append(back, p)
			}
		}
	}
	f.all = len(ahead) > 0
	return f
}

// first returns what the first stop in b from instruction i on is, if there is one.
func (f *finder) first(b *block, i int) (hit, ok bool) {
	s := f.stops[b]
	k, _ := slices.BinarySearchFunc(s, i, func(s stop, i int) int { return cmp.Compare(s.at, i) })
	if k == len(s) {
		return false, false
	}
	return s[k].found, true
}

// from reports whether something is found from instruction i of b on.
func (f *finder) from(b *block, i int) bool {
	if hit, ok := f.first(b, i); ok {
		return hit
	}
	for _, s := range b.succs {
		if !f.all && !f.known[s] {
			return search(b, i, f.look) // not behind the definition
		}
		if f.reaches[s] {
			return true
		}
	}
	return false
}
