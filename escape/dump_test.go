package escape

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"testing"

	"github.com/lastuse/lastuse/escape/spec"
)

func TestDump(t *testing.T) {
	name := os.Getenv("DUMP")
	if name == "" {
		t.Skip()
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Implicits: map[ast.Node]types.Object{}, Scopes: map[ast.Node]*types.Scope{}, Instances: map[*ast.Ident]types.Instance{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	tp, err := conf.Check("p", fset, []*ast.File{f}, info)
	if err != nil {
		t.Fatal(err)
	}
	set, _ := spec.Load(nil, "")
	fork := set.Fork()
	lines, _ := spec.Directives(fset, f, info)
	for _, l := range lines {
		fork.AddLine(l, spec.Directive)
	}
	p := newPkg(fset, []*ast.File{f}, info, tp, fork, noFacts{})
	fns := p.functions()
	p.summarizeAll(fns)
	res := &Result{}
	p.reports(fns, res, os.ReadFile)
	for _, f := range fns {
		if f.flow == nil {
			continue
		}
		fmt.Print(f)
		if f.obj != nil {
			fmt.Println("  =", p.summaryOf(f.obj))
		}
		for _, g := range f.flow.groups {
			fmt.Println("group", g.why, "bits", len(g.bits))
			for _, o := range g.objs {
				fmt.Println("  obj", o.kind, o.def.op, p.line(o.def.pos), len(o.members))
				o.eachEvent(func(e event) { fmt.Println("    ", e.kind, p.line(e.at.pos), opNames[e.at.op], e.why) })
			}
			if g.why == "" && len(g.objs) > 0 && g.objs[0].kind != objParam {
				pl := g.newPlanner(false)
				fmt.Println("  run", pl.run())
				for _, b := range f.rpo {
					if g.in[b] != nil {
						fmt.Println("   b", b.order, g.in[b], "→", g.out[b], "accept", pl.accept[b], "live", g.live[b])
					}
				}
				for _, fp := range pl.plan {
					fmt.Println("   plan", p.line(fp.gap.pos))
				}
			}
		}
	}
	for _, f := range res.Funcs {
		for _, b := range f.Buffers {
			fmt.Println(f.Name, p.line(b.Site), b.Verdict, b.Reason)
		}
		for _, b := range f.Findings {
			fmt.Println(f.Name, p.line(b.Pos), b.Category, b.Message)
		}
	}
}
