package spec

import (
	"errors"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func arg(i int) Operand          { return Operand{Kind: Arg, Index: i} }
func named(n string) Operand     { return Operand{Kind: Arg, Name: n} }
func result(i int) Operand       { return Operand{Kind: Result, Index: i} }
func recv() Operand              { return Operand{Kind: Recv} }
func args() Operand              { return Operand{Kind: Args} }
func at(line int) token.Position { return token.Position{Filename: "x.spec", Line: line} }

func TestParseClauses(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []Clause
	}{
		{"result 0 owned", []Clause{{Operand: result(0), Effect: Owned}}},
		{"recv freed", []Clause{{Operand: recv(), Effect: Freed}}},
		{"recv freed repeatable", []Clause{{Operand: recv(), Effect: Freed, Repeatable: true}}},
		{"arg 12 borrowed", []Clause{{Operand: arg(12), Effect: Borrowed}}},
		{"arg dst borrowed", []Clause{{Operand: named("dst"), Effect: Borrowed}}},
		{"args borrowed", []Clause{{Operand: args(), Effect: Borrowed}}},
		{"result 1 views result 0", []Clause{{Operand: result(1), Effect: Views, Of: result(0)}}},
		{"result 0 views args", []Clause{{Operand: result(0), Effect: Views, Of: args()}}},
		{"result 0 is recv", []Clause{{Operand: result(0), Effect: Is, Of: recv()}}},
		{"recv retained", []Clause{{Operand: recv(), Effect: Retained}}},
		{"arg 0 escapes", []Clause{{Operand: arg(0), Effect: Escapes}}},
		// a result that somebody else frees
		{"result 0 borrowed", []Clause{{Operand: result(0), Effect: Borrowed}}},
		{"result 0 escapes", []Clause{{Operand: result(0), Effect: Escapes}}},
		{"recv freed if arg 0 is true", []Clause{{Operand: recv(), Effect: Freed, Cond: Cond{ArgTrue, arg(0)}}}},
		{"recv freed repeatable if arg del is false", []Clause{{Operand: recv(), Effect: Freed, Repeatable: true, Cond: Cond{ArgFalse, named("del")}}}},
		{"arg 0 freed on success", []Clause{{Operand: arg(0), Effect: Freed, Cond: Cond{Kind: OnSuccess}}}},
		{"arg 0 freed on error", []Clause{{Operand: arg(0), Effect: Freed, Cond: Cond{Kind: OnError}}}},
		{"result 0 views arg 1 on success", []Clause{{Operand: result(0), Effect: Views, Of: arg(1), Cond: Cond{Kind: OnSuccess}}}},
		// clauses add up, and spaces do not matter
		{"\tresult 0 owned ,  result 0 views recv,recv borrowed\t# a header", []Clause{
			{Operand: result(0), Effect: Owned},
			{Operand: result(0), Effect: Views, Of: recv()},
			{Operand: recv(), Effect: Borrowed},
		}},
	} {
		got, err := ParseClauses(at(1), tt.text)
		require.NoError(t, err, tt.text)
		require.Equal(t, tt.want, got, tt.text)

		again, err := ParseClauses(at(1), formatClauses(got))
		require.NoError(t, err, "what prints must parse")
		require.Equal(t, got, again)
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"p.F", "no clause: say what the function does, as in \"arg 0 borrowed\""},
		{"p.F # only a comment", "no clause: say"},
		{"p.F recv", "recv: no effect: want one of owned, freed"},
		{"p.F arg", "arg: want an index from 0 or a name"},
		{"p.F arg -1 borrowed", "-1 is not an index: want a number from 0"},
		{"p.F arg 70000 borrowed", "70000 is not an index"},
		{"p.F arg 99999999999999999999 borrowed", "is not an index"},
		{"p.F arg _ borrowed", "arg _: want an index from 0 or a name"},
		{"p.F arg func borrowed", "arg func: want an index from 0 or a name"},
		{"p.F result owned", "result owned: want an index from 0"},
		{"p.F result n owned", "result n: want an index from 0"},
		{"p.F results owned", "unknown operand \"results\": want recv, arg N, arg NAME, args or result N"},
		{"p.F owned", "unknown operand \"owned\""},
		{"p.F arg 0 consumed", "unknown effect \"consumed\": want one of owned, freed, borrowed, views, is, retained, escapes"},
		{"p.F arg 0 borrowed,", "empty clause between commas"},
		{"p.F , arg 0 borrowed", "empty clause between commas"},
		{"p.F arg 0 borrowed arg 1 freed", "unexpected \"arg 1 freed\" after \"arg 0 borrowed\" (clauses are separated by commas)"},
		{"p.F arg 0 borrowed repeatable", "unexpected \"repeatable\""},
		{"p.F result 0 views", "result 0 views: want the operand that it views"},
		{"p.F result 0 is", "want the operand that it is"},
		{"p.F result 0 views arg", "arg: want an index"},
		{"p.F result 0 views result 0", "nothing is a view of itself"},
		{"p.F result 0 is args", "result 0 is args: want recv or one argument"},
		{"p.F arg 0 owned", "arg 0 owned: only a result can be owned"},
		{"p.F arg 0 views recv", "arg 0 views: only a result can be a view"},
		{"p.F result 0 freed", "result 0 freed: a result is never freed by the call that makes it"},
		{"p.F recv freed on failure", "on failure: want \"on success\" or \"on error\""},
		{"p.F recv freed on", "on : want"},
		{"p.F recv freed if arg 0", "if arg 0: want \"is true\" or \"is false\""},
		{"p.F recv freed if arg 0 is 1", "if arg 0 is 1: want true or false"},
		{"p.F recv freed if recv is true", "if recv: a condition asks for one argument"},
		{"p.F recv freed on error on success", "unexpected \"on success\""},
		{"p.F[T] recv freed", "p.F[T]: names are written without type parameters"},
		{"(*p.T[int]).Free recv freed", "names are written without type parameters"},
		{"F recv freed", "F: a function is written PKG.F, with the whole import path"},
		{"p.F*x args borrowed", "a star stands at the end of a name only"},
		{"(p.*T).F args borrowed", "a star stands at the end of a name only"},
		{"(**p.T).F args borrowed", "a star stands at the end of a name only"},
		{"p.T.M() recv freed", "a method is written (PKG.T).M or (*PKG.T).M"},
		{"(p.T.M recv freed", "no closing parenthesis"},
		{"(p.T)M recv freed", "a method is written (PKG.T).M"},
		{"(T).M recv freed", "the receiver is written (PKG.T) or (*PKG.T)"},
		{"p.F\xff args borrowed", "not UTF-8 text"},
		{"p.F: args borrowed", "with the whole import path"},
		{"p.F=1 args borrowed", "not the name of a function"},
	} {
		_, err := Parse("x.spec", []byte("# head\n"+tt.line+"\n"))
		require.ErrorContains(t, err, "x.spec:2: ", tt.line)
		require.ErrorContains(t, err, tt.want, tt.line)
		var e *Error
		require.True(t, errors.As(err, &e))
		require.Equal(t, at(2), e.Pos)
	}
}

