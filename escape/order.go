package escape

// The order in which the functions of a package are decided: callees first,
// cycles of calls together.

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/spec"
)

// cycles returns the declared functions in strongly connected components,
// callees first, what frees and then the others in source order.
func (p *pkg) cycles() [][]*types.Func {
	var all []*types.Func
	for f := range p.decls {
		if p.decls[f].Body != nil {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *types.Func) int { return int(a.Pos() - b.Pos()) })
	uses := map[*types.Func][]*types.Func{}
	literal := map[*types.Func]bool{}
	join := func(fs []*types.Func) []*types.Func {
		for _, g := range fs {
			if p.decls[g] == nil && !literal[g] {
				literal[g] = true
				all = append(all, g)
			}
		}
		return fs
	}
	for _, file := range p.files {
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.VAR {
				join(p.calls(d))
			}
		}
	}
	for i := 0; i < len(all); i++ { // literals that are called through a variable join it as they are found
		uses[all[i]] = join(p.calls(p.body(all[i])))
	}
	// What frees comes first: how the values of a type are freed must be known where they are followed.
	rank := func(f *types.Func) int {
		if _, ok := p.freeing[f]; ok || p.saidToFree(f) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b *types.Func) int {
		return cmp.Or(rank(a)-rank(b), int(a.Pos()-b.Pos()))
	})
	// Tarjan, iterative.
	index := map[*types.Func]int{}
	low := map[*types.Func]int{}
	on := map[*types.Func]bool{}
	var stack []*types.Func
	var out [][]*types.Func
	n := 0
	type frame struct {
		f *types.Func
		i int
	}
	for _, start := range all {
		if _, ok := index[start]; ok {
			continue
		}
		frames := []frame{{start, 0}}
		for len(frames) > 0 {
			t := &frames[len(frames)-1]
			f := t.f
			if t.i == 0 {
				n++
				index[f], low[f] = n, n
				stack = append(stack, f)
				on[f] = true
			}
			if t.i < len(uses[f]) {
				g := uses[f][t.i]
				t.i++
				if _, ok := index[g]; !ok {
					frames = append(frames, frame{g, 0})
				} else if on[g] {
					low[f] = min(low[f], index[g])
				}
				continue
			}
			if low[f] == index[f] {
				var c []*types.Func
				for {
					g := stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					on[g] = false
					c = append(c, g)
					if g == f {
						break
					}
				}
				slices.SortFunc(c, func(a, b *types.Func) int { return int(a.Pos() - b.Pos()) })
				out = append(out, c)
			}
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				up := frames[len(frames)-1].f
				low[up] = min(low[up], low[f])
			}
		}
	}
	return out
}

// calls lists the functions of this package that n mentions, and those that it calls through
// what is known to hold no others.
func (p *pkg) calls(n ast.Node) []*types.Func {
	var out []*types.Func
	seen := map[*types.Func]bool{}
	add := func(g *types.Func) {
		if g = g.Origin(); !seen[g] && p.body(g) != nil {
			seen[g] = true
			out = append(out, g)
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if g, ok := p.info.Uses[n].(*types.Func); ok {
				add(g)
				if r := g.Signature().Recv(); r != nil && types.IsInterface(r.Type()) {
					for _, m := range p.closedMethods(g.Origin()) {
						add(m)
					}
				}
			}
		case *ast.CallExpr:
			for _, t := range p.closedCall(n.Fun) {
				add(t.fn)
			}
		}
		return true
	})
	return out
}

// saidToFree reports whether a spec line or directive says that f frees an operand.
func (p *pkg) saidToFree(f *types.Func) bool {
	line, ok := p.set.Lookup(spec.FullName(f))
	return ok && slices.ContainsFunc(line.Clauses, func(c spec.Clause) bool { return c.Effect == spec.Freed })
}
