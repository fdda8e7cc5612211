package spec

import (
	"fmt"
	"go/types"
	"slices"
)

// Bind returns the operands of a function with this signature that o names:
// one with Kind Recv, Arg or Result and an Index, or, for args, one for each
// argument. It says what is absent.
func (o Operand) Bind(sig *types.Signature) ([]Operand, error) {
	switch o.Kind {
	case Recv:
		if sig.Recv() == nil {
			return nil, fmt.Errorf("%s: the function has no receiver", o)
		}
		return []Operand{o}, nil
	case Args:
		all := make([]Operand, sig.Params().Len())
		for i := range all {
			all[i] = Operand{Kind: Arg, Index: i}
		}
		return all, nil
	case Arg:
		params := sig.Params()
		if o.Name == "" {
			if o.Index >= params.Len() {
				return nil, fmt.Errorf("%s: the function has %s", o, count(params.Len(), "argument"))
			}
			return []Operand{o}, nil
		}
		for i := range params.Len() {
			if params.At(i).Name() == o.Name {
				return []Operand{{Kind: Arg, Index: i}}, nil
			}
		}
		return nil, fmt.Errorf("%s: the function has no argument of that name", o)
	case Result:
		if o.Index >= sig.Results().Len() {
			return nil, fmt.Errorf("%s: the function has %s", o, count(sig.Results().Len(), "result"))
		}
		return []Operand{o}, nil
	}
	return nil, fmt.Errorf("%s: unknown operand", o)
}

// Type returns the type of a bound operand.
func (o Operand) Type(sig *types.Signature) types.Type {
	switch o.Kind {
	case Recv:
		return sig.Recv().Type()
	case Result:
		return sig.Results().At(o.Index).Type()
	}
	return sig.Params().At(o.Index).Type()
}

func count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Bind returns the clauses of a line for a function with this signature: every
// operand has an Index in place of a name, and args are spelled out. A clause
// whose operand is absent says nothing; a condition over an argument that is
// absent never holds, so its clause says nothing either; nor does a clause that
// makes an error, a bool, a string or a float own something. Globs need this,
// for other lines [Check] reports it.
func Bind(clauses []Clause, sig *types.Signature) []Clause {
	var bound []Clause
	for _, c := range clauses {
		if c.Cond.Kind == ArgTrue || c.Cond.Kind == ArgFalse {
			arg, err := c.Cond.Arg.Bind(sig)
			if err != nil {
				continue
			}
			c.Cond.Arg = arg[0]
		}
		operands, err := c.Operand.Bind(sig)
		if err != nil {
			continue
		}
		ofs := []Operand{{}}
		if c.Effect == Views || c.Effect == Is {
			if ofs, err = c.Of.Bind(sig); err != nil {
				continue
			}
		}
		for _, o := range operands {
			if cannotOwn(c.Effect, o.Type(sig)) {
				continue
			}
			for _, of := range ofs {
				b := c
				b.Operand, b.Of = o, of
				bound = append(bound, b)
			}
		}
	}
	return bound
}

// Implied returns what a line says besides its clauses of a function with this
// signature. A glob says what becomes of operands, of functions that its author may
// not have read: what it lends may come back in a result that has no clause, unless
// back, which is asked with both bound, knows better. Such a result views it, and is
// otherwise as it is without the line.
func (l *Line) Implied(sig *types.Signature, back func(result, of Operand) bool) []Clause {
	if !l.IsGlob() {
		return nil
	}
	named := map[int]bool{}
	for _, c := range l.Clauses {
		if c.Operand.Kind == Result {
			named[c.Operand.Index] = true
		}
	}
	var implied []Clause
	for _, c := range Bind(l.Clauses, sig) {
		if c.Effect != Borrowed || c.Operand.Kind == Result || !canLead(c.Operand.Type(sig), nil) {
			continue
		}
		for i := range sig.Results().Len() {
			result := Operand{Kind: Result, Index: i}
			if !named[i] && canLead(result.Type(sig), nil) && back(result, c.Operand) {
				implied = append(implied, Clause{Operand: result, Effect: Views, Of: c.Operand})
			}
		}
	}
	return implied
}

// canLead reports whether a value of type t can lead to memory of somebody else's.
// Numbers but addresses, and errors, are taken for values of their own.
func canLead(t types.Type, in []types.Type) bool {
	if slices.Contains(in, t) {
		return false
	}
	in = append(in, t)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.Uintptr || u.Kind() == types.String || u.Kind() == types.UnsafePointer
	case *types.Array:
		return canLead(u.Elem(), in)
	case *types.Struct:
		for f := range u.Fields() {
			if canLead(f.Type(), in) {
				return true
			}
		}
		return false
	}
	return !types.Identical(t, types.Universe.Lookup("error").Type())
}

// HasError reports whether the last result is an error, so that "on success"
// and "on error" mean something.
func HasError(sig *types.Signature) bool {
	n := sig.Results().Len()
	return n > 0 && types.Identical(sig.Results().At(n-1).Type(), types.Universe.Lookup("error").Type())
}
