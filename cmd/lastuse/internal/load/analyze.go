package load

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/lastuse/lastuse/escape"
)

// A Unit is one package of one build-tag set with what the analyzer says of it.
type Unit struct {
	Prog   *Program
	Pkg    *packages.Package
	Result *escape.Result
	Err    error
}

// Analyze runs an analyzer whose result is an [*escape.Result] over the targets of a Program and over all
// packages that they import, for their facts. A panic of the analyzer is an error of the
// package that it was in.
func Analyze(ctx context.Context, analyzer *analysis.Analyzer, p *Program, progress func(done int)) ([]*Unit, error) {
	if len(p.targets) == 0 {
		return nil, nil
	}
	var done atomic.Int64
	byTypes := map[*types.Package]*packages.Package{}
	for pkg := range p.imports {
		byTypes[pkg.Types] = pkg
	}
	isTarget := map[*packages.Package]bool{}
	for _, t := range p.targets {
		isTarget[t] = true
	}
	a := *analyzer
	inner := a.Run
	a.Run = func(pass *analysis.Pass) (result any, err error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		defer func() {
			if x := recover(); x != nil {
				err = fmt.Errorf("internal error, please report it: %v\n%s", x, debug.Stack())
			}
			progress(int(done.Add(1)))
			// What only the analyzer needs is most of the memory: drop it as soon
			// as the package is done. Edits of a target still need its syntax.
			pkg := byTypes[pass.Pkg]
			if r, ok := result.(*escape.Result); ok && r.Spec != nil && !isTarget[pkg] {
				p.mu.Lock()
				p.Unread = append(p.Unread, r.Spec)
				p.mu.Unlock()
			}
			pkg.TypesInfo, pass.TypesInfo = nil, nil
			if !isTarget[pkg] {
				pkg.Syntax, pass.Files = nil, nil
			}
		}()
		pass.ReadFile = p.Read
		if !isTarget[byTypes[pass.Pkg]] {
			pass.Report = nil
		}
		return inner(pass)
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{&a}, p.targets, nil)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(p.Unread, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	var units []*Unit
	for _, act := range graph.Roots {
		u := &Unit{Prog: p, Pkg: act.Package}
		r, _ := act.Result.(*escape.Result)
		switch {
		case act.Err != nil:
			u.Err = rootCause(act)
		case r.Spec != nil:
			u.Err = r.Spec.Err // of a module that is worked on as well
		default:
			u.Result = r
		}
		units = append(units, u)
	}
	slices.SortFunc(units, func(a, b *Unit) int { return strings.Compare(a.Pkg.ID, b.Pkg.ID) })
	return units, nil
}

// rootCause returns the errors of the actions that failed first, in place of
// "failed prerequisites".
func rootCause(act *checker.Action) error {
	var causes []error
	var texts []string
	seen := map[*checker.Action]bool{}
	var visit func(a *checker.Action)
	visit = func(a *checker.Action) {
		if seen[a] {
			return
		}
		seen[a] = true
		failed := false
		for _, dep := range a.Deps {
			if dep.Err != nil {
				failed = true
				visit(dep)
			}
		}
		if !failed && a.Err != nil && !slices.Contains(texts, a.Err.Error()) {
			texts = append(texts, a.Err.Error())
			causes = append(causes, a.Err)
		}
	}
	visit(act)
	return errors.Join(causes...)
}

// Syntax returns the file with this physical name.
func (u *Unit) Syntax(name string) *ast.File {
	for _, f := range u.Pkg.Syntax {
		if u.Prog.Fset.File(f.FileStart).Name() == name {
			return f
		}
	}
	return nil
}
