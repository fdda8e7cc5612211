package gen

// maxLocs bounds the locations of one function.
const maxLocs = 512

// Set is a set of locations.
type Set [maxLocs / 64]uint64

func (s *Set) add(l int)      { s[l/64] |= 1 << (l % 64) }
func (s *Set) del(l int)      { s[l/64] &^= 1 << (l % 64) }
func (s *Set) has(l int) bool { return s[l/64]&(1<<(l%64)) != 0 }

func (s Set) or(t Set) Set {
	for i := range s {
		s[i] |= t[i]
	}
	return s
}

func (s Set) minus(t Set) Set {
	for i := range s {
		s[i] &^= t[i]
	}
	return s
}

func (s *Set) path(p Path, do func(*Set, int)) {
	if p.V == nil {
		return
	}
	if p.V.fields() && p.Field >= 0 {
		do(s, p.V.Loc+p.Field)
		return
	}
	for i := range p.V.Locs() {
		do(s, p.V.Loc+i)
	}
}

func (s Set) with(ps ...Path) Set {
	for _, p := range ps {
		s.path(p, (*Set).add)
	}
	return s
}

func (s Set) without(ps ...Path) Set {
	for _, p := range ps {
		s.path(p, (*Set).del)
	}
	return s
}

func (s Set) holds(p Path) bool {
	res := false
	s.path(p, func(s *Set, l int) { res = res || s.has(l) })
	return res
}
