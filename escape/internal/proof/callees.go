package proof

// What callees do, in one form: a Summary. It is what a spec line says of the function, else what was found
// out about its body; the standard library does some things that neither says.

import (
	"cmp"
	"go/types"
	"iter"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/spec"
)

// origin returns the function as it was declared, without the wrapper of an instance.
func origin(fn *ssa.Function) *types.Func {
	if o := fn.Origin(); o != nil {
		fn = o
	}
	o, _ := fn.Object().(*types.Func)
	if o == nil {
		return nil
	}
	params, plain := fn.Signature.Params(), fn.Signature.Recv() == nil
	if plain && o.Signature().Recv() != nil && params.Len() > 0 && anyType(params.At(0).Type()) {
		return nil // T.M, which is a method of a type that nobody knows
	}
	return o.Origin()
}

// pathOf returns the path of the package that declares a function, "" if there is none.
func pathOf(fn *types.Func) string {
	if fn == nil || fn.Pkg() == nil {
		return ""
	}
	return fn.Pkg().Path()
}

// effect returns what a function does; nil if nobody knows.
func (c *checker) effect(fn *types.Func) *Summary {
	if fn == nil {
		return nil
	}
	fn = fn.Origin()
	if s, ok := c.effects[fn]; ok {
		return s
	}
	body, ours := c.sums[fn]
	if !ours && fn.Pkg() != c.pkg && c.in.Facts != nil {
		body = c.in.Facts(fn)
	}
	if c.off[Bodies] && body == nil && fn.Pkg() != nil {
		body = harmless(fn.Signature())
	}
	said := body != nil && body.Said
	if body == nil {
		body = c.implemented(fn)
	}
	s := body
	if c.in.Specs != nil {
		line, ok := c.in.Specs.Lookup(spec.FullName(fn))
		if ok && line.Level == spec.Embedded && ofInterface(fn) && !slices.Contains(asked, fn.Name()) {
			ok = false // what has the method may be anything: see promised
		}
		switch {
		case !ok || said && line.Level < spec.Flag:
		case line.Torn != "":
			s = nil // of two lines nobody knows which is right
		default:
			s = written(line, fn.Signature(), body)
			s.Said = line.Level > spec.Embedded
		}
	}
	if ours && s == body {
		s = c.everywhere(fn, s)
	}
	if of := groupMethod(fn); of != "" {
		s = harmless(fn.Signature())
		if s.Params[0].Counts = of != "Wait"; of == "Wait" {
			s.Params[0].Waits = []string{""}
		}
	}
	if s != nil && slices.Contains(rearrange, pathOf(fn)) && !slices.Contains(lookers, spec.FullName(fn)) {
		for i := range s.Params {
			s.Params[i].Empties = true
		}
	}
	if ours || fn.Pkg() != c.pkg {
		c.effects[fn] = s
	}
	return s
}

// implemented joins what the methods do that a call of a method of an interface may run, nil if they are not
// known. One that is not exported only types have that this package declares, or that embed one.
func (c *checker) implemented(fn *types.Func) (s *Summary) {
	if c.away.methods[fn.Name()] {
		return nil
	}
	for m := range c.named(fn) {
		one := c.invoked(m)
		if one == nil {
			return nil
		}
		again := *one
		s = worse(s, worse(one, &again)) // it is called on what it is a method of, or on what embeds that
	}
	return s
}

// named returns the methods that this package declares with the name of an interface's method, if that is one
// of its own that is not exported.
func (c *checker) named(fn *types.Func) iter.Seq[*types.Func] {
	return func(yield func(*types.Func) bool) {
		if fn.Exported() || fn.Pkg() != c.pkg || !ofInterface(fn) {
			return
		}
		for _, m := range c.decls() {
			if m.Name() == fn.Name() && m.Signature().Recv() != nil && !yield(m) {
				return
			}
		}
	}
}

// ofInterface reports whether fn is a method of an interface.
func ofInterface(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	return recv != nil && types.IsInterface(recv.Type())
}

