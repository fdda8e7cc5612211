package gen

// What the generator knows of the variables in scope.

import "fmt"

func (g *generator) newVar(name string, kind Kind, res Res) *Var {
	f := g.f.fn
	v := &Var{Name: name, Kind: kind, Res: res, Loc: f.Locs, Depth: g.f.depth, Class: g.f.lit}
	f.Locs += v.Locs()
	f.Vars = append(f.Vars, v)
	return v
}

func (g *generator) fresh(kind Kind, res Res) *Var {
	return g.newVar(fmt.Sprintf("%s%d", letters[kind], len(g.f.fn.Vars)), kind, res)
}

func (g *generator) push() { g.f.scopes = append(g.f.scopes, nil) }
func (g *generator) pop()  { g.f.scopes = g.f.scopes[:len(g.f.scopes)-1] }

func (g *generator) declare(v *Var) *known {
	k := &known{v, len(g.f.groups)}
	g.f.groups = append(g.f.groups, group{up: k.group})
	i := len(g.f.scopes) - 1
	g.f.scopes[i] = append(g.f.scopes[i], k)
	return k
}

func (g *generator) find(i int) int {
	for g.f.groups[i].up != i {
		i = g.f.groups[i].up
	}
	return i
}

func (g *generator) of(k *known) *group { return &g.f.groups[g.find(k.group)] }

func (g *generator) merge(a, b *known) {
	i, j := g.find(a.group), g.find(b.group)
	if i == j {
		return
	}
	x, y := &g.f.groups[i], &g.f.groups[j]
	x.gone = x.gone || y.gone
	x.pinned = x.pinned || y.pinned
	x.param = x.param || y.param
	y.up = i
}

// pick returns a variable in scope that can still be used and meets want.
func (g *generator) pick(want func(*known) bool) *known {
	var list []*known
	for _, s := range g.f.scopes {
		for _, k := range s {
			if !g.of(k).gone && want(k) {
				list = append(list, k)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	// Recent variables more often, so that the older ones die.
	return list[max(g.n(len(list)), g.n(len(list)))]
}

// handle reports whether v holds one buffer that can be passed as a handle.
func handle(v *Var) bool {
	switch v.Kind {
	case KBuf, KEmbed, KPtr, KGetter, KBox, KLoud, KNode, KSelf:
		return true
	}
	return false
}

// solid reports whether v holds a buffer for sure, with known contents.
func solid(v *Var) bool { return !v.MaySkip && !v.Undef }

// movable reports whether k's buffer can be given away here.
func (g *generator) movable(k *known) bool {
	return !g.of(k).pinned && k.v.Depth == g.f.depth && k.v.Class == g.f.lit
}