func TestParseFile(t *testing.T) {
	f, err := Parse("x.spec", []byte("\ufeff# the grammar's example, with CRLF and tabs\r\n"+
		"\r\n"+
		"github.com/x/cv.NewMat\tresult 0 owned\r\n"+
		"(*github.com/x/cv.Mat).Close  recv freed # at the end\r\n"+
		"gopkg.in/cv.v2._Cfunc_Mat_* args borrowed"))
	require.NoError(t, err)
	require.Equal(t, []*Line{
		{Name: "github.com/x/cv.NewMat", Clauses: []Clause{{Operand: result(0), Effect: Owned}}, Pos: at(3)},
		{Name: "(*github.com/x/cv.Mat).Close", Clauses: []Clause{{Operand: recv(), Effect: Freed}}, Pos: at(4)},
		{Name: "gopkg.in/cv.v2._Cfunc_Mat_*", Clauses: []Clause{{Operand: args(), Effect: Borrowed}}, Pos: at(5)},
	}, f.Lines)
	require.Equal(t, []string{"github.com/x/cv", "github.com/x/cv", "gopkg.in/cv.v2"},
		[]string{f.Lines[0].PackagePath(), f.Lines[1].PackagePath(), f.Lines[2].PackagePath()})
}

// All errors come at once, good lines are kept, and a name has one line.
func TestParseAllErrors(t *testing.T) {
	f, err := Parse("x.spec", []byte("p.A recv eaten, arg x y\np.B recv freed\np.B args borrowed\np.C\n"))
	require.EqualError(t, err, strings.Join([]string{
		`x.spec:1: unknown effect "eaten": want one of owned, freed, borrowed, views, is, retained, escapes`,
		`x.spec:1: unknown effect "y": want one of owned, freed, borrowed, views, is, retained, escapes`,
		`x.spec:3: p.B has a line already, at line 2: write its clauses there, separated by commas`,
		`x.spec:4: no clause: say what the function does, as in "arg 0 borrowed"`,
	}, "\n"))
	require.Len(t, f.Lines, 1)
}

// FuzzParse: whatever parses prints a text that parses to the same lines, every
// error has the form file:line: message, and nothing panics.
func FuzzParse(f *testing.F) {
	std, err := sources.ReadFile("std.spec")
	require.NoError(f, err)
	f.Add(string(std[:2000]))
	f.Add("p.F result 0 owned, result 0 views arg dst if arg del is true\n(*p.T).M* recv freed repeatable on error")
	f.Add("(* args borrowed\n* args borrowed\n(p.T).* recv retained\n# x\n\n(error).Error recv borrowed")
	f.Fuzz(func(t *testing.T, src string) {
		file, err := Parse("x.spec", []byte(src))
		if err != nil {
			for _, line := range strings.Split(err.Error(), "\n") {
				if !strings.HasPrefix(line, "x.spec:") && !strings.ContainsAny(src, "\r\u0085\u2028") {
					t.Fatalf("error without position: %q", line)
				}
			}
		}
		var b strings.Builder
		for _, l := range file.Lines {
			if len(l.Clauses) == 0 {
				t.Fatalf("%s: a line without clauses", l.Name)
			}
			b.WriteString(l.String() + "\n")
			l.PackagePath()
		}
		again, err := Parse("x.spec", []byte(b.String()))
		if err != nil {
			t.Fatalf("%q: %v", b.String(), err)
		}
		for i, l := range file.Lines {
			l.Pos, again.Lines[i].Pos = token.Position{}, token.Position{}
		}
		require.Equal(t, file.Lines, again.Lines)
	})
}
