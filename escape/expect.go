package escape

// What a test expects to fail makes nothing: a call whose error the test asks
// for, and code that it expects to panic.

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/internal/report"
)

// expected returns why what a site makes is not made in a test that passes, or is freed twice in one that
// expects that to fail; "" if neither is so.
func (p *subject) expected(s *pointsto.Site) string {
	if f := failing(s.Error); f != nil {
		return "the test expects the call to fail: " + report.FuncName(f, p.types)
	}
	called := map[*types.Func]bool{}
	for _, c := range alone(s.Value) {
		m := calls.Called(&c.Call)
		if f := failing(c); f != nil && called[m] {
			return "the test calls it twice, and expects that to fail: " + report.FuncName(f, p.types)
		}
		called[m] = true
	}
	if f := p.expectsPanic(s.Pos()); f != nil {
		return "the test expects a panic: " + report.FuncName(f, p.types)
	}
	return ""
}

// failing returns the assertion that is given an error and expects that it is there; nil if none is.
func failing(err ssa.Value) *types.Func {
	if err == nil || err.Referrers() == nil {
		return nil
	}
	for _, u := range *err.Referrers() {
		c, ok := u.(*ssa.Call)
		if !ok {
			continue
		}
		if f := calls.Called(&c.Call); asserts(f, "Error", "EqualError") {
			return f
		}
	}
	return nil
}

// alone lists the calls that a value is the only operand of, in the order of the text.
func alone(v ssa.Value) (out []*ssa.Call) {
	if v.Referrers() == nil {
		return nil
	}
	for _, u := range *v.Referrers() {
		if c, ok := u.(*ssa.Call); ok && slices.Equal(calls.Operands(&c.Call), []ssa.Value{v}) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *ssa.Call) int { return cmp.Compare(a.Pos(), b.Pos()) })
	return out
}

// asserts reports whether f is one of testify's assertions whose names begin
// with one of the prefixes.
func asserts(f *types.Func, prefixes ...string) bool {
	if f == nil || f.Pkg() == nil {
		return false
	}
	switch f.Pkg().Path() {
	case "github.com/stretchr/testify/assert", "github.com/stretchr/testify/require", "github.com/stretchr/testify/suite":
	default:
		return false
	}
	for _, p := range prefixes {
		if strings.HasPrefix(f.Name(), p) {
			return true
		}
	}
	return false
}

// A panicking is a literal that is given to an assertion which expects it to panic.
type panicking struct {
	lit *ast.FuncLit
	by  *types.Func
}

// expectsPanic returns the assertion that is given a literal around pos, if it expects a panic; else nil.
func (p *subject) expectsPanic(pos token.Pos) (by *types.Func) {
	file := p.file(pos)
	if file == nil {
		return nil
	}
	in, ok := p.panics[file]
	if !ok {
		in = p.panickingIn(file)
		p.panics[file] = in
	}
	for _, c := range in {
		if c.lit.Pos() <= pos && pos < c.lit.End() {
			by = c.by
		}
	}
	return by
}

// panickingIn lists the literals of a file that are given to assertions which expect a panic.
func (p *subject) panickingIn(file *ast.File) (out []panicking) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f := typeutil.StaticCallee(p.info, call); asserts(f, "Panics") {
			for _, a := range call.Args {
				if lit, ok := ast.Unparen(a).(*ast.FuncLit); ok {
					out = append(out, panicking{lit, f})
				}
			}
		}
		return true
	})
	return out
}
