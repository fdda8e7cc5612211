package effect

import (
	"go/token"
	"go/types"
	"slices"
)

// A Cond orders the conditions of an effect. The zero Cond is never.
type Cond uint8

const (
	Never     Cond = iota // on no call
	Always                // on every call
	OnSuccess             // the last result, an error, is nil
	OnError               // the last result, an error, is not nil
	IfTrue                // the boolean parameter When.Param is true
	IfFalse               // the boolean parameter When.Param is false
	Maybe                 // on some calls; which is not known
	OnTrue                // of a result: the last result, a boolean, is true
)

// A When says on which calls an effect happens.
type When struct {
	Cond  Cond
	Param int // of IfTrue and IfFalse: index into Summary.Params
}

// Join returns a condition that covers both.
func (w When) Join(x When) When {
	if w == x {
		return w
	}
	return When{Cond: Maybe}
}

// A Param says what a call does to one operand. The zero Param is a borrow.
type Param struct {
	Freed      When
	Repeatable bool // freeing again is harmless
	TakesNil   bool // nothing goes wrong if it is nil
	Escapes    When
	Stays
	Retained bool
	Made     []Made        // what is made for its fields, in their order
	Parts    []Part[Param] // what it does to parts, where that is something else
	Sets     Sets          // of a captured variable
	Takes    Takes         // of a slice, or a variable of one, that escapes: how it does
	Called
	Looked
}

// Called says what is done with an operand that is a function.
type Called struct {
	Calls Calls // how it is called
	Hands Hands // what it is called with
}

// Hands says that a function is called with what is its own from then on, as iterators call the body of a
// range: what was made for it, and is not needed any more by who calls it. Where the last operand is an error
// that is not nil, the others are nothing.
type Hands struct {
	Of  uint64 // bit i: operand i
	Nil uint64 // bit i: that may be nothing
}

// Stays says of what escapes that nobody else gets it.
type Stays struct {
	Filled bool // it escapes only since what it leads to is given something
	Turned bool // it escapes only since parts of it become others of it, each one: all of it is as it was
}

// Looked says what is done with what an operand leads to that is no handle.
type Looked struct {
	Reads Reads    // how far it is looked into
	Waits []string // groups of goroutines that were waited for, by their paths; facts have no word for it
}

// A Made says that a function gives a field of what an operand points to something of its own, which is the
// field's then.
type Made struct {
	Field   int
	Pos     token.Pos // where; facts have no word for it
	Success bool      // on each call that does not fail
	Fails   bool      // on some that fail
	Inside  bool      // it is a part of what is in the field; facts have no word for it
	Through bool      // by a function that is given the address of the field; facts have no word for it
}

// Sets says when a literal gives a variable that it captures what the variable's function then owns.
type Sets struct {
	When    When
	Nil     bool // that may be nothing
	Nothing bool // and is never anything else
	Frees   bool // what was there before is freed where that happens, and only there
	Lends   bool // a function that the literal is given gets the variable while it runs
}

// Join returns what is so of both.
func (s Sets) Join(t Sets) Sets {
	some := func(s Sets) bool { return s.When.Cond != Never }
	return Sets{When: s.When.Join(t.When), Nil: s.Nil || t.Nil, Frees: s.Frees && t.Frees, Lends: s.Lends || t.Lends,
		Nothing: (s.Nothing || !some(s)) && (t.Nothing || !some(t)) && (some(s) || some(t))}
}

// Replaces reports whether what a captured variable held is freed where that is given something else, and
// only there.
func (p Param) Replaces() bool {
	return p.Freed == p.Sets.When && p.Freed.Cond != Never && (p.Freed.Cond != Maybe || p.Sets.Frees)
}

// Reads says how far a function looks into an operand. The zero Reads is to its memory.
type Reads uint8

const (
	Memory Reads = iota // what it leads to
	Handle              // the handle alone, which is as good as before once its memory is freed
)

// Takes says that a slice escapes only since it is appended to: what is put in is its owner's from then on.
// What is known of no more than that it escapes, a caller need not know better.
type Takes struct {
	Own bool   // what the function makes, any number of times
	Of  uint64 // bit i: Params[i], once on each call, and it goes nowhere else
}

// Calls says how a function calls one that it is given. The zero Calls says nothing: later, on other
// goroutines, several at once.
type Calls uint8

