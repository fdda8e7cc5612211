package escape_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"

	"github.com/lastuse/lastuse/escape/spec"
)

// TestMutation deletes every free of a local variable in code that lastuse finds
// nothing wrong with but lateness, runs -fix and counts how many come back, and
// where. A deleted free leaves "_ = x" behind, so that the variable stays used;
// that is no use for lastuse, and it marks the place.
//
// A free is at a wrong place if its variable is read afterwards: in a later
// statement of the same list or of one around it, before it is assigned again.
func TestMutation(t *testing.T) {
	for _, c := range checkouts(t) {
		t.Run(c.name, func(t *testing.T) {
			report, _ := c.run(t, []int{0, 1, 3}, "-json")
			bad := badLines(t, c.dir, report)
			frees := c.frees(t, bad)
			require.NotEmpty(t, frees)
			deleteFrees(t, frees)
			_, said := c.run(t, []int{0, 1, 3}, "-fix")
			t.Log(lastLine(said))
			var s score
			for file, list := range byFile(frees) {
				s.count(t, file, list)
			}
			t.Logf("%d frees deleted, %d deferred; %d restored (%.0f %%)", len(frees), s.deferred, s.restored, 100*float64(s.restored)/float64(len(frees)))
			t.Logf("frees that were not deferred: %d restored, %d at their place, %d earlier by %.1f statements on average, %d later, %d in another block",
				s.plain, s.same, s.earlier, s.mean(), s.later, s.elsewhere)
			require.Empty(t, strings.Join(s.wrong, "\n"), "restored at a wrong place")
		})
	}
}

// A deletedFree is one statement x.Close() or defer x.Close().
type deletedFree struct {
	file       string
	start, end int // bytes of the statement
	fn         string
	name       string // of the variable
	method     string
	deferred   bool
}

// badLines returns the lines with findings other than late, by file.
func badLines(t *testing.T, dir, report string) map[string][]int {
	var tree map[string]map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(report), &tree))
	lines := map[string][]int{}
	for _, pkg := range tree {
		for _, raw := range pkg {
			var list []struct{ Posn, Category string }
			if json.Unmarshal(raw, &list) != nil {
				continue // an error of the package
			}
			for _, d := range list {
				parts := strings.Split(d.Posn, ":")
				if len(parts) < 3 || d.Category == "late" {
					continue
				}
				name := strings.Join(parts[:len(parts)-2], ":")
				if !filepath.IsAbs(name) {
					name = filepath.Join(dir, name)
				}
				var line int
				_, err := fmt.Sscan(parts[len(parts)-2], &line)
				require.NoError(t, err)
				lines[name] = append(lines[name], line)
			}
		}
	}
	return lines
}

// frees finds the statements to delete.
func (c *checkout) frees(t *testing.T, bad map[string][]int) []deletedFree {
	set, err := spec.Load(nil, "")
	require.NoError(t, err)
	cfg := &packages.Config{Dir: c.dir, Env: c.env, Mode: packages.LoadSyntax | packages.NeedForTest, Tests: true}
	pkgs, err := packages.Load(cfg, strings.Fields(*subset)...)
	require.NoError(t, err)
	seen := map[string]bool{}
	var all []deletedFree
	for _, p := range pkgs {
		for _, f := range p.Syntax {
			tf := p.Fset.File(f.FileStart)
			if !strings.HasPrefix(tf.Name(), c.dir) || ast.IsGenerated(f) {
				continue
			}
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil || slices.ContainsFunc(bad[tf.Name()], func(n int) bool { return tf.Line(fn.Pos()) <= n && n <= tf.Line(fn.End()) }) {
					continue
				}
				ast.Inspect(fn.Body, func(n ast.Node) bool {
					var call *ast.CallExpr
					deferred := false
					switch n := n.(type) {
					case *ast.ExprStmt:
						call, _ = n.X.(*ast.CallExpr)
					case *ast.DeferStmt:
						call, deferred = n.Call, true
					}
					if call == nil || len(call.Args) > 0 {
						return true
					}
					sel, ok := call.Fun.(*ast.SelectorExpr)
					if !ok || p.TypesInfo.Selections[sel] == nil {
						return true
					}
					id, ok := sel.X.(*ast.Ident)
					if !ok {
						return true
					}
					v, ok := p.TypesInfo.Uses[id].(*types.Var)
					if !ok || v.Pos() < fn.Body.Pos() || v.Pos() > fn.Body.End() || rangeVariable(fn.Body, v) {
						return true
					}
					m, ok := p.TypesInfo.Selections[sel].Obj().(*types.Func)
					if !ok {
						return true
					}
					line, ok := set.Lookup(spec.FullName(m))
					if !ok || !slices.ContainsFunc(line.Clauses, func(c spec.Clause) bool { return c.Effect == spec.Freed }) {
						return true
					}
					d := deletedFree{file: tf.Name(), start: tf.Offset(n.Pos()), end: tf.Offset(n.End()), fn: funcName(fn), name: id.Name, method: m.Name(), deferred: deferred}
					key := fmt.Sprint(d.file, d.start)
					if !seen[key] {
						seen[key] = true
						all = append(all, d)
					}
					return true
				})
			}
		}
	}
	slices.SortFunc(all, func(a, b deletedFree) int { return cmp.Or(strings.Compare(a.file, b.file), a.start-b.start) })
	return all
}

