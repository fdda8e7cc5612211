package gen

// Flows says of each site, whichever path is taken, where its buffers can get.
type Flows struct {
	Escapes   []bool // may be handed to somebody who keeps it
	UserFreed []bool // may be freed by the program itself
}

// node is a variable, or the result of a function.
type node struct {
	v  *Var
	fn int // result of function fn-1 if v is nil
}

// NewFlows follows copies forward, without regard to order: a site that it
// calls free of escapes is.
func NewFlows(p *Program) Flows {
	edges := map[node][]node{}
	add := func(src, dst *Var) {
		if src != nil && dst != nil {
			edges[node{v: src}] = append(edges[node{v: src}], node{v: dst})
		}
	}
	from := map[node][]int{} // sites
	sinks := map[*Var]bool{}
	frees := map[*Var]bool{}
	for i, f := range p.Funcs {
		if f.Named {
			frees[f.Clean] = true
		}
		Walk(f.Body, func(s Stmt) bool {
			switch s := s.(type) {
			case *Make:
				n := node{v: s.Dst.V}
				from[n] = append(from[n], s.N-FirstSite)
				sinks[s.Dst.V] = sinks[s.Dst.V] || s.Dst.V.Kind == KLoud
			case *For:
				n := node{v: s.Make.Dst.V}
				from[n] = append(from[n], s.Make.N-FirstSite)
			case *Resize:
				n := node{v: s.V}
				from[n] = append(from[n], s.N-FirstSite)
				frees[s.V] = true
			case *Assign:
				for j := range s.Dst {
					add(s.Src[j].V, s.Dst[j].V)
					if k := s.Dst[j].V.Kind; k == KPtr || k == KPairPtr || k == KGetter {
						add(s.Dst[j].V, s.Src[j].V)
					}
				}
			case *Compose:
				for _, src := range s.Src {
					add(src.V, s.V)
				}
			case *Append:
				add(s.Src.V, s.V)
			case *Put:
				add(s.Src.V, s.V)
			case *Get:
				add(s.V, s.Dst)
			case *Each:
				for _, src := range s.Lit {
					add(src.V, s.X)
				}
				add(s.X, s.V)
			case *Switch:
				add(s.Subject.V, s.V)
			case *Pass:
				add(s.Src.V, s.Dst)
			case *Deeper:
				add(s.Arg.V, s.Last)
			case *Wrap:
				add(s.Src.V, s.V)
				if s.Common.V != nil { // freed by no destructor: whose it is, only its name tells
					add(s.Common.V, s.V)
					break
				}
				// neither may be freed by what stands outside, by rule 9 and as getters hand it out
				sinks[s.V] = s.V.Kind != KSelf
			case *Step:
				n := node{v: s.V}
				from[n] = append(from[n], s.N-FirstSite)
			case *Panic:
				if s.With.V != nil {
					sinks[s.With.V] = true
				}
			case *Spawn:
				sinks[s.Arg.V] = sinks[s.Arg.V] || s.Leaks
			case *Call:
				for _, fn := range s.targets() {
					for j, a := range s.Args {
						add(a.V, p.Funcs[fn].Params[j])
					}
					if s.Dst != nil {
						r := node{fn: fn + 1}
						edges[r] = append(edges[r], node{v: s.Dst})
					}
				}
			case *Return:
				if s.Path.V != nil && !s.Sum {
					n := node{v: s.Path.V}
					edges[n] = append(edges[n], node{fn: i + 1})
				}
			case *Escape:
				sinks[s.Path.V] = true
				if s.Kind == XCleanup {
					frees[s.Path.V] = true
				}
			case *Select:
				sinks[s.Path.V] = true
			case *Free:
				frees[s.Path.V] = true
			case *FreeAll:
				frees[s.V] = true
			case *Defer:
				if s.Kind != DUse && s.Kind != DLook && s.Kind != DGuard {
					frees[s.Path.V] = true
				}
			}
			return true
		})
	}
	res := Flows{make([]bool, len(p.Sites)), make([]bool, len(p.Sites))}
	for start, sites := range from {
		seen := map[node]bool{start: true}
		for list := []node{start}; len(list) > 0; {
			n := list[len(list)-1]
			list = list[:len(list)-1]
			for _, s := range sites {
				res.Escapes[s] = res.Escapes[s] || sinks[n.v]
				res.UserFreed[s] = res.UserFreed[s] || frees[n.v]
			}
			for _, m := range edges[n] {
				if !seen[m] {
					seen[m] = true
					list = append(list, m)
				}
			}
		}
	}
	return res
}

func (s *Call) targets() []int {
	if s.Via == VDirect {
		return []int{s.Fn}
	}
	return []int{s.Fn, s.Other}
}