const (
	Anyhow Calls = iota // nothing is known
	InTurn              // on its goroutine, one call after the other, before it returns; perhaps never
	Once                // in turn, and once before each return
)

// A Result says what a result is.
type Result struct {
	Owned When
	Error bool           // owned where the last result, an error, is not nil, too
	Nil   bool           // where it is owned, it may be nil or empty
	Holes bool           // where it is owned, elements of it may be nil
	Views uint64         // bit i: it may share memory with Params[i]
	Needs uint64         // bit i: it may do so until it is freed, which is owned, and does not free that
	Tells uint64         // bit i: it may have the address of Params[i] as a number or a string
	Shows uint64         // bit i: it may have a number or a string that is in Params[i]
	Is    uint64         // bit i: it may be Params[i]
	Must  bool           // it is one of Is, or nil, on every return
	Parts []Part[Result] // those that are owned, or are parameters, of one that is not
	Further
}

// Further is what else is known of a result.
type Further struct {
	Some  token.Pos // of a function that makes it for the caller: others that the call may run do not
	Hands Hands     // of a function that has one operand: what it hands to that
}

// A Summary is what callers know of a function. The fields are exported, and of plain
// types, so that a fact may carry it.
type Summary struct {
	Recv    bool // Params[0] is the receiver
	Params  []Param
	Results []Result
	Unknown bool // nothing is known: worst
	Decided bool // by a spec or directive, not inferred
}

// Blank returns the summary of a function that borrows everything and returns nothing of
// anybody.
func Blank(sig *types.Signature) *Summary {
	s := &Summary{Recv: sig.Recv() != nil}
	n := sig.Params().Len()
	if s.Recv {
		n++
	}
	s.Params, s.Results = make([]Param, n), make([]Result, sig.Results().Len())
	return s
}

// Best returns the summary that inference begins with, from which it only gets worse.
func Best(sig *types.Signature) *Summary {
	s := Blank(sig)
	for i := range sig.Params().Len() {
		if _, ok := sig.Params().At(i).Type().Underlying().(*types.Signature); ok {
			s.Params[len(s.Params)-sig.Params().Len()+i].Calls = Once
		}
	}
	return s
}

// Worst returns the summary of a function of which nothing is known.
func Worst(sig *types.Signature) *Summary {
	s := Blank(sig)
	s.worsen()
	return s
}

// With returns the summary of a literal that captures n variables, which follow its
// parameters; s is that of its signature.
func (s *Summary) With(n int) *Summary {
	p := Param{}
	if s.Unknown {
		p.Escapes.Cond = Always
	}
	for range n {
		s.Params = append(s.Params, p)
	}
	return s
}

// Given returns the summary of a call that passes n operands from number first on: the
// others were given before, to whom is not known here.
func (s *Summary) Given(first, n int) *Summary {
	if first+n > len(s.Params) {
		n = max(len(s.Params)-first, 0)
	}
	c := s.clone()
	c.Recv, c.Params = s.Recv && first == 0, c.Params[first:first+n]
	c.whens(func(w When) When {
		if w.Cond != IfTrue && w.Cond != IfFalse {
			return w
		}
		if w.Param -= first; w.Param < 0 || w.Param >= n {
			return When{Cond: Maybe}
		}
		return w
	})
	for i := range c.Params {
		c.Params[i].each(func(p *Param) {
			if of := p.Takes.Of; of>>first<<first != of || of>>first>>n != 0 {
				p.Takes = Takes{}
			}
			p.Takes.Of >>= first
		})
	}
	mask := uint64(1)<<n - 1
	for i := range c.Results {
		r := &c.Results[i]
		for k := range r.Parts {
			p := &r.Parts[k].Is
			p.Must = p.Must && p.Is>>first&^mask == 0 && p.Is&(1<<first-1) == 0
			p.Is = p.Is >> first & mask
		}
		r.Must = r.Must && r.Is>>first&^mask == 0 && r.Is&(1<<first-1) == 0
		for _, set := range []*uint64{&r.Views, &r.Needs, &r.Tells, &r.Shows, &r.Is} {
			*set = *set >> first & mask
		}
	}
	return c
}

// Told returns the summary of a call whose boolean operands are what value says, which is nil for one that it
// does not know.
func (s *Summary) Told(value func(param int) *bool) *Summary {
	if !s.depends() {
		return s
	}
	c := s.clone()
	c.whens(func(w When) When {
		if w.Cond != IfTrue && w.Cond != IfFalse {
			return w
		}
		is := value(w.Param)
		switch {
		case is == nil:
			return w
		case *is == (w.Cond == IfTrue):
			return When{Cond: Always}
		}
		return When{}
	})
	return c
}

