package proof

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"
)

// A Summary is what a function does to each operand and where each result comes from,
// as far as the proof found out from its body. It is a fact for other packages.
type Summary struct {
	Params  []Param // the receiver first
	Results []Result
	Said    bool // a directive, or the spec of its module, says so

	Recovers bool // its body asks for the panic that it may be deferred in

	// What it does where these operands are what their library made, if that is less.
	Theirs mask
	Where  *Summary

	Failed string // the proof of its body failed with this panic: it is taken for the worst
}

// AFact makes Summary an analysis.Fact.
func (*Summary) AFact() {}

// A Param is what a function does to one operand.
type Param struct {
	Keeps      bool // it, or what it leads to, may be held by somebody after the call
	Gives      mask // functions and methods of these operands may get it, or be held by it
	Tells      bool // it is a function, and may be called with memory in which it may store what it holds
	Frees      bool // it, or what it leads to, may be freed
	Ends       bool // it is called with what frees it, as lines say
	FreesIf    int  // ±(1 + the operand that has to be true, or false if this is negative); 0: in any case
	Repeatable bool // freeing it again is harmless
	Silent     bool // freeing it does nothing else
	Alone      bool // freeing it frees nothing that it views
	Runs       bool // if the call panics, a goroutine may have it
	Counts     bool // what a group that it leads to waits for may change
	Together   bool // goroutines of the callee may call it, or have it, at the same time
	Stores     bool // what it leads to may be given another value
	Empties    bool // elements of what it leads to may be given zero
	NilOK      bool // nil, or the zero value, does nothing

	// All that is kept of it, which is a struct, is these fields, numbers or texts; nil: it may be all.
	Numbers []string

	Moves []Move // all that keeps it, or stores there, is these; nil: somebody else may
	Into  []Slot // all that keeps it is these; nil: somebody else may
	Grown mask   // all that it is given, or that keeps it, is these operands and slots; 0: others may

	// Fields of what it is or points to: these are freed, no more, and PartsNil says whether each may be nil.
	Parts    []string
	PartsNil bool
	Clears   []string // these may be given zero, or what is no handle
	Waits    []string // these are groups, and have been waited for

	Hands []Result // it is a function: what it is called with by operand, and owns from then on (hands.go)
}

// A Slot is a field of what an operand is or points to, of some that of a slice.
type Slot struct {
	Operand int
	Path    string
}

// or adds what may be done to the operand besides.
func (p *Param) or(q Param) {
	if q.Keeps {
		p.Into, p.Numbers = both(*p, p.Into, q.Into), both(*p, p.Numbers, q.Numbers)
	}
	if does := func(p Param) bool { return (p.Keeps || p.Stores) && p.Grown == 0 }; does(*p) || does(q) {
		p.Grown = 0
	} else {
		p.Grown |= q.Grown
	}
	if q.Frees {
		p.Alone, p.Parts = p.Alone && q.Alone, nil
	}
	if q.Frees && q.FreesIf != p.FreesIf {
		p.FreesIf = 0
	}
	p.Keeps, p.Gives, p.Frees = p.Keeps || q.Keeps, p.Gives|q.Gives, p.Frees || q.Frees
	p.Ends = p.Ends || q.Ends
	p.Runs, p.Together, p.Tells = p.Runs || q.Runs, p.Together || q.Together, p.Tells || q.Tells
	p.Counts = p.Counts || q.Counts
	p.Stores, p.Empties = p.Stores || q.Stores, p.Empties || q.Empties
	for _, path := range q.Clears {
		p.clears(path)
	}
}

