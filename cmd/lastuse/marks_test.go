package main

import (
	"go/ast"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape"
)

// marks is an analyzer that does as comments say, so that every way in which an
// edit can be good, bad, late or in conflict is at hand. In a function body:
//
//	//mark: after TEXT       insert TEXT on a line after the comment, once
//	//mark: at N TEXT        insert TEXT at the start of line N of the file
//	//mark: drop             delete the line after the comment
//	//mark: import PATH      and import a package, beside the other edits
//	//mark: keep REASON      a finding without a fix
//	//mark: panic            the analyzer panics
//	//mark: fail             the analyzer returns an error
//	//mark: skip REASON      the function is not decided
var marks = &analysis.Analyzer{
	Name:       "lastuse",
	Doc:        "obey marks",
	Run:        runMarks,
	ResultType: reflect.TypeFor[*escape.Result](),
	FactTypes:  []analysis.Fact{new(marked)},
}

// marked is a fact, so that the analyzer runs over imports as the real one does.
type marked struct{}

func (*marked) AFact()         {}
func (*marked) String() string { return "marked" }

func runMarks(pass *analysis.Pass) (any, error) {
	result := &escape.Result{Pkg: pass.Pkg}
	for _, file := range pass.Files {
		tf := pass.Fset.File(file.FileStart)
		src, err := pass.ReadFile(tf.Name())
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			fn := &escape.Func{Name: pass.Pkg.Path() + "." + decl.Name.Name, Pos: decl.Name.Pos(), Filename: tf.Name()}
			for _, group := range file.Comments {
				for _, c := range group.List {
					text, ok := strings.CutPrefix(c.Text, "//mark: ")
					if !ok || c.Pos() < decl.Pos() || c.Pos() > decl.End() {
						continue
					}
					word, rest, _ := strings.Cut(strings.TrimRight(text, "\r"), " ")
					buffer := &escape.Buffer{Site: c.Pos(), Name: decl.Name.Name, Type: "T", Maker: "make"}
					f := &escape.Finding{Category: escape.CategoryUnfreed, Pos: c.Pos(), End: c.End(), Message: "mark: " + word, Buffer: buffer}
					insert := func(pos token.Pos, text string) {
						f.Fix = "insert " + strings.TrimSpace(text)
						f.Edits = append(f.Edits, analysis.TextEdit{Pos: pos, End: pos, NewText: []byte(text)})
					}
					line := tf.Line(c.Pos())
					switch word {
					case "after":
						end := tf.Offset(c.Pos()) + len(strings.TrimRight(c.Text, "\r"))
						if strings.HasPrefix(strings.TrimSpace(string(src[end:])), rest) {
							continue // done already
						}
						insert(tf.Pos(end), "\n"+strings.Repeat("\t", 1)+rest)
					case "at":
						n, text, _ := strings.Cut(rest, " ")
						i, err := strconv.Atoi(n)
						if err != nil {
							return nil, err
						}
						insert(tf.LineStart(i), "\t"+text+"\n")
					case "drop":
						f.Fix = "drop the next line"
						f.Edits = []analysis.TextEdit{{Pos: tf.LineStart(line + 1), End: tf.LineStart(line + 2)}}
					case "import":
						f.Category = escape.CategoryKeepAlive
						insert(file.Name.End(), "\n\nimport \""+rest+"\"")
					case "keep":
						buffer.Reason, buffer.Callee = rest, "example.com/m.Keep"
						f.Related = []analysis.RelatedInformation{{Pos: decl.Body.Rbrace, Message: "leaves here"}}
					case "panic":
						panic("marked")
					case "fail":
						return nil, &markError{pass.Fset.Position(c.Pos())}
					case "skip":
						result.Skipped = append(result.Skipped, escape.Skipped{Name: fn.Name, Pos: decl.Pos(), Reason: rest})
						continue
					}
					fn.Buffers = append(fn.Buffers, buffer)
					fn.Findings = append(fn.Findings, f)
					fn.Edits = append(fn.Edits, f.Edits...)
				}
			}
			slices.SortStableFunc(fn.Edits, func(a, b analysis.TextEdit) int { return int(a.Pos - b.Pos) })
			if len(fn.Findings) > 0 {
				result.Funcs = append(result.Funcs, fn)
			}
		}
	}
	return result, nil
}

type markError struct{ pos token.Position }

func (e *markError) Error() string { return e.pos.String() + ": marked to fail" }
