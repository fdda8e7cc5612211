// Package shadow runs the rooms of the analyzer over a package, beside the analyzer that
// is in use, so that the two can be compared. It is for tests, until the rooms take over.
//
// # The way through
//
// [Run] builds the form, takes functions in the order in which they call one another,
// solves each, infers its summary, and again for circles until nothing gets worse; then it
// places frees. [Result.Edit] writes them into the text in the plainest way: no results are
// hoisted in front of a return, and no import is added. The real edits are another room's.
package shadow

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/infer"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/place"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/spec"
)

// An Input is a package that was type-checked without errors, and specs with its directives.
type Input struct {
	Fset  *token.FileSet
	Files []*ast.File
	Types *types.Package
	Info  *types.Info
	Set   *spec.Set
	Facts map[*types.Func]*effect.Summary // of packages that it imports; Run adds its own
}

// A Func is what the rooms found out about a function or literal.
type Func struct {
	SSA      *ssa.Function
	Own      *own.Func
	Summary  *effect.Summary // of declared functions
	Frees    []place.Free
	Verdicts []place.Verdict
}

// A Result is the functions of a package, in the order of the text.
type Result struct {
	IR    *ir.Package
	Funcs []*Func
	frees *effect.Frees
	fset  *token.FileSet
}

// Run runs the rooms over a package.
func Run(in *Input) *Result {
	frees := effect.NewFrees(in.Set)
	p := ir.Build(&ir.Input{Fset: in.Fset, Files: in.Files, Types: in.Types, Info: in.Info,
		Follow: frees.Resource})
	table := calls.NewTable(in.Set, in.Facts)
	literals := map[*ssa.Function]*effect.Summary{}
	to := &pointsto.Input{IR: p, Effect: table.Of, Owns: frees.Resource,
		Literal: func(f *ssa.Function) *effect.Summary { return literals[f] }}
	r := &Result{IR: p, frees: frees, fset: in.Fset}
	of := map[*ssa.Function]*Func{}
	for _, round := range calls.Order(p.Funcs) {
		for _, f := range round.Funcs {
			if fn := calls.Declared(f); fn != nil {
				table.Begin(fn)
			}
		}
		for first, again := true, true; again; first = false {
			again = false
			for _, f := range slices.Backward(round.Funcs) { // literals before what they stand in
				sf := &Func{SSA: f, Own: own.Solve(pointsto.Solve(to, f))}
				sf.Summary = infer.Summary(sf.Own)
				of[f] = sf
				if f.Parent() != nil {
					literals[f] = sf.Summary
				} else if fn := calls.Declared(f); fn != nil {
					again = table.Infer(fn, of[f].Summary, first) && round.Circle || again
				}
			}
		}
	}
	for _, f := range p.Funcs {
		if sf := of[f]; sf != nil {
			if fn := calls.Declared(f); fn != nil && in.Facts != nil {
				in.Facts[fn] = sf.Summary
			}
			sf.Frees, sf.Verdicts = place.Plan(p, sf.Own)
			sf.Frees = slices.DeleteFunc(sf.Frees, func(fr place.Free) bool { return r.Statement(fr) == "" })
			r.Funcs = append(r.Funcs, sf)
		}
	}
	return r
}

// Statement returns the text of a free; "" if there is none in this package.
func (r *Result) Statement(f place.Free) string {
	free := r.frees.Of(f.Var.Type())
	if free == nil {
		return ""
	}
	var s string
	switch {
	case free.Method:
		s = fmt.Sprintf("%s.%s()", f.Var.Name(), free.Func.Name())
	case free.Func.Pkg() == f.Var.Pkg():
		s = fmt.Sprintf("%s(%s)", free.Func.Name(), f.Var.Name())
	default:
		return ""
	}
	if f.Guard {
		s = fmt.Sprintf("if %s != nil {\n%s\n}", f.Var.Name(), s)
	}
	return s
}

// Edit returns a file with the frees of the package that have a place, and how many of
// its frees have none. The text is that of the file as it was parsed.
func (r *Result) Edit(file *ast.File, text string) (string, int, error) {
	type insert struct {
		at   int
		kind ir.Kind // what ends at one point, ends from the inside out
		text string
	}
	var list []insert
	left := 0
	tf := r.fset.File(file.FileStart)
	add := func(pos token.Pos, k ir.Kind, s string) { list = append(list, insert{tf.Offset(pos), k, s}) }
	texts := map[*ir.Place]string{}
	var places []*ir.Place
	for _, f := range r.Funcs {
		for _, fr := range f.Frees {
			switch {
			case fr.At == nil:
				if r.fset.File(fr.Return.Pos()) == tf {
					left++
				}
			case r.fset.File(fr.At.Pos) == tf:
				if texts[fr.At] == "" {
					places = append(places, fr.At)
				}
				texts[fr.At] += r.Statement(fr) + "\n"
			}
		}
	}
	for _, at := range places {
		s, pos := texts[at], at.Pos
		switch at.Kind {
		case ir.InList:
			n := tf.Offset(pos)
			if strings.TrimSpace(text[strings.LastIndexByte(text[:n], '\n')+1:n]) != "" {
				s = "\n" + s
			}
			add(pos, ir.InList, s)
		case ir.Else:
			add(pos, ir.Else, " else {\n"+s+"}")
		case ir.ElseIf:
			add(pos, ir.ElseIf, "{\n"+s)
			add(at.Node.(*ast.IfStmt).Else.End(), ir.ElseIf, "\n}")
		case ir.Default:
			add(pos, ir.Default, "default:\n"+s)
		}
	}
	rank := [...]int{ir.Else: 0, ir.ElseIf: 1, ir.Default: 1, ir.InList: 2}
	slices.SortStableFunc(list, func(a, b insert) int { // what is inserted last stands first
		return cmp.Or(b.at-a.at, rank[b.kind]-rank[a.kind])
	})
	for _, i := range list {
		text = text[:i.at] + i.text + text[i.at:]
	}
	out, err := format.Source([]byte(text))
	if err != nil {
		return "", 0, fmt.Errorf("edit: %w", err)
	}
	return string(out), left, nil
}
