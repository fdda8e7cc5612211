package plan

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/proof"
)

// An Asker is what the proof is told of a package beside its texts.
type Asker struct {
	GoVersion string
	Sizes     types.Sizes
	Sums      map[*types.Func]*proof.Summary     // of its own functions; may be nil
	Facts     func(f *types.Func) *proof.Summary // of functions that it imports; may be nil
	Away      func(o types.Object) proof.Away    // of what it imports; may be nil
	memory    proof.Memory
}

// Prove asks the proof about all edits of a package together.
func (r *Result) Prove(a *Asker) *proof.Report {
	in := &proof.Input{Path: r.in.Types.Path(), Import: imported(r.in), Sizes: a.Sizes, GoVersion: a.GoVersion,
		Specs: r.in.Set, Facts: a.Facts, Sums: a.Sums, Memory: &a.memory,
		Left: Trees(r.in.Types, r.in.Left), Away: a.Away}
	if in.Facts == nil {
		in.Facts = func(*types.Func) *proof.Summary { return nil }
	}
	for _, f := range r.in.Files {
		name := r.in.Fset.File(f.FileStart).Name()
		pf := proof.File{Name: name, Old: r.in.Text(name)}
		if len(r.Edits[f]) > 0 {
			pf.New = []byte(r.Text(f))
		}
		in.Files = append(in.Files, pf)
	}
	return proof.Check(in)
}

// Trees returns what the proof is given of files that are not compiled with a package.
func Trees(pkg *types.Package, left []calls.File) (out []*ast.File) {
	for _, f := range left {
		if f.Tree.Name.Name == pkg.Name() { // a test may be of another package
			out = append(out, f.Tree)
		}
	}
	return out
}

// What is known are the packages that the original was type-checked with.
type known map[string]*types.Package

func imported(in *Input) known {
	m := known{"unsafe": types.Unsafe}
	var add func(q *types.Package)
	add = func(q *types.Package) {
		for _, i := range q.Imports() {
			if m[i.Path()] == nil {
				m[i.Path()] = i
				add(i)
			}
		}
	}
	for _, f := range in.Files {
		for _, im := range f.Imports {
			if n := in.Info.PkgNameOf(im); n != nil {
				m[strings.Trim(im.Path.Value, "`\"")] = n.Imported()
			}
		}
	}
	add(in.Types)
	return m
}

func (m known) Import(path string) (*types.Package, error) {
	if q := m[path]; q != nil {
		return q, nil
	}
	return nil, fmt.Errorf("import %s: the original does not", path)
}