// funcName tells the functions of a file apart.
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	return types.ExprString(fn.Recv.List[0].Type) + "." + fn.Name.Name
}

// rangeVariable reports whether v is declared by a range clause or as a
// parameter of a literal: it owns nothing by itself.
func rangeVariable(body *ast.BlockStmt, v *types.Var) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			found = found || n.Pos() <= v.Pos() && v.Pos() < n.Body.Pos()
		case *ast.FuncType:
			found = found || n.Pos() <= v.Pos() && v.Pos() < n.End()
		}
		return !found
	})
	return found
}

func byFile(frees []deletedFree) map[string][]deletedFree {
	m := map[string][]deletedFree{}
	for _, d := range frees {
		m[d.file] = append(m[d.file], d)
	}
	return m
}

func deleteFrees(t *testing.T, frees []deletedFree) {
	for file, list := range byFile(frees) {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, d := range slices.Backward(list) {
			src = slices.Replace(src, d.start, d.end, []byte("_ = "+d.name)...)
		}
		require.NoError(t, os.WriteFile(file, src, 0o644))
	}
}

type score struct {
	deferred, restored              int
	plain                           int
	same, earlier, later, elsewhere int
	distance                        int
	wrong                           []string
}

func (s *score) mean() float64 { return float64(s.distance) / float64(max(s.earlier, 1)) }

// A spot is a statement in its list.
type spot struct {
	stmt  ast.Stmt
	list  []ast.Stmt
	index int
	outer []spot // the statements that it is in, innermost first
}

// count compares a file after -fix with what was deleted from it.
func (s *score) count(t *testing.T, file string, list []deletedFree) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, 0)
	require.NoError(t, err)
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		mine := slices.DeleteFunc(slices.Clone(list), func(d deletedFree) bool { return d.fn != funcName(fn) })
		if len(mine) == 0 {
			continue
		}
		places := placesOf(fn.Body)
		marks, frees := map[string][]spot{}, map[*ast.Object][]spot{}
		names := map[*ast.Object]*ast.Object{}
		for _, p := range places {
			if v, of := assertedOf(p.stmt); v != nil {
				names[v] = of
			}
			if v := markOf(p.stmt); v != nil {
				marks[v.Name] = append(marks[v.Name], p)
			}
			if v, _ := freeOf(p.stmt); v != nil {
				frees[v] = append(frees[v], p)
			}
		}
		used := map[ast.Stmt]bool{}
		k := map[string]int{}
		for _, d := range mine {
			if d.deferred {
				s.deferred++
			}
			if k[d.name] >= len(marks[d.name]) {
				continue // the fix dropped the mark with what it stood in
			}
			mark := marks[d.name][k[d.name]]
			k[d.name]++
			v := markOf(mark.stmt)
			back, ok := nearest(mark, frees[v], d.method, used)
			if of := names[v]; !ok && of != nil { // freed by the name of what it was asserted from
				back, ok = nearest(mark, frees[of], d.method, used)
			}
			if !ok {
				t.Logf("not restored: %s.%s() of %s, at %s", d.name, d.method, d.fn, fset.Position(mark.stmt.Pos()))
				continue
			}
			used[back.stmt] = true
			s.restored++
			if at := back.mentionedAfter(v); at.IsValid() {
				s.wrong = append(s.wrong, fmt.Sprintf("%s: %s.%s(), but %s is mentioned at line %d", fset.Position(back.stmt.Pos()), d.name, d.method, d.name, fset.Position(at).Line))
			}
			if d.deferred {
				continue
			}
			s.plain++
			if &back.list[0] != &mark.list[0] {
				s.elsewhere++
				continue
			}
			n := between(mark, back)
			switch {
			case n == 0:
				s.same++
			case back.index < mark.index:
				s.earlier++
				s.distance += n
			default:
				s.later++
			}
		}
	}
}

// nearest picks the free that stands for a deleted one: in the same list if
// there is one, else the first that is left.
func nearest(mark spot, frees []spot, method string, used map[ast.Stmt]bool) (spot, bool) {
	best, found := spot{}, false
	for _, p := range frees {
		if _, m := freeOf(p.stmt); m != method || used[p.stmt] {
			continue
		}
		if &p.list[0] == &mark.list[0] {
			return p, true
		}
		if !found {
			best, found = p, true
		}
	}
	return best, found
}

// between counts the statements between two of one list that do something.
func between(a, b spot) int {
	lo, hi := min(a.index, b.index), max(a.index, b.index)
	n := 0
	for _, s := range a.list[lo+1 : hi] {
		if v, _ := freeOf(s); v == nil && markOf(s) == nil {
			n++
		}
	}
	return n
}

