package apply

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/cmd/lastuse/internal/load"
)

// cgoName finds names that cgo gives to what is C's; a file never says them.
var cgoName = regexp.MustCompile(`\b_(C(func|type|macro|fpvar|var|iconst|fconst|sconst)_\w+|cgo\w+|Cgo\w+)`)

// mapCgo finds the places in the user's file that edits to cgo's translation of
// it mean. cgo keeps lines and columns through line directives; the result is
// compared statement by statement before it is written (see shape).
func mapCgo(u *load.Unit, ch *Change, tf *token.File) error {
	fset := u.Prog.Fset
	name := fset.PositionFor(tf.Pos(ch.compiled.edits[0].Start), true).Filename
	if !slices.Contains(u.Pkg.GoFiles, name) {
		ch.user.edits = nil
		return errors.New("the file is generated: change what generates it")
	}
	src, err := u.Prog.Read(name)
	if err != nil {
		return err
	}
	userSet := token.NewFileSet()
	user, err := parser.ParseFile(userSet, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(user) {
		return errors.New("the file is generated: change what generates it")
	}
	var lines []int // offset of each line
	for at := 0; at <= len(src); {
		lines = append(lines, at)
		n := bytes.IndexByte(src[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
	}
	places := statementPlaces(u.Syntax(tf.Name()), tf, user, userSet.File(user.FileStart))
	offset := func(n int) (int, error) {
		if at, ok := places[n]; ok {
			return at, nil
		}
		p := fset.PositionFor(tf.Pos(n), true)
		if p.Filename != name || p.Line < 1 || p.Line > len(lines) || p.Column < 1 {
			return 0, fmt.Errorf("cgo moved line %d of the file: edit it by hand", p.Line)
		}
		end := len(src)
		if p.Line < len(lines) {
			end = lines[p.Line]
		}
		at := lines[p.Line-1] + p.Column - 1
		if at > end {
			return 0, fmt.Errorf("cgo moved line %d of the file: edit it by hand", p.Line)
		}
		return at, nil
	}
	ch.user = text{file: name}
	for _, e := range ch.compiled.edits {
		if word := cgoName.FindString(e.Text); word != "" {
			return fmt.Errorf("the edit would write %s, which is cgo's name for something of C: edit it by hand", word)
		}
		start, err := offset(e.Start)
		if err != nil {
			return err
		}
		end, err := offset(e.End)
		if err != nil {
			return err
		}
		ch.user.edits = append(ch.user.edits, Edit{start, end, e.Text})
	}
	return nil
}

// statementPlaces finds the ends of statements and blocks of cgo's translation in
// the user's file: the k-th statement of one is the k-th of the other. Where cgo
// wrote more into a line than there was, line and column alone do not tell.
func statementPlaces(compiled *ast.File, tf *token.File, user *ast.File, uf *token.File) map[int]int {
	from, to := statements(compiled), statements(user)
	places := map[int]int{}
	if len(from) != len(to) {
		return places
	}
	for i, a := range from {
		b := to[i]
		if reflect.TypeOf(a) != reflect.TypeOf(b) {
			return nil
		}
		put := func(x, y token.Pos, more int) { places[tf.Offset(x)+more] = uf.Offset(y) + more }
		put(a.Pos(), b.Pos(), 0)
		put(a.End(), b.End(), 0)
		switch a := a.(type) {
		case *ast.BlockStmt:
			b := b.(*ast.BlockStmt)
			put(a.Lbrace, b.Lbrace, 1)
			put(a.Rbrace, b.Rbrace, 0)
		case *ast.CaseClause:
			put(a.Colon, b.(*ast.CaseClause).Colon, 1)
		case *ast.CommClause:
			put(a.Colon, b.(*ast.CommClause).Colon, 1)
		}
	}
	return places
}

// statements lists the statements of a file's functions in source order, without
// those that cgo wraps around calls.
func statements(f *ast.File) []ast.Stmt {
	var list []ast.Stmt
	for _, d := range f.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			if lit, ok := n.(*ast.FuncLit); ok && madeByCgo(lit) {
				return false
			}
			if s, ok := n.(ast.Stmt); ok {
				list = append(list, s)
			}
			return true
		})
	}
	return list
}

// shape writes down the kinds and the nesting of the statements of each
// function. Literals that cgo wraps around calls are left out: cgo changes
// expressions and never statements.
func shape(f *ast.File) string {
	var b strings.Builder
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		fmt.Fprintf(&b, "\n%s ", fn.Name.Name)
		var open []bool // for each node that is being visited: is it a statement?
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if n == nil {
				if last := len(open) - 1; open[last] {
					b.WriteByte(')')
				}
				open = open[:len(open)-1]
				return true
			}
			if lit, ok := n.(*ast.FuncLit); ok && madeByCgo(lit) {
				return false
			}
			stmt, ok := n.(ast.Stmt)
			if ok {
				fmt.Fprintf(&b, "(%T", stmt)
			}
			open = append(open, ok)
			return true
		})
	}
	return b.String()
}

// madeByCgo reports whether a literal evaluates the arguments of a C function,
// as in func() C.int { _cgo0 := x; _cgoCheckPointer(_cgo0, nil); return … }().
func madeByCgo(lit *ast.FuncLit) bool {
	if len(lit.Body.List) == 0 {
		return false
	}
	assign, ok := lit.Body.List[0].(*ast.AssignStmt)
	if !ok {
		return false
	}
	id, ok := assign.Lhs[0].(*ast.Ident)
	return ok && strings.HasPrefix(id.Name, "_cgo")
}
