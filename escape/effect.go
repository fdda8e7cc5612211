package escape

// Summaries: what a function does to each operand and result. A summary is
// the fact that other packages see; it must stay small, its encoding stable,
// and an unknown function has the worst one.

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/proof"
	"github.com/lastuse/lastuse/escape/spec"
)

// When says on which calls an effect happens.
type When struct {
	K   Cond
	Arg int8 // for IfTrue, IfFalse: index into Args
}

// Cond orders the conditions of an effect. The zero Cond is never.
type Cond uint8

const (
	Never     Cond = iota
	Always         // on every call
	OnSuccess      // the last result, an error, is nil
	OnError        // the last result, an error, is not nil
	IfTrue         // the boolean argument When.Arg is true
	IfFalse        // the boolean argument When.Arg is false
	Maybe          // on some calls; which is not known
)

func (w When) String() string {
	switch w.K {
	case Never:
		return "never"
	case Always:
		return ""
	case OnSuccess:
		return " on success"
	case OnError:
		return " on error"
	case IfTrue:
		return fmt.Sprintf(" if arg %d is true", w.Arg)
	case IfFalse:
		return fmt.Sprintf(" if arg %d is false", w.Arg)
	}
	return " maybe"
}

// join returns the condition that covers both; it only gets worse.
func (w When) join(x When) When {
	switch {
	case w == x:
		return w
	case w.K == Never || x.K == Never:
		return When{K: Maybe}
	}
	return When{K: Maybe}
}

// An ArgEffect says what a call does with one operand. The zero ArgEffect is
// a borrow: the call uses the operand and lets it go nowhere.
type ArgEffect struct {
	Freed      When
	Repeatable bool // freeing again is harmless
	Resets     bool // what was freed is forgotten: the operand may be used and freed again
	Escapes    When
	Retained   bool     // one more free is owed
	Writes     bool     // stores through the pointer
	NilOK      bool     // a nil operand is harmless where Freed
	Looks      bool     // compares what the handle itself holds and does no more: harmless after a free
	Insists    bool     // goes wrong where a field that it frees holds nothing
	Keeps      bool     // a number or a string in the operand is kept, or handed on: it may be an address
	Calls      Calling  // of a function: how it is called
	Fields     []string // fields of the operand that are freed on every path
	Via        string   // the operation through which it escapes, for people
}

func (e ArgEffect) borrow() bool {
	return e.Freed.K == Never && e.Escapes.K == Never && !e.Retained
}

// A ResEffect says what a result is.
type ResEffect struct {
	Owned   bool     // the caller must free it (where an error result is nil)
	Partial bool     // owned where the error result is not nil, too
	Armed   bool     // a finalizer or cleanup releases it if nobody does
	Fields  []string // Owned only through these fields, e.g. ".a.b"; empty: as a whole
	Views   uint64   // bit i: shares memory with Args[i]
	Is      uint64   // bit i: may be Args[i] itself
	Of      uint64   // bit i: shares memory with result i
	Shows   uint64   // bit i: a number or a string made of one in Args[i]: it is an address if that is
	Tells   bool     // Views, by a number or a string: an address
	Must    bool     // Is holds on every return
	MayNil  bool     // Owned, and nil on some return without an error
	Flagged bool     // Owned, and nil where the last result, a boolean, is false
	Left    bool     // Owned, and where the error result is not nil it may be something that is not
}

// A Summary is what callers know of a function.
type Summary struct {
	Recv     bool // Args[0] is the receiver
	Variadic bool
	Args     []ArgEffect
	Res      []ResEffect
	Puts     []Put // stores that a caller which follows the operands can do itself
	Disarms  bool  // frees and disarms the finalizer or cleanup of its receiver
	NoReturn bool
	Recovers bool           // from panics of functions that it is given to call
	Unknown  bool           // nothing is known: worst
	Decided  bool           // by a spec or directive, not inferred
	Level    spec.Level     // who decided
	Under    *Summary       // in facts: what was inferred and a line replaces; nil if nothing was
	Proof    *proof.Summary // in facts: what the proof found out, for the proofs of others
}

// AFact marks Summary as a fact about a *types.Func.
func (*Summary) AFact() {}

func (s *Summary) String() string {
	if s.Unknown {
		return "unknown"
	}
	var out []string
	for i, a := range s.Args {
		name := fmt.Sprintf("arg %d", i)
		if s.Recv {
			name = fmt.Sprintf("arg %d", i-1)
			if i == 0 {
				name = "recv"
			}
		}
		if a.Freed.K != Never {
			rep := ""
			if a.Repeatable {
				rep = " repeatable"
			}
			out = append(out, name+" freed"+rep+a.Freed.String())
		}
		if a.Escapes.K != Never {
			out = append(out, name+" escapes"+a.Escapes.String())
		}
		if a.Retained {
			out = append(out, name+" retained")
		}
	}
	for i, r := range s.Res {
		name := fmt.Sprintf("result %d", i)
		if r.Owned {
			t := name + " owned"
			if r.Armed {
				t += " armed"
			}
			if r.MayNil {
				t += " or nil"
			}
			if r.Flagged {
				t += fmt.Sprintf(" if result %d is true", len(s.Res)-1)
			}
			for _, f := range r.Fields {
				t += " " + f
			}
			out = append(out, t)
		}
		for j := range s.Args {
			if r.Views>>j&1 == 1 {
				out = append(out, fmt.Sprintf("%s views %s", name, s.operand(j)))
			}
			if r.Is>>j&1 == 1 {
				out = append(out, fmt.Sprintf("%s is %s", name, s.operand(j)))
			}
		}
	}
	for _, p := range s.Puts {
		out = append(out, fmt.Sprintf("%s put into %s.%s", s.operand(p.From), s.operand(p.Into), p.Field))
	}
	if s.NoReturn {
		out = append(out, "never returns")
	}
	if len(out) == 0 {
		return "borrows"
	}
	return strings.Join(out, ", ")
}

