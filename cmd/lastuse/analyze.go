package main

import (
	"context"
	"errors"
	"fmt"
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

// A unit is one package of one build-tag set with what the analyzer says of it.
type unit struct {
	prog   *program
	pkg    *packages.Package
	diags  []analysis.Diagnostic
	result *escape.Result
	err    error
}

// analyze runs an analyzer whose result is an [*escape.Result] over the targets of a program and over all packages
// that they import, for their facts. A panic of the analyzer is an error of the
// package that it was in.
func analyze(ctx context.Context, analyzer *analysis.Analyzer, p *program, progress func(done int)) ([]*unit, error) {
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
				p.unread = append(p.unread, r.Spec)
				p.mu.Unlock()
			}
			pkg.TypesInfo, pass.TypesInfo = nil, nil
			if !isTarget[pkg] {
				pkg.Syntax, pass.Files = nil, nil
			}
		}()
		pass.ReadFile = p.read
		return inner(pass)
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{&a}, p.targets, nil)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(p.unread, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	var units []*unit
	for _, act := range graph.Roots {
		u := &unit{prog: p, pkg: act.Package, diags: act.Diagnostics}
		r, _ := act.Result.(*escape.Result)
		switch {
		case act.Err != nil:
			u.err = rootCause(act)
		case r.Spec != nil:
			u.err = r.Spec.Err // of a module that is worked on as well
		default:
			u.result = r
		}
		units = append(units, u)
	}
	slices.SortFunc(units, func(a, b *unit) int { return strings.Compare(a.pkg.ID, b.pkg.ID) })
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
