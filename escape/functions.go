package escape

// The functions of a package: which there are, their summaries, callees first, and
// what is reported of each.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// functions lists declared functions and literals with bodies in source order.
func (p *pkg) functions() []*fn {
	var out []*fn
	for _, file := range p.files {
		for _, d := range file.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || d.Body == nil {
				continue
			}
			obj, ok := p.info.Defs[d.Name].(*types.Func)
			if !ok {
				continue
			}
			p.decls[obj] = d
			f := &fn{p: p, obj: obj, node: d, name: obj.FullName(), sig: obj.Signature(), body: d.Body, typ: d.Type}
			out = append(out, f)
			out = append(out, p.literals(f.name, d.Body)...)
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				out = append(out, p.literals(p.types.Path()+".var", g)...)
			}
		}
	}
	return out
}

func (p *pkg) literals(name string, n ast.Node) []*fn {
	var out []*fn
	ast.Inspect(n, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if !ok {
			return true
		}
		sig, ok := p.typeOf(lit).(*types.Signature)
		if ok {
			out = append(out, &fn{p: p, node: lit, name: fmt.Sprintf("%s$%d", name, len(out)+1), sig: sig, body: lit.Body, typ: lit.Type})
		}
		return true
	})
	return out
}

// summarizeAll infers all summaries, and again as long as methods turn out to free
// what their receivers own, which makes their types resources.
func (p *pkg) summarizeAll(fns []*fn) {
	for range maxHolders {
		known := len(p.freeing)
		p.summarize(fns)
		if p.held = p.holdings(fns); len(p.freeing) == known {
			return
		}
		clear(p.sums)
		clear(p.cache)
		p.frees, p.holds = typeutil.Map{}, typeutil.Map{}
		for _, f := range fns {
			f.flow = nil
		}
	}
	p.summarize(fns)
}

// maxHolders bounds how deep types that hold types that hold buffers are followed.
const maxHolders = 5

// summarize infers the summary of every declared function, callees first.
func (p *pkg) summarize(fns []*fn) {
	cycles := p.cycles()
	byObj := map[*types.Func]*fn{}
	for _, f := range fns {
		if f.obj != nil {
			byObj[f.obj] = f
		} else if o := p.values().lits[f.node.(*ast.FuncLit)]; o != nil {
			byObj[o] = f
		}
	}
	for _, cycle := range cycles {
		for _, o := range cycle {
			p.busy[o] = true
		}
		for round := 0; ; round++ {
			changed := false
			for _, o := range cycle {
				f := byObj[o]
				if f == nil { // in a function that is declared twice
					p.sums[o] = worst(o.Signature(), "not decided")
					continue
				}
				p.build(f)
				var s *Summary
				if !p.guarded(f, func() { s = p.infer(f, f.flow) }) {
					s = worst(f.sig, "not decided: "+f.declined)
				}
				if round > 6 {
					s = worst(f.sig, "part of a cycle of calls that does not settle")
				}
				s = p.inEveryBuild(o, s)
				if old := p.sums[o]; old == nil || !reflect.DeepEqual(old, s) {
					p.sums[o] = s
					changed = true
				}
				delete(p.cache, o)
			}
			if !changed || round > 7 || len(cycle) == 1 && !p.recursive(cycle[0]) {
				break
			}
		}
		for _, o := range cycle {
			delete(p.busy, o)
		}
		// A method found to free its receiver makes its type a resource; what is
		// declared to free may have been looked up before its body was.
		for _, o := range cycle {
			if slices.ContainsFunc(p.summaryOf(o).Args, func(a ArgEffect) bool { return a.Freed.K != Never }) {
				p.frees, p.holds = typeutil.Map{}, typeutil.Map{}
			}
		}
	}
}

// build lowers and analyzes f anew.
func (p *pkg) build(f *fn) {
	f.blocks, f.params, f.outers, f.nvals, f.roots, f.rpo, f.exits = nil, nil, nil, 0, nil, nil, nil
	f.declined, f.loops, f.after, f.named = "", nil, nil, false
	f.started = nil
	p.guarded(f, func() {
		p.lower(f)
		f.flow = analyze(f)
	})
}

// recursive reports whether f calls itself.
func (p *pkg) recursive(f *types.Func) bool { return slices.Contains(p.calls(p.body(f)), f) }

// reportOn decides the buffers of f; nil if it has none.
func (p *pkg) reportOn(f *fn, read func(string) ([]byte, error), captured map[token.Pos]*Func) (*Func, []Bug) {
	if f.flow == nil {
		p.build(f)
	}
	out := &Func{Name: f.name, Pos: f.node.Pos()}
	tf := p.fset.File(f.node.Pos())
	if tf != nil {
		out.Filename = tf.Name()
	}
	var bugs []Bug
	d := &decider{p: p, f: f, w: f.flow, out: out, bugs: &bugs}
	if f.declined == "" && len(f.flow.objs) > 0 {
		if text, err := read(out.Filename); err == nil && tf != nil && len(text) == tf.Size() {
			d.src = &rewrite.Source{File: tf, Text: text, Tree: p.file(f.node.Pos())}
		}
		d.skip = func(o *object) bool {
			pos := o.def.pos
			return captured[pos] == nil && o.kind == objSite && f.inLiteral(pos)
		}
		if !p.guarded(f, d.decide) {
			return nil, nil
		}
	}
	if len(out.Buffers)+len(out.Findings) == 0 {
		return nil, bugs
	}
	return out, bugs
}