// markOf returns x of "_ = x". The parser resolves the names of local variables.
func markOf(s ast.Stmt) *ast.Object {
	as, ok := s.(*ast.AssignStmt)
	if !ok || as.Tok != token.ASSIGN || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
		return nil
	}
	l, ok1 := as.Lhs[0].(*ast.Ident)
	r, ok2 := as.Rhs[0].(*ast.Ident)
	if !ok1 || !ok2 || l.Name != "_" {
		return nil
	}
	return r.Obj
}

// freeOf takes x.M(), defer x.M() and if x != nil { x.M() } apart.
func freeOf(s ast.Stmt) (v *ast.Object, method string) {
	var call *ast.CallExpr
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, _ = s.X.(*ast.CallExpr)
	case *ast.DeferStmt:
		call = s.Call
	case *ast.IfStmt:
		if s.Init == nil && s.Else == nil && len(s.Body.List) == 1 {
			return freeOf(s.Body.List[0])
		}
	}
	if call == nil || len(call.Args) > 0 {
		return nil, ""
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil, ""
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return nil, ""
	}
	return id.Obj, sel.Sel.Name
}

// placesOf lists the statements of a body.
func placesOf(body *ast.BlockStmt) []spot {
	var all []spot
	var stack []spot
	var visit func(list []ast.Stmt)
	inside := func(n ast.Node) {
		ast.Inspect(n, func(m ast.Node) bool {
			switch m := m.(type) {
			case *ast.BlockStmt:
				visit(m.List)
				return false
			case *ast.CaseClause:
				visit(m.Body)
				return false
			case *ast.CommClause:
				visit(m.Body)
				return false
			}
			return true
		})
	}
	visit = func(list []ast.Stmt) {
		for i, s := range list {
			p := spot{stmt: s, list: list, index: i, outer: slices.Clone(stack)}
			slices.Reverse(p.outer)
			all = append(all, p)
			stack = append(stack, p)
			inside(s)
			stack = stack[:len(stack)-1]
		}
	}
	visit(body.List)
	return all
}

// mentionedAfter returns where v is mentioned after p runs, before it is
// assigned again.
func (p spot) mentionedAfter(v *ast.Object) token.Pos {
	for _, q := range append([]spot{p}, p.outer...) {
		switch s := q.stmt.(type) {
		case *ast.DeferStmt: // what is deferred runs behind all of them
			return token.NoPos
		case *ast.IfStmt:
			if q.stmt == p.stmt && defers(s.Body) { // if x != nil { defer x.M() }
				return token.NoPos
			}
		case *ast.CaseClause, *ast.CommClause:
			continue // after one clause comes none of the others
		}
		for _, s := range q.list[q.index+1:] {
			switch s := s.(type) {
			case *ast.AssignStmt:
				for _, r := range s.Rhs {
					if at := mention(r, v); at.IsValid() && markOf(s) == nil {
						return at
					}
				}
				for _, l := range s.Lhs {
					if id, ok := l.(*ast.Ident); ok && id.Obj == v {
						return token.NoPos
					}
				}
				continue
			case *ast.ReturnStmt:
				return mention(s, v)
			case *ast.BranchStmt:
				return token.NoPos
			case *ast.ExprStmt:
				if call, ok := s.X.(*ast.CallExpr); ok {
					if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" {
						return mention(s, v)
					}
				}
			}
			if at := mention(s, v); at.IsValid() {
				return at
			}
		}
	}
	return token.NoPos
}

// assertedOf takes v := of.(T) apart.
func assertedOf(s ast.Stmt) (v, of *ast.Object) {
	as, ok := s.(*ast.AssignStmt)
	if !ok || as.Tok != token.DEFINE || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
		return nil, nil
	}
	l, ok1 := as.Lhs[0].(*ast.Ident)
	r, ok2 := as.Rhs[0].(*ast.TypeAssertExpr)
	if !ok1 || !ok2 {
		return nil, nil
	}
	x, ok := r.X.(*ast.Ident)
	if !ok {
		return nil, nil
	}
	return l.Obj, x.Obj
}

// defers reports whether a body begins with a deferred call.
func defers(body *ast.BlockStmt) bool {
	if len(body.List) == 0 {
		return false
	}
	_, ok := body.List[0].(*ast.DeferStmt)
	return ok
}

// mention finds the variable in n, where that reads the buffer: not in marks,
// comparisons with nil and assertions that ask for the type alone.
func mention(n ast.Node, v *ast.Object) token.Pos {
	at := token.NoPos
	ast.Inspect(n, func(m ast.Node) bool {
		switch m := m.(type) {
		case *ast.AssignStmt:
			if id, ok := m.Lhs[0].(*ast.Ident); ok && id.Name == "_" {
				if _, ok := m.Rhs[0].(*ast.TypeAssertExpr); ok {
					return false
				}
			}
			return markOf(m) == nil
		case *ast.BinaryExpr:
			if id, ok := m.Y.(*ast.Ident); ok && id.Name == "nil" {
				return false
			}
		case *ast.Ident:
			if m.Obj == v && !at.IsValid() {
				at = m.Pos()
			}
		}
		return true
	})
	return at
}