// both joins what all that keeps the operand is; nil: it may be anything.
func both[T comparable](p Param, of, more []T) []T {
	if more == nil || p.Keeps && of == nil {
		return nil
	}
	out := slices.Clone(of)
	for _, x := range more {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// clears notes that a part may be given zero.
func (p *Param) clears(path string) {
	at, seen := slices.BinarySearch(p.Clears, path)
	switch {
	case seen:
	case len(p.Clears) == maxClears:
		p.Stores = true
	default:
		p.Clears = slices.Insert(slices.Clone(p.Clears), at, path)
	}
}

// maxClears bounds the parts of an operand that are told apart where they are given zero.
const maxClears = 16

// writes reports whether what the operand leads to may be another value behind the call.
func (p Param) writes() bool { return p.Stores || p.Grown != 0 || len(p.Clears) > 0 }

// acts reports whether more is done to the operand than to look at it.
func (p Param) acts() bool { return p.Keeps || p.writes() || p.Frees || p.Runs }

// passed is what is done to an operand of a function that hands it, or a part of it, to another, which does p
// to that.
func (p Param) passed() Param {
	p.Stores, p.Clears, p.Gives, p.Numbers = p.writes(), nil, 0, nil
	p.Into, p.Grown, p.Waits, p.Moves, p.Hands = nil, 0, nil, nil, nil
	return p
}

// anything is what an unknown function does to an operand.
var anything = Param{Gives: everyBit, Keeps: true, Frees: true, Stores: true, Counts: true}

// A mask is numbers of operands; the last bit stands for all from there on.
type mask uint64

const everyBit = ^mask(0)

func bit(n int) mask          { return 1 << min(n, 63) }
func (b mask) has(n int) bool { return b&bit(n) != 0 }

// A Result is what a function returns at one place.
type Result struct {
	Owned   bool     // it is owned by the caller, or zero
	Vouched bool     // an embedded line says so: its methods do what such lines say of its interface
	Bare    bool     // where it is zero it is nil, and no nil pointer in an interface
	Zero    bool     // it may be zero although the call succeeded
	OK      int      // 1 + the result that is true where it is not zero; 0: there is none
	Beside  bool     // it may be there although the last result, an error or OK, says that it is not
	Derived []int    // of these operands it may hold a part
	Read    []Slot   // it may be what these fields of operands have
	Data    bool     // a line that comes with lastuse says that it views the receiver: numbers there are data
	Is      []int    // it may be one of these operands itself
	Exact   bool     // it is one of Is, and nothing else
	Known   bool     // it holds nothing but what Owned, Derived and Parts say
	Hands   []Result // what it, a function, hands to the one that it is called with, by operand
	Fresh   bool     // it leads to memory that nobody else has, or is nil as Zero and OK say
	Parts   []Part

	// All that it holds of an operand, a struct, is these fields, numbers or texts, unless one has no path.
	Numbers []Slot
}

// derives notes that the result holds a part of an operand.
func (r *Result) derives(e elem) {
	n := Slot{Operand: e.obj.index}
	if e.field() {
		n.Path = e.path[len(derived):]
	}
	if !slices.Contains(r.Derived, n.Operand) {
		r.Derived = append(r.Derived, n.Operand)
	}
	if !slices.Contains(r.Numbers, n) {
		r.Numbers = append(r.Numbers, n)
	}
}

// numbers returns the fields of operand n which are all that the result holds of it; nil: it may be anything.
func (r Result) numbers(n int) (paths []string) {
	for _, s := range r.Numbers {
		switch {
		case !slices.Contains(r.Derived, n) || s.Operand == n && s.Path == "":
			return nil
		case s.Operand == n:
			paths = append(paths, s.Path)
		}
	}
	return paths
}

// has reports whether the result may be operand n, or hold a part of it.
func (r Result) has(n int) bool {
	read := func(from Slot) bool { return from.Operand == n }
	return slices.Contains(r.Derived, n) || slices.Contains(r.Is, n) || slices.ContainsFunc(r.Read, read)
}

// views returns the operands of which it may hold a part.
func (r Result) views() []int {
	out := slices.Clone(r.Derived)
	for _, from := range r.Read {
		out = append(out, from.Operand)
	}
	return out
}

// leadsTo reports whether the result has operand n, or memory of its own that does.
func (r Result) leadsTo(n int) bool {
	return r.has(n) || slices.ContainsFunc(r.Parts, func(p Part) bool { return p.has(n) })
}

// made reports whether the result is not zero unless an error beside it says so.
func (r Result) made() bool { return r.Fresh && !r.Zero && r.OK == 0 }

// summarize finds the summaries of all functions of the package, callees first. Of functions
// that call each other the first that is looked at sees the worst of the others.
func (c *checker) summarize() {
	for _, fn := range c.ordered() {
		o := origin(fn)
		func() {
			defer func() {
				if x := recover(); x != nil {
					s := worst(len(fn.Params), fn.Signature.Results().Len())
					s.Failed = fmt.Sprint(x)
					c.assume(fn, s)
				}
			}()
			if callsItself(fn, o) {
				c.recursive(fn)
			} else {
				c.sums[o] = c.infer(fn)
			}
		}()
	}
}

// maxDepth bounds how often a function that calls itself is looked at.
const maxDepth = 5

// recursive summarizes a function that calls itself: at first it is taken for harmless, then for what was
// found out under that, until the two are the same. Then it is so for runs of any depth, one after the other.
func (c *checker) recursive(fn *ssa.Function) {
	s := harmless(origin(fn).Signature())
	for range maxDepth {
		c.assume(fn, s)
		found := c.infer(fn)
		if reflect.DeepEqual(found, s) {
			return
		}
		s = found
	}
	c.assume(fn, worst(len(fn.Params), fn.Signature.Results().Len()))
}

// assume sets what a function does, and forgets what was found out under another summary.
func (c *checker) assume(fn *ssa.Function, s *Summary) {
	o := origin(fn)
	c.sums[o] = s
	delete(c.effects, o)
	delete(c.fams, fn)
	for lit := range c.literals {
		delete(c.fams, lit)
	}
	c.literals = map[*ssa.Function]*Summary{}
	c.telling = typeutil.Map{}
}

func callsItself(fn *ssa.Function, o *types.Func) bool {
	for i := range instrsOf(fn) {
		if k := callOf(i); k != nil && k.Common().StaticCallee() != nil && origin(k.Common().StaticCallee()) == o {
			return true
		}
	}
	return slices.ContainsFunc(fn.AnonFuncs, func(a *ssa.Function) bool { return callsItself(a, o) })
}
