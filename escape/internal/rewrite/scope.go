package rewrite

// Which scope a position is in. The scopes of go/types look through all that lie in one,
// and a function has one for each of its blocks.

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"
	"sort"
)

// fewScopes are looked through one by one.
const fewScopes = 8

// scopes are the scopes inside others, by position, where they are many.
type scopes map[*types.Scope][]*types.Scope

// Innermost returns the innermost scope of the package that contains pos, nil if none does.
func (p *Package) Innermost(pos token.Pos) *types.Scope {
	var at *types.Scope
	for s := p.inside(p.Types.Scope(), pos); s != nil; s = p.inside(s, pos) {
		at = s
	}
	return at
}

// inside returns the scope right inside s that contains pos, nil if there is none.
func (p *Package) inside(s *types.Scope, pos token.Pos) *types.Scope {
	if s.NumChildren() <= fewScopes {
		for i := range s.NumChildren() {
			if c := s.Child(i); c.Contains(pos) {
				return c
			}
		}
		return nil
	}
	cs := p.scopes[s]
	if cs == nil {
		for i := range s.NumChildren() {
			cs = append(cs, s.Child(i))
		}
		slices.SortStableFunc(cs, func(a, b *types.Scope) int { return cmp.Compare(a.Pos(), b.Pos()) })
		if p.scopes == nil {
			p.scopes = scopes{}
		}
		p.scopes[s] = cs
	}
	i := sort.Search(len(cs), func(i int) bool { return cs[i].Pos() > pos })
	if i == 0 || !cs[i-1].Contains(pos) {
		return nil
	}
	return cs[i-1]
}
