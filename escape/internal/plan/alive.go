package plan

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/find"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
	"github.com/lastuse/lastuse/escape/spec"
)

// This file is about values that no statement frees: the collector does. One that is used by a raw pointer
// alone is kept alive up to there.

// collected returns the types of what functions make that the package calls, as specs say, and that nothing
// is known to free.
func collected(in *Input, frees *effect.Frees) *typeutil.Map {
	out := &typeutil.Map{}
	seen := map[*types.Func]bool{}
	for _, f := range in.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fn := typeutil.StaticCallee(in.Info, call)
			if fn == nil || seen[fn] {
				return true
			}
			seen[fn] = true
			for _, t := range owned(in, fn) {
				if effect.Nillable(t) && frees.Of(t) == nil {
					out.Set(t, true)
				}
			}
			return true
		})
	}
	return out
}

// owned lists the types of what a function makes, as a spec says here or where it is declared.
func owned(in *Input, fn *types.Func) (out []types.Type) {
	sig := fn.Signature()
	if line, ok := in.Set.Lookup(spec.FullName(fn.Origin())); ok {
		for _, c := range spec.Bind(line.Clauses, sig) {
			if c.Effect == spec.Owned {
				out = append(out, c.Operand.Type(sig))
			}
		}
		return out
	}
	if said := in.Facts.Of(fn); said != nil && said.Summary.Decided {
		for k, r := range said.Summary.Results {
			if r.Owned.Cond != effect.Never {
				out = append(out, sig.Results().At(k).Type())
			}
		}
	}
	return out
}

// keepAlive leaves of what is planned for values that nothing frees what keeps them alive until their raw
// pointer is used.
func (f *Func) keepAlive(e *editor) {
	for _, fr := range slices.Clone(f.Frees) {
		if t := fr.Name.Type(); e.frees.Of(t) == nil && !slices.ContainsFunc(f.Findings, func(fd find.Finding) bool {
			return fd.Kind == find.KeepAlive && slices.Contains(fr.Sites, fd.Site)
		}) {
			f.without(fr.Sites, func(s *pointsto.Site) { f.Unfreed[s] = e.noFree(t) })
		}
	}
}

// alive returns the text of a statement that keeps alive what has a name, or why there is none.
func (d *draft) alive(name string, s *spot) (text, why string) {
	q := ""
	for _, p := range d.pkg.Types.Imports() {
		if p.Path() == "runtime" {
			q = d.pkg.ImportName(d.u.src.Tree, p, s.at)
		}
	}
	if q == "" {
		if q = "runtime"; !d.pkg.Denotes(q, nil, s.at) {
			return "", "runtime means something else here"
		}
		p := d.parts.imports[d.u.src]
		if p == nil {
			p = &part{edits: d.u.src.Import(q)}
			if len(p.edits) == 0 {
				return "", "runtime is imported by another name"
			}
			d.parts.imports[d.u.src] = p
			d.imports = append(d.imports, p)
		}
		s.part.needs = append(s.part.needs, p)
	}
	return q + ".KeepAlive(" + name + ")", ""
}

// Alive reports whether a statement keeps something alive, and frees nothing.
func (r *Result) Alive(fr *Free) bool { return r.ed.frees.Of(fr.Name.Type()) == nil }

// importers are the parts that import packages, by file.
type importers = map[*rewrite.Source]*part
