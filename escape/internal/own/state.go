package own

import (
	"cmp"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/flow"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// A Status is what has become of a token, as far as is known: a set of what it may be.
type Status uint16

const (
	Absent  Status = 1 << iota // not made, or made as nothing
	Owned                      // the function must free it
	Freed                      // the program freed it, where it was due
	Moved                      // it escaped, or was handed on: not the function's any more
	Pending                    // a deferred call will free it
	Passed                     // it was due, and a place was passed: the plan frees it there, or it is lost
	Given                      // a collection has it, and is another token
	Unsure                     // the program may have freed it, or did where it may still be needed
	Holed                      // of a slice or a map: an element may be nothing
	Turned                     // a variable that changes places with others has it: its names are not its own
)

// harmless is what a token may be beside owned where it is freed: that frees nothing else.
const harmless = Owned | Absent | Passed | Given | Freed | Holed

// Ended is what the program has freed, or may have.
const Ended = Freed | Unsure

// A Token is what a site made: 2k the newest of site k of the group, 2k+1 what it made
// before, all of that together.
type Token int

// A combo is what is known where the conditions of the group have certain values.
type combo struct {
	st   []Status    // by token
	may  flow.Bits   // which holds of values are so, for the newest and for older ones apart
	must []flow.Bits // by token: values that are it wherever it is owned; empty where it is not
	gone []flow.Bits // by token: values that are it wherever it is freed, or will be; nil where it is not
}

// A state has a combo for each combination of conditions, nil for those that cannot be.
type state []*combo

func (g *Group) newCombo() *combo {
	c := &combo{st: make([]Status, 2*len(g.Sites)), must: make([]flow.Bits, 2*len(g.Sites)),
		gone: make([]flow.Bits, 2*len(g.Sites))}
	n := 0
	for _, h := range g.holds {
		n += 2 * len(h)
	}
	c.may = flow.NewBits(n)
	for t := range c.st {
		c.st[t], c.must[t] = Absent, flow.NewBits(len(g.Values))
	}
	return c
}

func (c *combo) clone() *combo {
	n := len(c.may)
	for t, b := range c.must {
		n += len(b) + len(c.gone[t])
	}
	room, sets := make(flow.Bits, 0, n), make([]flow.Bits, 2*len(c.must)) // in one piece: it is done often
	put := func(b flow.Bits) flow.Bits {
		n := len(room)
		room = append(room, b...)
		return room[n:len(room):len(room)]
	}
	d := &combo{st: slices.Clone(c.st), may: put(c.may), must: sets[:len(c.must)], gone: sets[len(c.must):]}
	for t, b := range c.must {
		d.must[t] = put(b)
		if c.gone[t] != nil {
			d.gone[t] = put(c.gone[t])
		}
	}
	return d
}

func (s state) clone() state {
	out := make(state, len(s))
	for k, c := range s {
		if c != nil {
			out[k] = c.clone()
		}
	}
	return out
}

// join adds d to c, and reports whether that is more.
func (c *combo) join(d *combo) bool {
	grown := c.may.Union(d.may)
	for t := range c.st {
		other := c.joinNames(Token(t), d.st[t], d.must[t])
		less := c.joinGone(Token(t), d.gone[t])
		grown = grown || other || less || c.st[t]|d.st[t] != c.st[t]
		c.st[t] |= d.st[t]
	}
	return grown
}

// joinNames leaves of the names of t those that hold it on all paths on which it is owned, and reports
// whether that are others than before.
func (c *combo) joinNames(t Token, st Status, names flow.Bits) bool {
	switch {
	case st&Owned == 0:
		return false
	case c.st[t]&Owned == 0:
		other := !c.must[t].Equal(names)
		copy(c.must[t], names)
		return other
	}
	return c.must[t].Intersect(names)
}

// joinGone leaves of the values that are t where it is gone those that are it on all such paths, and reports
// whether that are others than before.
func (c *combo) joinGone(t Token, names flow.Bits) bool {
	switch {
	case names == nil:
		return false
	case c.gone[t] == nil:
		c.gone[t] = names.Clone()
		return true
	}
	return c.gone[t].Intersect(names)
}

// merge returns the join of two combos, either of which may be nil; it may be one of them.
func merge(a, b *combo) *combo {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	c := a.clone()
	c.join(b)
	return c
}

// joinStates is the join of the solver.
func joinStates(a, b state) (out state, grown bool) {
	out = a
	for k, d := range b {
		c := d
		if d == nil || d == a[k] {
			continue
		} else if a[k] != nil {
			if c = a[k].clone(); !c.join(d) {
				continue
			}
		}
		if !grown {
			out, grown = slices.Clone(a), true
		}
		out[k] = c
	}
	return out, grown
}

// settle puts a token from being owned into what an operation through value v makes of it:
// surely, if v is it wherever it is owned and the operation happens, else perhaps. Ends says that it is
// gone then for whoever has it.
func (g *Group) settle(c *combo, t Token, v int, to Status, surely, ends bool) {
	if to == Moved && c.gone[t] != nil {
		clear(c.gone[t]) // what may have been handed on may be something else when it is met again
	}
	if c.st[t]&Owned == 0 {
		return
	}
	sure := surely && c.must[t].Has(v)
	if to == Freed && !sure && !g.IsParam(t) {
		to = Unsure
	}
	c.st[t] |= to
	if to&Ended != 0 || to == Pending {
		names := flow.NewBits(len(c.must[t]) * 64)
		switch {
		case !surely:
		case !ends: // the variable may be filled again, and not what was read of it
			if c.must[t].Has(v) && !ir.IsRegister(g.Values[v]) {
				for k, w := range g.Values {
					if c.must[t].Has(k) && ir.IsRegister(w) {
						names.Add(k)
					}
				}
			}
		case c.must[t].Has(v):
			copy(names, c.must[t])
		default:
			names.Add(v) // as far as it is freed
		}
		c.joinGone(t, names)
	}
	if sure || to == Moved {
		c.st[t] &^= Owned // what may have been handed on is not ours to free
		clear(c.must[t])
	}
}

// tokens calls do for each token that value v may hold now, with its relation.
func (g *Group) tokens(c *combo, v int, do func(t Token, as pointsto.Relation)) {
	for _, h := range g.holds[v] {
		for age := range 2 {
			if c.may.Has(h.bit + age) {
				do(Token(2*h.site+age), h.as)
			}
		}
	}
}