// param returns what a function does to operand n.
func (s *Summary) param(n int) Param {
	if s == nil || n >= len(s.Params) {
		return anything
	}
	return s.Params[n]
}

func (s *Summary) result(n int) Result {
	if s == nil || n >= len(s.Results) {
		return Result{}
	}
	return s.Results[n]
}

// worst is what nobody knows.
func worst(params, results int) *Summary {
	return &Summary{Params: slices.Repeat([]Param{anything}, params), Results: make([]Result, results), Recovers: true}
}

// worse joins what two functions do, one of which is called.
func worse(a, b *Summary) *Summary {
	if a == nil || b == nil || a == b {
		return cmp.Or(b, a)
	}
	s := &Summary{Params: slices.Clone(a.Params), Results: make([]Result, len(a.Results)), Said: a.Said || b.Said,
		Recovers: a.Recovers || b.Recovers}
	for i, p := range a.Params {
		q := b.param(i)
		one := Param{Repeatable: p.Repeatable && q.Repeatable, Alone: p.Alone && q.Alone}
		if p.FreesIf == q.FreesIf {
			one.FreesIf = p.FreesIf
		}
		one.Waits = slices.DeleteFunc(slices.Clone(p.Waits), func(path string) bool { return !slices.Contains(q.Waits, path) })
		one.or(p)
		one.or(q)
		s.Params[i] = one
	}
	for i, p := range a.Results {
		q := b.result(i)
		r := Result{Known: p.Known && q.Known && !p.Fresh && !q.Fresh,
			Derived: slices.Concat(p.views(), p.Is, q.views(), q.Is)}
		if p.Owned && q.Owned {
			r.Owned, r.Zero, r.Beside = true, p.Zero || q.Zero || p.OK != q.OK, p.Beside || q.Beside
			r.Vouched, r.Bare = p.Vouched && q.Vouched, p.Bare && q.Bare
		}
		s.Results[i] = r
	}
	return s
}

// harmless is a function that uses its operands and no more.
func harmless(sig *types.Signature) *Summary {
	n := sig.Params().Len()
	if sig.Recv() != nil {
		n++
	}
	s := &Summary{Params: make([]Param, n), Results: make([]Result, sig.Results().Len())}
	for i := range s.Results {
		s.Results[i].Known = true
	}
	return s
}

