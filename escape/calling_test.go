package escape

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCalling has functions that call f, their only operand of this name, in one way or another.
func TestCalling(t *testing.T) {
	tests := []struct {
		name, src string
		want      Calling
	}{
		{"once", `func g(f func()) { f() }`, CallsOnce},
		{"with results", `func g(n int, f func(int) int) int { return 1 + f(n) }`, CallsOnce},
		{"in a header", `func g(f func() bool) { if f() { println(1) } }`, CallsOnce},
		{"before a branch", `func g(c bool, f func()) { f(); if c { return }; println(1) }`, CallsOnce},
		{"behind a branch", `func g(c bool, f func()) { if c { println(1) }; f() }`, CallsOnce},
		{"behind a loop", `func g(n int, f func()) { for range n { println(1) }; f() }`, CallsOnce},
		{"in parentheses", `func g(f func()) { (f)() }`, CallsOnce},
		{"by another", `func h(f func()) { f() }; func g(f func()) { h(f) }`, CallsOnce},
		{"by a method", `type T int; func (t T) h(f func()) { f() }; func g(t T, f func()) { t.h(f) }`, CallsOnce},
		{"generic", `func g[T any](x T, f func(T)) { f(x) }`, CallsOnce},
		{"where it returns", `func g(c bool, f func()) { if c { panic(1) }; f() }`, CallsOnce},
		{"of a named type", `type F func(); func g(f F) { f() }`, CallsOnce},
		{"never", `func g(f func()) { println(1) }`, CallsInTurn},
		{"blank", `func g(_ func()) { println(1) }`, CallsInTurn},
		{"twice", `func g(f func()) { f(); f() }`, CallsInTurn},
		{"on two paths", `func g(c bool, f func()) { if c { f() } else { f() } }`, CallsInTurn},
		{"on some paths", `func g(c bool, f func()) { if c { f() } }`, CallsInTurn},
		{"unless it returns", `func g(c bool, f func()) { if c { return }; f() }`, CallsInTurn},
		{"behind and", `func g(c bool, f func() bool) { if c && f() { println(1) } }`, CallsInTurn},
		{"if it is not nil", `func g(f func()) { if f != nil { f() } }`, CallsInTurn},
		{"in a loop", `func g(n int, f func()) { for range n { f() } }`, CallsInTurn},
		{"in a loop that is left", `func g(f func() bool) { for { if f() { return } } }`, CallsInTurn},
		{"in a loop by goto", `func g(f func() bool) { again: if f() { goto again } }`, CallsInTurn},
		{"for each of an iterator", `func g(s func(func(int) bool), f func(int)) { for i := range s { f(i) } }`, CallsInTurn},
		{"by another, in turn", `func h(f func()) { f(); f() }; func g(f func()) { h(f) }`, CallsInTurn},
		{"by itself", `func g(n int, f func()) { f(); if n > 0 { g(n-1, f) } }`, CallsInTurn},
		{"by itself as another", `func g(n int, f, x func()) { x(); if n > 0 { g(n-1, x, f) } }`, CallsAnyhow},
		{"by each other", `func h(n int, f func()) { g(n, f) }; func g(n int, f func()) { if n > 0 { h(n-1, f) }; f() }`, CallsAnyhow},
		{"on a goroutine", `func g(f func()) { go f() }`, CallsAnyhow},
		{"as an operand of a goroutine", `func h(f func()) { f() }; func g(f func()) { go h(f) }`, CallsAnyhow},
		{"deferred", `func g(f func()) { defer f() }`, CallsAnyhow},
		{"in a literal", `func g(f func()) { func() { f() }() }`, CallsAnyhow},
		{"by another name", `func g(f func()) { h := f; h() }`, CallsAnyhow},
		{"assigned", `func g(f func()) { f(); f = nil }`, CallsAnyhow},
		{"its address is taken", `func g(f func()) { p := &f; (*p)() }`, CallsAnyhow},
		{"returned", `func g(f func()) func() { f(); return f }`, CallsAnyhow},
		{"kept", `var kept func(); func g(f func()) { f(); kept = f }`, CallsAnyhow},
		{"sent", `func g(c chan func(), f func()) { f(); c <- f }`, CallsAnyhow},
		{"by a function that is not known", `func g(h func(func()), f func()) { h(f) }`, CallsAnyhow},
		{"by a method that is not known", `func g(x interface{ h(func()) }, f func()) { x.h(f) }`, CallsAnyhow},
		{"by one of several", `func h(f ...func()) { f[0]() }; func g(f func()) { h(f) }`, CallsAnyhow},
		{"converted", `type F func(); func g(f func()) { F(f)() }`, CallsAnyhow},
		{"recovers", `func g(f func()) { defer func() { recover() }(); f() }`, CallsAnyhow},
		{"by one that recovers", `func h(f func()) { defer func() { recover() }(); f() }; func g(f func()) { f(); h(nil) }`, CallsAnyhow},
		{"as a spec says", "//lastuse:effect arg 0 borrowed\nfunc g(f func()) { f() }", CallsAnyhow},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, fns := checked(t, "p.go", "package p\n\n"+test.src)
			for _, f := range fns {
				if f.name == "p.g" {
					for i := range f.sig.Params().Len() {
						if f.sig.Params().At(i).Name() == "f" || f.sig.Params().At(i).Name() == "_" {
							require.Equal(t, test.want.String(), p.summaryOf(f.obj).arg(i).Calls.String())
							return
						}
					}
				}
			}
			t.Fatal("no function g with an operand f")
		})
	}
}
