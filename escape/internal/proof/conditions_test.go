//go:build long

package proof_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/ast/astutil"
)

var updateConditions = flag.Bool("update-conditions", false, "write testdata/conditions.txt anew")

// TestConditions runs the tests of this package with each operand of && and ||, and each other condition of
// an if or a case, watched: does it ever say something else than what lets it drop out? Where it does not,
// the tests are the same without it, so it is a rule that no test asks for, or none at all. Those that are
// left stand in testdata/conditions.txt, which may only get shorter:
//
//	go test -tags long ./escape/internal/proof -run TestConditions -update-conditions
//
// Not asked for are tests of ok and of nil, as what is there depends on go/ssa and go/ast alone, and limits.
func TestConditions(t *testing.T) {
	dir := t.TempDir()
	overlay, conditions := watched(t, dir)
	cmd := exec.Command("go", "test", "-count=1", "-overlay", overlay, ".")
	cmd.Env = append(os.Environ(), "CONDITIONS="+filepath.Join(dir, "seen"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)

	seen, err := os.ReadFile(filepath.Join(dir, "seen"))
	require.NoError(t, err)
	needed := map[string]bool{}
	for n := range strings.FieldsSeq(string(seen)) {
		needed[n] = true
	}
	var got []string
	for n, c := range conditions {
		if !needed[strconv.Itoa(n)] && !obvious.MatchString(c[strings.Index(c, "\t")+1:]) {
			got = append(got, c)
		}
	}
	slices.Sort(got)
	t.Logf("%d of %d conditions are needed, %d are left, the others are tests of ok, of nil and of limits",
		len(needed), len(conditions), len(got))

	const list = "testdata/conditions.txt"
	if *updateConditions {
		require.NoError(t, os.WriteFile(list, []byte(strings.Join(got, "\n")+"\n"), 0o644))
	}
	known, err := os.ReadFile(list)
	require.NoError(t, err)
	left := strings.Split(strings.TrimSpace(string(known)), "\n")
	for _, c := range got {
		if i := slices.Index(left, c); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			t.Errorf("no test needs this condition; give it one, or drop it: %s", c)
		}
	}
	for _, c := range left {
		t.Errorf("a test needs this condition now, or it is gone; drop it from %s: %s", list, c)
	}
}

// obvious are conditions that are not asked for.
var obvious = regexp.MustCompile(`^\S+ (!?ok\d?|.*[!=]= nil|.*\bmax[A-Z]\w*|.*\btooBig|.*\.over [!=]= ""|d\.budget < 0)$`)

// watched copies the files of this package to dir with each condition watched, and returns the overlay for
// the go command, and of each condition its function, what it is an operand of, and its text.
func watched(t *testing.T, dir string) (overlay string, conditions []string) {
	here, err := os.Getwd()
	require.NoError(t, err)
	replace := map[string]string{}
	put := func(name string, text []byte) {
		to := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(to, text, 0o644))
		replace[filepath.Join(here, name)] = to
	}
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, 0)
		require.NoError(t, err)
		conditions = watch(fset, f, conditions)
		var b bytes.Buffer
		require.NoError(t, format.Node(&b, fset, f))
		put(name, b.Bytes())
	}
	put("watch.go", fmt.Appendf(nil, watchText, len(conditions)))
	put("watch_test.go", []byte(watchTest))
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay = filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, text, 0o644))
	return overlay, conditions
}

// watch puts a call around each condition of f, and adds the conditions to a list.
func watch(fset *token.FileSet, f *ast.File, list []string) []string {
	isLogic := func(x ast.Node) (token.Token, bool) {
		b, ok := x.(*ast.BinaryExpr)
		if !ok || b.Op != token.LAND && b.Op != token.LOR {
			return 0, false
		}
		return b.Op, true
	}
	fn := ""
	texts, tagged := map[ast.Node]string{}, map[*ast.CaseClause]bool{}
	before := func(c *astutil.Cursor) bool {
		switch n := c.Node().(type) {
		case *ast.FuncDecl:
			fn = n.Name.Name
		case *ast.SwitchStmt:
			for _, s := range n.Body.List {
				tagged[s.(*ast.CaseClause)] = n.Tag != nil
			}
		case *ast.TypeSwitchStmt:
			for _, s := range n.Body.List {
				tagged[s.(*ast.CaseClause)] = true
			}
		case ast.Expr:
			var b bytes.Buffer
			_ = printer.Fprint(&b, fset, n) // to memory
			texts[n] = strings.Join(strings.Fields(b.String()), " ")
		}
		return true
	}
	after := func(c *astutil.Cursor) bool {
		x, isExpr := c.Node().(ast.Expr)
		if !isExpr {
			return true
		}
		op, logic := isLogic(x)
		what, drop := "", "false"
		switch p := c.Parent().(type) {
		case *ast.BinaryExpr:
			if of, ok := isLogic(p); ok && !(logic && op == of) {
				if what = of.String(); of == token.LAND {
					drop = "true"
				}
			}
		case *ast.IfStmt:
			if c.Name() == "Cond" && !logic {
				what = "if"
			}
		case *ast.CaseClause:
			if c.Name() == "List" && !tagged[p] && !logic {
				what = "case"
			}
		}
		if what != "" {
			c.Replace(&ast.CallExpr{Fun: ast.NewIdent("watch"), Args: []ast.Expr{
				&ast.BasicLit{Kind: token.INT, Value: strconv.Itoa(len(list))}, x, ast.NewIdent(drop)}})
			list = append(list, fmt.Sprintf("%s\t%s %s", fn, what, texts[x]))
		}
		return true
	}
	astutil.Apply(f, before, after)
	return list
}

const watchText = `package proof

import (
	"fmt"
	"os"
	"sync/atomic"
)

var seen [%d]atomic.Bool

func watch[T ~bool](n int, x, drop T) T {
	if x != drop {
		seen[n].Store(true)
	}
	return x
}

func WriteSeen(name string) error {
	var text []byte
	for n := range seen {
		if seen[n].Load() {
			text = fmt.Appendln(text, n)
		}
	}
	return os.WriteFile(name, text, 0o644)
}
`

const watchTest = `package proof_test

import (
	"os"
	"testing"

	"github.com/lastuse/lastuse/escape/internal/proof"
)

func TestMain(m *testing.M) {
	status := m.Run()
	if err := proof.WriteSeen(os.Getenv("CONDITIONS")); err != nil {
		panic(err)
	}
	os.Exit(status)
}
`