// written is what a spec line says; operands without a clause are as body has them.
func written(line *spec.Line, sig *types.Signature, body *Summary) *Summary {
	first := 0
	if sig.Recv() != nil {
		first = 1
	}
	s := &Summary{Params: make([]Param, first+sig.Params().Len()), Results: make([]Result, sig.Results().Len())}
	s.Recovers = body != nil && body.Recovers
	said := make([]bool, len(s.Params))
	number := func(o spec.Operand) int {
		if o.Kind == spec.Recv {
			return 0
		}
		return first + o.Index
	}
	shown := make([]bool, len(s.Results)) // other results view them
	clauses := spec.Bind(line.Clauses, sig)
	lent := func(o spec.Operand) bool {
		return slices.ContainsFunc(clauses, func(c spec.Clause) bool {
			return c.Operand == o && c.Effect == spec.Borrowed && c.Cond.Kind == spec.Always
		})
	}
	for _, c := range clauses {
		if c.Operand.Kind == spec.Result && c.Of.Kind == spec.Result {
			shown[c.Of.Index] = true
			continue
		}
		if c.Operand.Kind == spec.Result {
			s.Results[c.Operand.Index].take(c, number, line.Level == spec.Embedded)
			continue
		}
		if c.Effect == spec.Borrowed && c.Cond.Kind != spec.Always {
			continue // else it is not known
		}
		n := number(c.Operand)
		said[n] = true
		p, seen := &s.Params[n], seenOf(body, n)
		p.Together, p.Tells, p.Counts = seen.Together, seen.Tells, seen.Counts
		switch c.Effect {
		case spec.Freed:
			p.free(c, seen, lent(c.Operand), number)
			of := c.Operand.Type(sig)
			_, pointer := of.Underlying().(*types.Pointer)
			pointer = pointer || types.IsInterface(of) && c.Operand.Kind == spec.Recv
			p.NilOK = body != nil && body.param(n).NilOK || c.Repeatable && !pointer
			if p.Stores = p.Stores || isSlice(of) && seen.Stores; pointer && !seen.Stores {
				p.Parts, p.PartsNil, p.Clears = seen.Parts, seen.PartsNil, seen.Clears
			}
		case spec.Borrowed:
			p.lend(seen, line)
		default:
			p.Keeps, p.Gives = true, everyBit
		}
	}
	for i := range s.Params {
		if !said[i] && slices.ContainsFunc(s.Results, func(r Result) bool { return r.has(i) }) {
			s.Params[i].lend(seenOf(body, i), line)
		} else if !said[i] {
			s.Params[i] = body.param(i)
			for j, r := range s.Results { // what is owned is not known to lead to it
				s.Params[i].or(Param{Keeps: r.Owned && !r.has(i) && body.result(j).leadsTo(i)})
			}
		}
	}
	for i := range s.Results {
		s.outlasts(i, body.result(i), said)
		r := &s.Results[i]
		r.Owned, r.Known = r.Owned && !shown[i], true // views of other results are not followed
		r.Vouched = r.Owned && line.Level == spec.Embedded
		r.Bare = r.Vouched
	}
	// Of what a body hands to somebody it is not known that no result leads to it.
	back := func(result, of spec.Operand) bool {
		n, r := number(of), body.result(result.Index)
		return body.param(n).Keeps || r.has(n)
	}
	for _, c := range line.Implied(sig, back) {
		s.Results[c.Operand.Index].take(c, number, false)
	}
	return s
}

// outlasts takes for result i, of which no line says where it comes from, what a body says: what is only
// borrowed does not outlast the call in it.
func (s *Summary) outlasts(i int, b Result, said []bool) {
	r := &s.Results[i]
	if r.Owned || len(r.Derived)+len(r.Is) > 0 {
		return
	}
	lasting := func(of []int) []int {
		return slices.DeleteFunc(slices.Clone(of), func(n int) bool { return said[n] && !s.Params[n].Keeps })
	}
	*r = b
	r.Derived, r.Is = lasting(b.Derived), lasting(b.Is)
	r.Read = slices.DeleteFunc(slices.Clone(b.Read), func(from Slot) bool { return len(lasting([]int{from.Operand})) == 0 })
	r.Exact = b.Exact && len(r.Is) == len(b.Is)
}

// free notes that an operand is freed, on a condition perhaps: where that does not hold it is lent, or what
// its body does to it is done.
func (p *Param) free(c spec.Clause, seen Param, lent bool, number func(spec.Operand) int) {
	p.Frees, p.Silent, p.Alone, p.Repeatable = true, true, true, c.Repeatable
	switch c.Cond.Kind {
	case spec.ArgTrue:
		p.FreesIf = 1 + number(c.Cond.Arg)
	case spec.ArgFalse:
		p.FreesIf = -1 - number(c.Cond.Arg)
	}
	if p.FreesIf != 0 && !lent {
		seen.Frees = false
		p.or(seen)
	}
}

// seenOf is what is seen of operand n in a body of which a line says something, if there is one.
func seenOf(body *Summary, n int) Param {
	if body == nil {
		return Param{Together: true, Gives: everyBit, Counts: true}
	}
	return body.param(n)
}

// lend notes that an operand is borrowed. Nothing is said of what functions and methods do that are called
// with it. Who wrote a glob has not read the function: what is seen to be freed is.
func (p *Param) lend(seen Param, line *spec.Line) {
	p.Together, p.Tells, p.Gives, p.Counts, p.Waits = seen.Together, seen.Tells, seen.Gives, seen.Counts, seen.Waits
	p.Ends = seen.Ends && line.IsGlob()
	p.Frees = p.Frees || p.Ends
	if line.Level == spec.Embedded {
		p.Gives = everyBit
	} else {
		p.Runs = seen.Runs
	}
}