// depends reports whether something is done only where a boolean operand is true, or false.
func (s *Summary) depends() bool {
	on := func(w When) bool { return w.Cond == IfTrue || w.Cond == IfFalse }
	return slices.ContainsFunc(s.Params, func(p Param) bool {
		return on(p.Freed) || on(p.Escapes) ||
			slices.ContainsFunc(p.Parts, func(q Part[Param]) bool { return on(q.Is.Freed) || on(q.Is.Escapes) })
	}) || slices.ContainsFunc(s.Results, func(r Result) bool {
		return on(r.Owned) || slices.ContainsFunc(r.Parts, func(q Part[Result]) bool { return on(q.Is.Owned) })
	})
}

func (s *Summary) clone() *Summary {
	c := *s
	c.Params, c.Results = slices.Clone(s.Params), slices.Clone(s.Results)
	for i := range c.Params {
		c.Params[i].each(func(p *Param) { p.Parts = slices.Clone(p.Parts) })
	}
	for i := range c.Results {
		c.Results[i].Parts = slices.Clone(c.Results[i].Parts)
	}
	return &c
}

// each calls do for the effect on an operand, and those on parts of it.
func (p *Param) each(do func(*Param)) {
	do(p)
	for k := range p.Parts {
		p.Parts[k].Is.each(do)
	}
}

// whens puts other conditions in place of those of a summary.
func (s *Summary) whens(other func(When) When) {
	for i := range s.Params {
		s.Params[i].each(func(p *Param) { p.Freed, p.Escapes = other(p.Freed), other(p.Escapes) })
	}
	for i := range s.Results {
		r := &s.Results[i]
		r.Owned = other(r.Owned)
		for k := range r.Parts {
			r.Parts[k].Is.Owned = other(r.Parts[k].Is.Owned)
		}
	}
}

func (s *Summary) worsen() {
	s.Unknown = true
	for i := range s.Params {
		s.Params[i] = Param{Escapes: When{Cond: Always}}
	}
	clear(s.Results)
}

// Param returns the effect on operand i of a call; the last parameter stands for all that
// follow it.
func (s *Summary) Param(i int) Param {
	if len(s.Params) == 0 {
		return Param{Escapes: When{Cond: Always}}
	}
	return s.Params[min(i, len(s.Params)-1)]
}

// Borrows reports whether the operand is used during the call only.
func (p Param) Borrows() bool {
	return p.Freed.Cond == Never && p.Escapes.Cond == Never && !p.Retained && len(p.Parts) == 0 &&
		p.Sets.When.Cond == Never && !p.Sets.Lends
}

// Join returns the summary of a call that does what s says or what t says: both effects
// where they differ, and the worst where they cannot be told together.
func Join(s, t *Summary) *Summary {
	w := &Summary{Recv: t.Recv, Decided: s.Decided && t.Decided,
		Params: make([]Param, len(t.Params)), Results: make([]Result, len(t.Results))}
	if s.Unknown || t.Unknown || s.Recv != t.Recv || len(s.Params) != len(t.Params) ||
		len(s.Results) != len(t.Results) {
		w.worsen()
		return w
	}
	for i := range w.Params {
		w.Params[i] = joinParam(s.Params[i], t.Params[i])
	}
	for i := range w.Results {
		w.Results[i] = joinResult(s.Results[i], t.Results[i])
	}
	return w
}

