package lift

import (
	"fmt"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// A Key is what a condition asks: that a value is not nil, that two values compare so, that there is
// something in a slice, or that a value is true. Conditions with one key are equal as long as none of its
// values is computed again, since values of SSA do not change.
type Key struct {
	Op   token.Token // NEQ with Y nil: it is not nil; ILLEGAL: it is true; MUL: there is something in it
	X, Y any         // a ssa.Value or, for a constant, its text
}

// NonNil is that a value is not nil.
func NonNil(v ssa.Value) Key { return Key{Op: token.NEQ, X: v} }

// IsTrue is that a value is true.
func IsTrue(v ssa.Value) Key { return Key{X: v} }

// AsksNil reports whether the key is that a value is not nil.
func (k Key) AsksNil() bool { return k.Op == token.NEQ && k.Y == nil }

// AsksThere reports whether it is that, or that a slice has something in it.
func (k Key) AsksThere() bool { return k.AsksNil() || k.Op == token.MUL }

// Compares returns the two values of which the key is that they differ; nil if it is another one.
func (k Key) Compares() (x, y ssa.Value) {
	if vs := k.Values(); k.Op == token.NEQ && len(vs) == 2 {
		return vs[0], vs[1]
	}
	return nil, nil
}

// Values lists what a key is computed of.
func (k Key) Values() []ssa.Value {
	var out []ssa.Value
	for _, o := range []any{k.X, k.Y} {
		if v, ok := o.(ssa.Value); ok {
			out = append(out, v)
		}
	}
	return out
}

// String returns the condition as a golden has it.
func (k Key) String() string {
	name := func(o any) string {
		if v, ok := o.(ssa.Value); ok {
			return v.Name()
		}
		return fmt.Sprint(o)
	}
	switch {
	case k.AsksNil():
		return name(k.X) + " != nil"
	case k.AsksThere():
		return "something in " + name(k.X)
	case k.Y == nil:
		return name(k.X)
	}
	return fmt.Sprintf("%s %s %s", name(k.X), k.Op, name(k.Y))
}

// Operand is what stands for a value in a key.
func Operand(v ssa.Value) any {
	if c, ok := v.(*ssa.Const); ok {
		return c.String()
	}
	return v
}

// AsksSome returns the slice of which a comparison asks whether there is something in it, and whether it is
// true where there is nothing; nil for any other comparison.
func AsksSome(b *ssa.BinOp) (of ssa.Value, not bool) {
	x, y, op := b.X, b.Y, b.Op
	if _, turned := x.(*ssa.Const); turned {
		x, y = y, x
		op = map[token.Token]token.Token{token.LSS: token.GTR, token.LEQ: token.GEQ, token.GTR: token.LSS, token.GEQ: token.LEQ,
			token.EQL: token.EQL, token.NEQ: token.NEQ}[op]
	}
	c, ok := x.(*ssa.Call)
	n, number := y.(*ssa.Const)
	if !ok || !number || n.Value == nil {
		return nil, false
	}
	if l, builtin := c.Call.Value.(*ssa.Builtin); !builtin || l.Name() != "len" {
		return nil, false
	}
	if _, slice := c.Call.Args[0].Type().Underlying().(*types.Slice); !slice {
		return nil, false
	}
	switch n, op := n.Int64(), op; {
	case n == 0 && (op == token.GTR || op == token.NEQ), n == 1 && op == token.GEQ:
		return c.Call.Args[0], false
	case n == 0 && (op == token.EQL || op == token.LEQ), n == 1 && op == token.LSS:
		return c.Call.Args[0], true
	}
	return nil, false
}
