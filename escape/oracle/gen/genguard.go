package gen

// Deferred code that reads a buffer only as long as a flag is not set: what runs if
// something panics, or returns early, is not what runs at the end.

import "fmt"

// doDeferGuard defers a read under a flag that says that all went well, and sets the
// flag some statements later, on all paths that get there.
func (g *generator) doDeferGuard() []Stmt {
	if !g.top() || g.f.depth > 0 || g.f.fn.Hoist {
		return nil
	}
	k := g.pick(func(k *known) bool {
		return k.v.Kind == KBuf && !k.v.Param && !g.of(k).pinned && solid(k.v) && k.v.Depth == 0
	})
	if k == nil {
		return nil
	}
	g.tag("deferred under a flag")
	d := &Defer{Kind: DGuard, Path: Of(k.v), ID: g.id(), By: GuardKind(g.n(int(guardKinds)))}
	if d.By != GPlain {
		g.tag("flag set by others")
	}
	k.v.Fixed = true
	g.of(k).pinned = true
	res := []Stmt{d}
	for range g.n(4) {
		add := g.action()
		if n := len(add); n > 0 && leaves(add[n-1]) {
			break
		}
		res = append(res, add...)
	}
	if g.chance(0.3) && !k.v.Once {
		// It still holds the old one if making the new one panics.
		g.tag("reassigned after a defer")
		m := &Make{Dst: Of(k.v), N: g.site(k.v.Res), Via: g.via(k.v.Res), Err: EMust, ErrID: g.id()}
		res = append(append(res, m), g.first(k.v)...)
	}
	return append(res, &Done{Of: d})
}

// name is the flag of a guarded defer.
func (s *Defer) name() string { return fmt.Sprintf("done%d", s.ID) }
