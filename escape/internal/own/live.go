package own

import (
	"slices"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/flow"
	"github.com/lastuse/lastuse/escape/internal/memory"
)

// A live is the values that are needed, for each combination of conditions; nil is none.
type live []flow.Bits

func joinLives(a, b live) (live, bool) {
	out, grown := a, false
	for k, x := range b {
		if x == nil {
			continue
		}
		y := flow.NewBits(len(x) * 64)
		if a[k] != nil {
			y = a[k].Clone()
		}
		if y.Union(x) {
			if !grown {
				out, grown = slices.Clone(a), true
			}
			out[k] = y
		}
	}
	return out, grown
}

// needed returns what is needed in front of a node if l is behind it. It calls seen with
// what is needed behind each instruction that has events, the last first.
func (g *Group) needed(n int, l live, seen func(at int, l live)) live {
	list := g.events[n]
	if len(list) == 0 {
		return l
	}
	l = slices.Clone(l)
	for k := len(list) - 1; k >= 0; k-- {
		e := list[k]
		if seen != nil && (k == len(list)-1 || list[k+1].at != e.at) {
			seen(e.at, slices.Clone(l))
		}
		for i := range l {
			switch e.kind {
			case forget:
				if i>>e.n&1 == 0 {
					both := flow.Join(l[i], l[i|1<<e.n])
					l[i], l[i|1<<e.n] = both, both
				}
			case define, ended:
				l[i] = l[i].Without(e.n)
			case set:
				v := g.Sites[e.n].Value.(*memory.Assigned)
				if v.When.Cond == effect.Always {
					l[i] = l[i].Without(g.index[v.Slot])
				}
			case act:
				if l[i] == nil || !l[i].Has(e.n) {
					l[i] = flow.Join(l[i], flow.NewBits(len(g.Values)))
					l[i].Add(e.n)
				}
			}
		}
	}
	return l
}

// neededAcross returns what is needed in front of an edge if l is behind it.
func (g *Group) neededAcross(n, out int, l live) live {
	res := make(live, len(l))
	to := g.f.Graph.Succs[n][out]
	e := g.f.Graph.Phi(n, out)
	for i := range res {
		if !g.passes(i, n, out) {
			continue
		}
		for _, j := range g.arrive(i, n, out) {
			if l[j] == nil {
				continue
			}
			x := l[j].Clone()
			for _, v := range g.phis[to] {
				x.Remove(v)
			}
			for _, v := range g.phis[to] {
				if l[j].Has(v) && e >= 0 {
					if from, ok := g.index[g.f.Brought(g.Values[v], e)]; ok {
						x.Add(from)
					}
				}
			}
			res[i] = flow.Join(res[i], x)
		}
	}
	return res
}