func joinParam(a, b Param) Param {
	p := Param{Freed: a.Freed.Join(b.Freed), Escapes: a.Escapes.Join(b.Escapes), Retained: a.Retained,
		Called: Called{Calls: min(a.Calls, b.Calls)}, Looked: Looked{Reads: min(a.Reads, b.Reads)}}
	if a.Retained != b.Retained {
		p.Retained, p.Escapes = false, When{Cond: Maybe} // who owes how many frees is not known
	}
	p.Repeatable = (a.Repeatable || a.Freed.Cond == Never) && (b.Repeatable || b.Freed.Cond == Never) &&
		p.Freed.Cond != Never
	p.TakesNil = a.TakesNil && b.TakesNil
	p.Made = joinMade(a.Made, b.Made)
	p.Filled = p.Escapes.Cond != Never && a.Retained == b.Retained && (a.Filled || a.Escapes.Cond == Never) && (b.Filled || b.Escapes.Cond == Never)
	p.Turned = p.Escapes.Cond != Never && a.Retained == b.Retained && (a.Turned || a.Escapes.Cond == Never) &&
		(b.Turned || b.Escapes.Cond == Never)
	p.Sets = a.Sets.Join(b.Sets)
	if a.Takes == b.Takes {
		p.Takes = a.Takes
	}
	if a.Hands == b.Hands {
		p.Hands = a.Hands
	}
	p.Waits = slices.DeleteFunc(slices.Clone(a.Waits), func(g string) bool { return !slices.Contains(b.Waits, g) })
	p.Parts = joinParts(a.Parts, b.Parts, func(path string) Param { return joinParam(a.At(path), b.At(path)) })
	return p
}

// Leads returns the parameters that a result may be, or lead to.
func (r Result) Leads() uint64 { return r.Is | r.Views | r.Needs | r.Tells | r.Shows }

// joinMade returns what is made for fields on calls of which nobody knows what they call.
func joinMade(a, b []Made) (out []Made) {
	for _, list := range [][]Made{a, b} {
		for _, m := range list {
			k := slices.IndexFunc(out, func(o Made) bool { return o.Field == m.Field })
			if k < 0 {
				both := slices.ContainsFunc(a, func(o Made) bool { return o.Field == m.Field && o.Success }) &&
					slices.ContainsFunc(b, func(o Made) bool { return o.Field == m.Field && o.Success })
				out = append(out, Made{m.Field, m.Pos, both, m.Fails, m.Inside, m.Through})
			} else {
				out[k].Fails, out[k].Through = out[k].Fails || m.Fails, out[k].Through || m.Through
			}
		}
	}
	out = slices.DeleteFunc(out, func(m Made) bool { return !m.Success && !m.Fails })
	slices.SortFunc(out, func(a, b Made) int { return a.Field - b.Field })
	return out
}

func joinResult(a, b Result) Result {
	r := Result{Owned: a.Owned.Join(b.Owned), Views: a.Views | b.Views, Needs: a.Needs | b.Needs,
		Tells: a.Tells | b.Tells, Shows: a.Shows | b.Shows, Is: a.Is | b.Is}
	if a.Hands == b.Hands {
		r.Hands = a.Hands
	}
	r.Must, r.Some = a.Must && b.Must, max(a.Some, b.Some)
	if r.Owned.Cond != Never {
		r.Nil, r.Holes, r.Error = a.Nil || b.Nil, a.Holes || b.Holes, a.Error && b.Error
	}
	r.Parts = joinParts(a.Parts, b.Parts, func(path string) Result {
		x, _ := find(a.Parts, path)
		y, _ := find(b.Parts, path)
		return joinResult(x, y)
	})
	return r
}

// HasError reports whether the last result of a function is an error.
func HasError(sig *types.Signature) bool {
	n := sig.Results().Len()
	return n > 0 && IsError(sig.Results().At(n-1).Type())
}

// IsError reports whether a type is error.
func IsError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// IsNumber reports whether values of type t are numbers or strings in which an address may be,
// although nothing says so: an int is a size, an index or a sum, and a uintptr is a pointer.
func IsNumber(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsInteger|types.IsString) != 0 && b.Kind() != types.Uintptr &&
		t != types.Typ[types.Int]
}

// Gives reports whether a result may be operand k, or view it.
func (s *Summary) Gives(k int) bool {
	return slices.ContainsFunc(s.Results, func(r Result) bool {
		return r.Leads()>>k&1 == 1 || slices.ContainsFunc(r.Parts, func(p Part[Result]) bool { return p.Is.Is>>k&1 == 1 })
	})
}

// Plain reports whether a value of type t leads to no memory, not even as a number: an int is a
// size, an index or a sum.
func Plain(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsBoolean|types.IsFloat|types.IsComplex) != 0 || t == types.Typ[types.Int]
}

// HasFlag reports whether the last result of a function is a boolean, behind others.
func HasFlag(sig *types.Signature) bool {
	n := sig.Results().Len()
	return n > 1 && types.Identical(sig.Results().At(n-1).Type(), types.Typ[types.Bool])
}

// Nillable reports whether a value of type t may be nil.
func Nillable(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Interface, *types.Slice, *types.Map:
		return true
	}
	return false
}
