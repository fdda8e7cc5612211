package escape

// Conditions: the few that are kept apart for a group, and what values are under each
// combination of them.

import (
	"go/token"
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// maxBits bounds the conditions that are kept apart.
const maxBits = 5

// A bit is a condition: v is not nil, or v is true.
type bit struct {
	v      *value
	nonnil bool
}

// chooseBits picks the conditions that matter to the group: first the errors
// of the calls that make its objects, then what is correlated with them, then
// conditions that are tested more than once.
func (g *group) chooseBits() {
	has := func(v *value, nonnil bool) bool {
		for _, b := range g.bits {
			if b.v == v && b.nonnil == nonnil {
				return true
			}
		}
		return false
	}
	add := func(v *value, nonnil bool) {
		if nonnil && nonNil(v) {
			return
		}
		if len(g.bits) < maxBits && !has(v, nonnil) {
			g.bits = append(g.bits, bit{v, nonnil})
		}
	}
	// Conditions tested in the region, with how often.
	type atom struct {
		v      *value
		nonnil bool
	}
	count := map[atom]int{}
	var atoms []atom
	var note func(c *value, depth int)
	note = func(c *value, depth int) {
		if c == nil || depth > 4 {
			return
		}
		switch c.op {
		case opNot:
			note(c.args[0], depth+1)
			return
		case opCmp:
			if x, ok := nilTest(c); ok {
				x = errRoot(x)
				a := atom{x, true}
				if count[a] == 0 {
					atoms = append(atoms, a)
				}
				count[a]++
				return
			}
		case opConst, opNil:
			return
		case opCopy:
			if c.opaque() {
				break
			}
			note(c.args[0], depth+1)
			return
		case opResult:
			if x := errorsIs(c); x != nil {
				a := atom{errRoot(x), true}
				if count[a] == 0 {
					atoms = append(atoms, a)
				}
				count[a]++
				return
			}
		}
		a := atom{c, false}
		if count[a] == 0 {
			atoms = append(atoms, a)
		}
		count[a]++
	}
	for _, b := range g.region {
		if b.cond != nil && !g.guardsFree(b) {
			note(b.cond, 0)
		}
		if v := b.end(); v != nil && v.op == opReturn && len(v.args) > 0 {
			if last := v.args[len(v.args)-1]; isError(last.typ) && last.op != opNil {
				a := atom{errRoot(last), true}
				if count[a] == 0 {
					atoms = append(atoms, a)
				}
				count[a]++
			}
		}
	}
	// Conditions under which its objects are made: what is made under one is often
	// freed under the same one again.
	above := map[*block]bool{}
	for _, o := range g.objs {
		for b, n := o.def.blk, 0; len(b.preds) == 1 && n < 16; n++ {
			if b = b.preds[0]; g.inReg[b] || above[b] {
				break
			}
			above[b] = true
			if b.cond != nil {
				note(b.cond, 0)
			}
		}
	}
	for _, o := range g.objs {
		if o.errRes != nil && len(o.errRes.users) > 0 {
			add(o.errRes, true)
		}
		if o.okRes != nil && len(o.okRes.users) > 0 {
			add(o.okRes, false)
		}
		for _, evs := range sortedEvents(o) {
			for _, e := range evs {
				switch e.when.K {
				case OnSuccess, OnError:
					if e.call.call.errRes != nil && len(e.call.call.errRes.users) > 0 {
						add(e.call.call.errRes, true)
					}
				case IfTrue, IfFalse:
					if a := condArg(e.call, e.when); a != nil && count[atom{a, false}] > 0 {
						add(a, false)
					}
				}
			}
		}
	}
	// Phis over chosen bits or constants, and what they are made of.
	for range 3 {
		for _, a := range atoms {
			if a.v.op != opPhi {
				continue
			}
			for _, x := range a.v.args {
				x = errRoot(x)
				if has(x, a.nonnil) || (!a.nonnil && (x.op == opConst || x.op == opNil)) || (a.nonnil && (x.op == opNil || nonNil(x))) {
					add(a.v, a.nonnil)
				}
				// Flags set in a branch of a branch.
				for d := 0; d < 4 && !a.nonnil && x.op == opPhi && x != a.v; d++ {
					add(x, false)
					var next *value
					for _, y := range x.args {
						if y = errRoot(y); y.op == opPhi && y != x {
							next = y
						}
					}
					if next == nil {
						break
					}
					x = next
				}
			}
		}
	}
	least := 2
	if g.objs[0].kind == objParam {
		least = 1 // callers ask under which condition
		for _, a := range atoms {
			if a.v.op == opParam && !a.nonnil {
				add(a.v, a.nonnil)
			}
		}
	}
	for _, a := range atoms {
		if count[a] >= least {
			add(a.v, a.nonnil)
		}
	}
}

// guardsFree reports whether b only asks whether a buffer of another group is there, to
// free it if it is. A rewrite adds such tests: the next one must not keep more
// conditions apart than the one before.
func (g *group) guardsFree(b *block) bool {
	c, nonnil := b.cond, 0
	for ; c.op == opNot; c = c.args[0] {
		nonnil = 1 - nonnil
	}
	x, ok := nilTest(c)
	if !ok || len(b.succs) != 2 {
		return false
	}
	if c.tok == token.EQL {
		nonnil = 1 - nonnil
	}
	free, other := b.succs[nonnil], b.succs[1-nonnil]
	if len(free.succs) != 1 || free.lastEffect < 0 || free.firstEffect != free.lastEffect {
		return false
	}
	if free.succs[0] != other && (len(other.succs) != 1 || other.succs[0] != free.succs[0] || other.lastEffect >= 0) {
		return false
	}
	o := g.w.byDef[origin(x)]
	return o != nil && g.index(o) < 0 && o.freedIn(free)
}

func condArg(call *value, when When) *value {
	for j, a := range call.args {
		i := call.call.params[j]
		if i < -1 {
			continue
		}
		if call.call.sum.Recv {
			i++
		}
		if i == int(when.Arg) {
			return a
		}
	}
	return nil
}

// nilTest reports whether c compares something with nil.
func nilTest(c *value) (*value, bool) {
	if c.op != opCmp || (c.tok != token.EQL && c.tok != token.NEQ) {
		return nil, false
	}
	switch {
	case c.args[1].op == opNil:
		return c.args[0], true
	case c.args[0].op == opNil:
		return c.args[1], true
	}
	return nil, false
}

// errorsIs returns err of errors.Is(err, …) or errors.As(err, …), which are false where
// err is nil, unless the other operand of Is is nil as well.
func errorsIs(c *value) *value {
	if c.op != opResult || c.index != 0 {
		return nil
	}
	call := c.args[0]
	if call.fn != nil && call.fn.Pkg() != nil && call.fn.Pkg().Path() == "errors" && (call.fn.Name() == "Is" || call.fn.Name() == "As") && len(call.args) == 2 {
		if to := errRoot(call.args[1]); call.fn.Name() == "Is" && to.op != opUnknown && !nonNil(to) {
			return nil
		}
		return call.args[0]
	}
	return nil
}

// nonNil reports whether v is never nil.
func nonNil(v *value) bool {
	switch v.op {
	case opAddr:
		// a pointer that a call returned may be nil
		return v.place.root.result == nil || len(v.place.path) > 0
	case opPack:
		// A variadic parameter may be given nothing.
		return len(v.args) > 0 || v.expr != nil || v.note.Kind != report.Literal
	case opClosure, opFunc, opBound, opConst:
		return true
	case opCopy:
		return v.boxes() && boxed(v.args[0].typ0()) == bare
	case opResult:
		f := v.args[0].fn
		if f != nil && f.Pkg() != nil {
			switch f.Pkg().Path() + "." + f.Name() {
			case "fmt.Errorf", "errors.New":
				return f.Signature().Recv() == nil
			}
		}
	}
	return false
}

// deceives reports whether v is an interface of a pointer that may be nil. It is no nil, but readers take it
// for one, so no free stands in front of what is read where it is (rule 10).
func deceives(v *value) bool {
	if v.op != opCopy || !v.boxes() {
		return false
	}
	from := v.args[0].find()
	_, pointer := from.typ0().Underlying().(*types.Pointer)
	return pointer && !nonNil(from)
}

func (t tri) not() tri {
	switch t {
	case no:
		return yes
	case yes:
		return no
	}
	return unknown
}

func ofBool(b bool) tri {
	if b {
		return yes
	}
	return no
}

// isNonNil evaluates "v is not nil" under combination c.
func (g *group) isNonNil(v *value, c int) tri {
	v = errRoot(v)
	for i, b := range g.bits {
		if b.v == v && b.nonnil {
			return ofBool(c>>i&1 == 1)
		}
	}
	if v.op == opNil {
		if boxed(v.typ0()) == generic {
			return unknown
		}
		return no
	}
	if nonNil(v) {
		return yes
	}
	return unknown
}

// isTrue evaluates a boolean under combination c.
func (g *group) isTrue(v *value, c int) tri {
	for i, b := range g.bits {
		if b.v == v && !b.nonnil {
			return ofBool(c>>i&1 == 1)
		}
	}
	switch v.op {
	case opConst:
		if b, ok := constBool(g.w.p, v); ok {
			return ofBool(b)
		}
	case opNil:
		return no
	case opNot:
		return g.isTrue(v.args[0], c).not()
	case opCopy:
		if v.opaque() || v.note.Kind == report.CommaOK {
			return unknown
		}
		return g.isTrue(v.args[0], c)
	case opCmp:
		if x, ok := nilTest(v); ok && !deceives(errRoot(x)) {
			t := g.isNonNil(x, c)
			if v.tok == token.EQL {
				t = t.not()
			}
			return t
		}
	case opResult:
		if x := errorsIs(v); x != nil && g.isNonNil(x, c) == no {
			return no
		}
	}
	return unknown
}