func (s *Summary) operand(j int) string {
	if s.Recv {
		if j == 0 {
			return "recv"
		}
		j--
	}
	return fmt.Sprintf("arg %d", j)
}

// blank returns the summary of a function that borrows everything.
func blank(sig *types.Signature) *Summary {
	s := &Summary{Recv: sig.Recv() != nil, Variadic: sig.Variadic()}
	n := sig.Params().Len()
	if s.Recv {
		n++
	}
	s.Args = make([]ArgEffect, n)
	s.Res = make([]ResEffect, sig.Results().Len())
	return s
}

// worst returns the summary of a function of which nothing is known.
func worst(sig *types.Signature, via string) *Summary {
	s := blank(sig)
	s.Unknown = true
	for i := range s.Args {
		s.Args[i] = ArgEffect{Escapes: When{K: Always}, Via: via, Writes: true}
	}
	return s
}

// join returns the summary of a call of which either s or t is the callee, which
// have the same parameters and results: what both do, and the worse where they
// differ.
func (s *Summary) join(t *Summary) *Summary {
	if s.Unknown {
		return s
	}
	if t.Unknown || s.Recv != t.Recv || len(s.Args) != len(t.Args) || len(s.Res) != len(t.Res) {
		w := *t
		w.Unknown = true
		w.Args = slices.Clone(t.Args)
		for i := range w.Args {
			w.Args[i] = ArgEffect{Escapes: When{K: Always}, Via: "one of several functions", Writes: true}
		}
		w.Res, w.Puts = make([]ResEffect, len(t.Res)), nil
		return &w
	}
	w := *s
	w.Args, w.Res = slices.Clone(s.Args), slices.Clone(s.Res)
	w.Puts = nil
	w.Disarms, w.NoReturn = s.Disarms && t.Disarms, s.NoReturn && t.NoReturn
	w.Recovers = s.Recovers || t.Recovers
	for i := range w.Args {
		a, b := &w.Args[i], t.Args[i]
		if a.Retained != b.Retained || a.Resets != b.Resets || !slices.Equal(a.Fields, b.Fields) {
			*a = ArgEffect{Escapes: When{K: Always}, Via: "one of several functions, which differ", Writes: true}
			continue
		}
		switch {
		case a.Freed.K == Never:
			a.Repeatable = b.Repeatable
		case b.Freed.K != Never:
			a.Repeatable = a.Repeatable && b.Repeatable
		}
		a.Freed, a.Escapes = a.Freed.join(b.Freed), a.Escapes.join(b.Escapes)
		a.Writes, a.NilOK = a.Writes || b.Writes, a.NilOK && b.NilOK
		a.Insists, a.Keeps = a.Insists || b.Insists, a.Keeps || b.Keeps
		a.Looks, a.Calls = a.Looks && b.Looks, min(a.Calls, b.Calls)
		if a.Via == "" {
			a.Via = b.Via
		}
	}
	for i := range w.Res {
		a, b := &w.Res[i], t.Res[i]
		if a.Owned != b.Owned || !slices.Equal(a.Fields, b.Fields) {
			a.Owned, a.Fields = false, nil
		}
		a.Must = a.Must && b.Must && a.Is == b.Is
		a.Views, a.Is, a.Of, a.Shows = a.Views|b.Views, a.Is|b.Is, a.Of|b.Of, a.Shows|b.Shows
		a.Tells = a.Tells || b.Tells
		a.Partial, a.Armed, a.MayNil = a.Partial || b.Partial, a.Armed || b.Armed, a.MayNil || b.MayNil
		a.Left = a.Left || b.Left
		if a.Flagged != b.Flagged {
			a.Flagged, a.MayNil = false, true
		}
	}
	return &w
}

// number returns the summary of a call of a generic function whose result i, of
// a type that may lead to memory, is a plain value here: it leads nowhere, unless what
// it is made of is an address that is a plain value, too.
func (s *Summary) number(i int) *Summary {
	if i >= len(s.Res) || s.Res[i].Views|s.Res[i].Is|s.Res[i].Of == 0 {
		return s
	}
	w := *s
	w.Res = slices.Clone(s.Res)
	w.Res[i].Shows |= w.Res[i].Views | w.Res[i].Is
	w.Res[i].Views, w.Res[i].Is, w.Res[i].Of, w.Res[i].Must = 0, 0, 0, false
	return &w
}

// arg returns the effect on the operand that stands for parameter i of the
// signature, -1 being the receiver.
func (s *Summary) arg(i int) ArgEffect {
	if s.Recv {
		i++
	}
	if i < 0 || len(s.Args) == 0 {
		return ArgEffect{}
	}
	if i >= len(s.Args) {
		i = len(s.Args) - 1
	}
	return s.Args[i]
}

// shows reports whether a result may be a number or a string of the operand that stands
// for parameter i.
func (s *Summary) shows(i int) bool {
	if s.Recv {
		i++
	}
	return i >= 0 && i < 64 && slices.ContainsFunc(s.Res, func(r ResEffect) bool { return r.Shows>>i&1 == 1 })
}

// returned reports whether a result may lead to the operand that stands for parameter i.
func (s *Summary) returned(i int) bool {
	if s.Recv {
		i++
	}
	if i >= len(s.Args) {
		i = len(s.Args) - 1
	}
	for _, r := range s.Res {
		if i >= 0 && (r.Views|r.Is)&(1<<uint(i)) != 0 {
			return true
		}
	}
	return false
}