// decidedOnce is reportOn, unless f is decided already and the proof had nothing against it.
// What is returned is the caller's to change.
func (p *pkg) decidedOnce(f *fn, read func(string) ([]byte, error), captured map[token.Pos]*Func) (*Func, []Bug) {
	if p.proving == nil {
		return p.reportOn(f, read, captured)
	}
	out, done := p.proving.made[f]
	if !done {
		out, p.proving.bugs[f] = p.reportOn(f, read, captured)
		p.proving.made[f] = out
	}
	if out != nil {
		c := *out
		c.Buffers, c.Findings, c.Edits = slices.Clone(out.Buffers), slices.Clone(out.Findings), slices.Clone(out.Edits)
		out = &c
	}
	return out, p.proving.bugs[f]
}

// decideAll decides every function. Literals come first: a site in a literal is
// the literal's, unless its buffer leaves through a captured variable, or as a
// result of a literal that is called where it stands; then it is for the function
// around it to decide, if that has the literal spliced.
func (p *pkg) decideAll(fns []*fn, res *Result, read func(string) ([]byte, error)) {
	outs := make([]*Func, len(fns))
	captured := map[token.Pos]*Func{}
	inPlace := p.calledInPlace()
	for _, literals := range []bool{true, false} {
		for i, f := range fns {
			if (f.obj == nil) != literals {
				continue
			}
			out, bugs := p.decidedOnce(f, read, captured)
			outs[i] = out
			res.Bugs = append(res.Bugs, bugs...)
			if f.declined != "" {
				res.Skipped = append(res.Skipped, Skipped{Name: f.name, Pos: f.node.Pos(), Reason: f.declined})
			}
			if literals && out != nil {
				for _, b := range out.Buffers {
					if b.captured || b.Verdict == Moved && inPlace[f.node] {
						captured[b.Site] = out
					}
				}
			}
		}
	}
	// What both decided is the outer function's.
	for i, f := range fns {
		if f.obj == nil || outs[i] == nil {
			continue
		}
		for _, b := range outs[i].Buffers {
			if lit := captured[b.Site]; lit != nil && lit != outs[i] {
				lit.Buffers = slices.DeleteFunc(lit.Buffers, func(x *Buffer) bool { return x.Site == b.Site })
			}
		}
	}
	gather(fns, outs)
	for _, out := range outs {
		if out != nil && len(out.Buffers)+len(out.Findings) > 0 {
			res.Funcs = append(res.Funcs, out)
		}
	}
}

// calledInPlace finds the literals whose results go to the expression that they
// stand in: func() T { … }().
func (p *pkg) calledInPlace() map[ast.Node]bool {
	found := map[ast.Node]bool{}
	for _, f := range p.files {
		ast.Inspect(f, func(n ast.Node) bool {
			if n, ok := n.(*ast.CallExpr); ok {
				if lit, ok := ast.Unparen(n.Fun).(*ast.FuncLit); ok {
					found[lit] = true
				}
			}
			return true
		})
		ast.Inspect(f, func(n ast.Node) bool {
			var call *ast.CallExpr
			switch n := n.(type) {
			case *ast.DeferStmt:
				call = n.Call
			case *ast.GoStmt:
				call = n.Call
			default:
				return true
			}
			if lit, ok := ast.Unparen(call.Fun).(*ast.FuncLit); ok {
				delete(found, lit) // nobody gets the results
			}
			return true
		})
	}
	return found
}

// gather hands the edits of a literal to the function around it where that edits
// the literal, too: they are good only together.
func gather(fns []*fn, outs []*Func) {
	for i, f := range fns {
		if f.obj == nil || outs[i] == nil {
			continue
		}
		for j := i + 1; j < len(fns) && fns[j].obj == nil; j++ { // its literals come behind it
			lit := fns[j]
			if outs[j] == nil || len(outs[j].Edits) == 0 || lit.node.Pos() < f.node.Pos() || lit.node.End() > f.node.End() {
				continue
			}
			if slices.ContainsFunc(outs[i].Edits, func(e analysis.TextEdit) bool { return lit.node.Pos() < e.Pos && e.Pos < lit.node.End() }) {
				outs[i].Edits = append(outs[i].Edits, outs[j].Edits...)
				rewrite.Sort(outs[i].Edits)
				outs[j].Edits = nil
			}
		}
	}
}

// inLiteral reports whether pos lies in a literal inside f.
func (f *fn) inLiteral(pos token.Pos) bool {
	l := f.p.vars().Around(pos, pos)
	return l != nil && l.Node != f.node && within(f.node, l.Node.Pos())
}
