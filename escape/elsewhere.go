package escape

// Files of the package that are not decided with it, because this build leaves them out or because
// they are tests: what they mention.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
)

// absent is what files of the package say that are not part of what is decided: files that
// this build leaves out, and tests.
type absent struct {
	names   map[string]bool // every name in them
	unkeyed bool            // they may fill fields that they do not name
}

// saidElsewhere reports whether a name occurs in a file of the package that is not decided here.
func (p *pkg) saidElsewhere(name string) bool { return p.elsewhere().names[name] }

// unkeyed reports whether such a file fills a struct without naming its fields.
func (p *pkg) unkeyed() bool { return p.elsewhere().unkeyed }

func (p *pkg) elsewhere() *absent {
	if p.absent != nil {
		return p.absent
	}
	p.absent = &absent{names: map[string]bool{}}
	if p.read == nil {
		return p.absent
	}
	for _, name := range slices.Concat(p.ignored, p.testFiles()) {
		if filepath.Ext(name) != ".go" {
			continue
		}
		text, err := p.read(name)
		if err != nil {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil || f.Name.Name != p.types.Name() {
			continue // part of no build, or of another package
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				p.absent.names[n.Name] = true
			case *ast.CompositeLit:
				if len(n.Elts) > 0 && !isKeyed(n.Elts[0]) {
					switch n.Type.(type) {
					case nil, *ast.Ident, *ast.IndexExpr, *ast.IndexListExpr, *ast.StructType:
						p.absent.unkeyed = true
					}
				}
			}
			return true
		})
	}
	return p.absent
}

func isKeyed(e ast.Expr) bool {
	_, ok := e.(*ast.KeyValueExpr)
	return ok
}