// take adds a clause about a result; data: who says so knows what its numbers are.
func (r *Result) take(c spec.Clause, number func(spec.Operand) int, data bool) {
	switch c.Effect {
	case spec.Owned: // on another condition it is not known
		r.Owned = c.Cond.Kind == spec.Always || c.Cond.Kind == spec.OnSuccess
	case spec.Views:
		r.Derived, r.Data = append(r.Derived, number(c.Of)), data && c.Of.Kind == spec.Recv
	case spec.Is:
		r.Is, r.Exact = append(r.Is, number(c.Of)), c.Cond.Kind == spec.Always
	}
}

// groupMethod returns the name of a method of sync.WaitGroup or errgroup.Group, Go for TryGo; "" if fn is
// another.
func groupMethod(fn *types.Func) string {
	if path := pathOf(fn); path != "sync" && path != "golang.org/x/sync/errgroup" {
		return ""
	}
	switch of, _, _ := strings.Cut(spec.FullName(fn), ")"); {
	case fn.Name() == "TryGo":
		return "Go"
	case of == "(*sync.WaitGroup", of == "(*golang.org/x/sync/errgroup.Group":
		return fn.Name()
	}
	return ""
}

// rearrange are packages that clear elements of what they are lent.
var rearrange = []string{"maps", "reflect", "slices"}

// lookers are functions of these that do not.
var lookers = []string{"maps.All", "maps.Clone", "maps.Equal", "maps.Keys", "maps.Values", "reflect.DeepEqual",
	"reflect.TypeOf", "slices.All", "slices.Backward", "slices.BinarySearch", "slices.Clone", "slices.Collect",
	"slices.Compare", "slices.Contains", "slices.Equal", "slices.Index", "slices.IsSorted", "slices.Max", "slices.Min",
	"slices.Sorted", "slices.SortedFunc", "slices.Values"}

// relays are packages that give one operand to a method of another, or of what that holds: WriteTo, Is.
var relays = []string{"bufio", "bytes", "errors", "io", "net"}

// unsaid reports whether what fn does to its operands depends on who they are, which no summary says.
func unsaid(fn *types.Func) bool {
	return slices.Contains(relays, pathOf(fn)) || slices.Contains(writers, pathOf(fn))
}

// writers are packages of functions that write over what they are lent.
var writers = []string{"encoding/binary", "encoding/json", "fmt", "reflect", "sync/atomic"}

// decodes reports whether a call writes what it read, or was told, over what operand n leads to.
func (c *checker) decodes(k *call, n int) bool {
	if k.fn == nil || c.off[Callbacks] {
		return false
	}
	name, last := k.fn.Name(), n == len(k.args)-1
	switch pathOf(k.fn) {
	case "encoding/json":
		return last && (name == "Unmarshal" || name == "Decode") && !floats(k.args[n])
	case "encoding/binary":
		return last && (name == "Read" || name == "Decode") && !floats(k.args[n])
	case "fmt":
		return last && strings.Contains(strings.ToLower(name), "scan")
	case "reflect":
		return n == 0 && strings.HasPrefix(name, "Set")
	}
	return false
}

// exchanges reports whether fn writes over the number that its first operand points to.
func (c *checker) exchanges(fn *types.Func) bool {
	return pathOf(fn) == "sync/atomic" && !c.off[Callbacks]
}

// floats reports whether v is an interface of floats, or of memory that holds nothing else: no handle is one.
func floats(v ssa.Value) bool {
	i, ok := v.(*ssa.MakeInterface)
	if !ok {
		return false
	}
	t := i.X.Type()
	for {
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			t = u.Elem()
		case *types.Slice:
			t = u.Elem()
		case *types.Array:
			t = u.Elem()
		default:
			b, ok := u.(*types.Basic)
			return ok && b.Info()&(types.IsFloat|types.IsComplex) != 0
		}
	}
}
