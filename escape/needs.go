package escape

// Whether an object is still needed, backward, for each combination of conditions.

import (
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// liveness computes g.live: per object and combination, whether an event can
// be reached before the object is made again.
func (g *group) liveness() {
	g.live = map[*block][]bool{}
	for again := true; again; {
		again = false
		for i := len(g.region) - 1; i >= 0; i-- {
			b := g.region[i]
			l := g.liveOut(b)
			for k := len(g.pos[b]) - 1; k >= 0; k-- {
				g.back(b.instrs[g.pos[b][k]], l)
			}
			for j, o := range g.objs {
				if o.def.op == opPhi && o.def.blk == b {
					// Before the phi it is another object.
					for c := range g.n {
						l[j*g.n+c] = false
					}
				}
			}
			if !slices.Equal(l, g.live[b]) {
				g.live[b] = l
				again = true
			}
		}
	}
}

func (g *group) liveOut(b *block) []bool {
	l := make([]bool, len(g.objs)*g.n)
	var ends, goesOn [1 << maxBits]bool
	for i, s := range b.succs {
		k := predIndex(b, i)
		sl := g.live[s]
		for c := range g.n {
			g.edge(b, i, c, func(int) {
				ends[c] = ends[c] || s.doomed
				goesOn[c] = goesOn[c] || !s.doomed
			})
		}
		if s.doomed && sl == nil {
			continue
		}
		for j, o := range g.objs {
			t := g.takes(o, s, k)
			for c := range g.n {
				g.edge(b, i, c, func(cc int) {
					if t != nil || sl != nil && sl[j*g.n+cc] {
						l[j*g.n+c] = true
					}
				})
			}
		}
	}
	for c := range g.n {
		if ends[c] && !goesOn[c] && !b.doomed {
			// The process, or the goroutine, is sure to end, as in a test that a
			// call fails: nothing is inserted before that.
			for j := range g.objs {
				l[j*g.n+c] = true
			}
		}
	}
	return l
}

// back moves l from after instruction v to before it.
func (g *group) back(v *value, l []bool) {
	for _, o := range g.atDef[v] {
		j := g.index(o)
		for c := range g.n {
			l[j*g.n+c] = false
		}
	}
	for j, o := range g.objs {
		if evs := o.events[v]; len(evs) > 0 && !(g.eager && !slices.ContainsFunc(evs, event.waits)) {
			for c := range g.n {
				l[j*g.n+c] = l[j*g.n+c] || g.flagged(v, c)
			}
		}
	}
	for _, i := range g.bitsAt[v] {
		for j := range g.objs {
			for c := range g.n {
				if c>>i&1 == 0 {
					x := l[j*g.n+c] || l[j*g.n+(c|1<<i)]
					l[j*g.n+c], l[j*g.n+(c|1<<i)] = x, x
				}
			}
		}
	}
}

// holds reports whether the event is no more than what would happen after a panic.
func (e event) holds() bool { return e.held() != report.Nothing }

// held says what would happen there after a panic.
func (e event) held() report.Kind {
	if e.why == "" || e.at.op != opHold {
		return report.Nothing
	}
	return e.at.note.Kind
}

// Uses of a handle whose memory may be gone already.
const (
	byLook   = "only the handle is looked at"
	byHeader = "a header of its own is freed"
)

// idle reports whether the event touches no memory of the buffer.
func (e event) idle() bool { return e.why == byLook || e.why == byHeader }

// waits reports whether the event needs the buffer: freeing it once more, where
// that is harmless, does not. A function that frees its operand in the end may read it
// before; only of what is declared as the free of a type is it known that it does not.
func (e event) waits() bool {
	return e.kind != evFree && e.kind != evDefer || !e.repeat || !e.pure
}
