package spec

import (
	"fmt"
	"go/types"
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

// HasError reports whether the last result is an error, so that "on success"
// and "on error" mean something.
func HasError(sig *types.Signature) bool {
	n := sig.Results().Len()
	return n > 0 && types.Identical(sig.Results().At(n-1).Type(), types.Universe.Lookup("error").Type())
}
