package report

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/groups"
	"github.com/lastuse/lastuse/escape/internal/member"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/place"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// A Cause is what keeps a buffer.
type Cause uint8

const (
	Unmoved   Cause = iota // nothing: the program frees it, or it never needed a free
	Freed                  // nothing: it is due, and freed
	Withheld               // it is due, and its frees would need a name or a place
	Missed                 // it is due, and on some path there is no name or no place
	Mixed                  // likewise, as a variable has it on some paths, and on others Reason.Note.Name
	Dropped                // likewise, as no variable gets it
	Stored                 // in what Reason.Note says
	Appended               // to a slice that is not followed
	Sent                   // on a channel
	Captured               // by a literal that goes elsewhere
	Started                // a goroutine has it
	Running                // it is due on some paths, and on others a goroutine has it
	Deferring              // a deferred call has it
	Returned               // to the caller
	Viewed                 // what views it is returned
	Thrown                 // it is in what a panic carries
	Passed                 // to function Reason.Func
	Calling                // by a call of which it is not known what it runs
	Called                 // it leads to a function that is called
	FreedPart              // what is freed may be it, a view of it or something else
	Perhaps                // Reason.Func frees it where Reason.When is so
	InLiteral              // a literal that goes elsewhere frees it
	FreedView              // a view of it is freed
	Crowded                // too many buffers meet in one variable
	Taken                  // by an instruction that is not understood
)

// A Reason says why a buffer is kept: the act through which it leaves, typed.
type Reason struct {
	Cause Cause
	Pos   token.Pos
	Note  Note
	Func  *types.Func
	When  effect.When
	In    *Reason        // what Func does with it, if it is of this package
	Known string         // likewise, if nobody looks into it here; "" if that is not known
	Path  []Step         // from the site to the act
	of    *types.Package // that it is said in
}

// Reasons gives reasons of sites.
type Reasons struct {
	Funcs map[*types.Func]*pointsto.Func // of the package
	Runs  func(*ssa.CallCommon) []calls.Target
	Names func(ssa.Value) []*types.Var            // that hold a value, the first first
	Known func(f *types.Func, operand int) string // why it lets that go where nobody looks into it; or ""
}

// Of returns what becomes of what a site of f makes: what was planned for it, or the first act by
// which it leaves in the order of the source.
func (w *Reasons) Of(f *pointsto.Func, v *place.Verdict) Reason {
	switch {
	case v.Why != "":
		return Reason{Cause: Crowded}
	case v.Perhaps != nil && len(v.Site.Moves) == 0:
		r := Reason{Cause: Perhaps, Pos: position(v.Perhaps.Instr), When: v.Perhaps.When, of: f.SSA.Pkg.Pkg}
		if r.Func = w.runs(v.Perhaps.Call); r.Func == nil || r.When.Cond == effect.Always {
			r.Cause = FreedPart
		}
		return r
	case v.Held || v.Missed > 0:
		return withheld(f, v)
	case v.Due:
		return Reason{Cause: Freed}
	}
	moves := leaves(v.Site)
	if len(moves) == 0 {
		return Reason{}
	}
	a := first(moves)
	r := w.of(f, a, map[*types.Func]bool{})
	if r.Cause == FreedView && f.Freed(v.Site) {
		return Reason{} // as a whole, too
	}
	r.Path = w.path(f, v.Site, a.Of)
	for _, h := range f.Holds(a.Of) {
		if r.Cause == Returned && h.Site == v.Site && h.As&^(pointsto.View|pointsto.Number) == 0 {
			r.Cause = Viewed
		}
	}
	return r
}

// withheld says why what is due has no free, or none on some path.
func withheld(f *pointsto.Func, v *place.Verdict) Reason {
	if dropped(v.Site) {
		return Reason{Cause: Dropped}
	}
	if at := running(v.Site); at.IsValid() {
		return Reason{Cause: Running, Pos: at}
	}
	if p := mixed(f, v.Site); p != nil {
		return Reason{Cause: Mixed, Note: Note{Name: p.Name()}}
	}
	if v.Held {
		return Reason{Cause: Withheld}
	}
	return Reason{Cause: Missed}
}

// leaves lists the acts by which what a site makes leaves; of what a call puts into a slice, that does so.
func leaves(s *pointsto.Site) []pointsto.Act {
	if _, put := s.Value.(*memory.Filled); !put {
		return s.Moves
	}
	out := slices.Clone(s.Moves)
	for _, into := range s.Given {
		out = append(out, into.Moves...)
	}
	return out
}

// dropped reports whether no variable gets what a site makes.
func dropped(s *pointsto.Site) bool {
	switch v := s.Value.(type) {
	case *memory.Dropped:
		return true
	case *ssa.Extract:
		return len(*v.Referrers()) == 0
	}
	return false
}

// mixed returns the parameter, which is the caller's, that a variable has on some paths which on others has
// what a site makes; nil if there is none.
func mixed(f *pointsto.Func, s *pointsto.Site) *ssa.Parameter {
	for _, b := range f.SSA.Blocks {
		for _, i := range b.Instrs {
			phi, ok := i.(*ssa.Phi)
			if !ok {
				break
			}
			var is bool
			var other *ssa.Parameter
			for _, h := range f.Holds(phi) {
				is = is || h.Site == s
				if p, param := h.Site.Value.(*ssa.Parameter); param && !f.Freed(h.Site) {
					other = p
				}
			}
			if is && other != nil {
				return other
			}
		}
	}
	return nil
}

// running returns where the first goroutine is started that gets what a site makes, and that nobody is known
// to wait for.
func running(s *pointsto.Site) token.Pos {
	var starts []pointsto.Act
	for _, a := range s.Moves {
		call, _ := a.Instr.(*ssa.Call)
		_, started := a.Instr.(*ssa.Go)
		if call != nil {
			name, _ := groups.Call(&call.Call)
			started = name == "Go"
		}
		if started {
			starts = append(starts, a)
		}
	}
	if len(starts) == 0 {
		return token.NoPos
	}
	return position(first(starts).Instr)
}

// first returns the act that is first in the source.
func first(moves []pointsto.Act) pointsto.Act {
	return slices.MinFunc(moves, func(a, b pointsto.Act) int { // one that the source has a place for, first
		if x, y := a.Instr.Pos().IsValid(), b.Instr.Pos().IsValid(); x != y {
			return map[bool]int{true: -1, false: 1}[x]
		}
		return int(position(a.Instr) - position(b.Instr))
	})
}

func (w *Reasons) of(f *pointsto.Func, a pointsto.Act, seen map[*types.Func]bool) Reason {
	r := Reason{Pos: position(a.Instr), of: f.SSA.Pkg.Pkg}
	if free, _ := member.FreedIn(f, a.Instr, a.Of); free != nil {
		r.Cause, r.Pos = InLiteral, free.Pos()
		return r
	}
	if a.Op == pointsto.Free || a.Op == pointsto.Later {
		r.Cause = FreedPart
		if slices.ContainsFunc(f.Holds(a.Of), func(h pointsto.Hold) bool { return h.As == pointsto.View }) {
			r.Cause = FreedView
		}
		if a.Call != nil {
			r.Func = w.runs(a.Call)
		}
		return r
	}
	switch i := a.Instr.(type) {
	case *ssa.Store:
		r.Cause, r.Note = Stored, stored(i.Addr)
		if m := capturedBy(i.Addr); m != nil {
			r.Cause, r.Pos = Captured, position(m)
			if free, _ := member.FreedIn(f, m, i.Addr); free != nil {
				r.Cause, r.Pos = InLiteral, free.Pos()
			}
		}
	case *ssa.MapUpdate:
		r.Cause, r.Note = Stored, Note{Kind: InElement, Of: typeName(i.Map)}
		if f.Origin(i.Key) == a.Of {
			r.Note.Kind = InKey
		}
	case *ssa.Send:
		r.Cause = Sent
	case *ssa.Select:
		r.Cause = Sent
	case *ssa.MakeClosure:
		r.Cause = Captured
	case *ssa.Return:
		r.Cause = Returned
	case *ssa.Panic:
		r.Cause = Thrown
	case *ssa.Go:
		r.Cause = Started
	case *ssa.Defer:
		r.Cause = Deferring
	case *ssa.Call:
		w.call(f, &r, a, seen)
	default:
		r.Cause = Taken
	}
	return r
}

// call fills in what a call does with the operand of an act.
func (w *Reasons) call(in *pointsto.Func, r *Reason, a pointsto.Act, seen map[*types.Func]bool) {
	c := a.Call
	if c == nil { // a builtin, or it gets a literal
		r.Cause = Taken
		if b := a.Instr.(*ssa.Call).Call.Value; b.Name() == "append" {
			r.Cause = Appended
		} else if slices.ContainsFunc(a.Instr.Operands(nil), isLiteral) {
			r.Cause = Captured
		}
		return
	}
	switch {
	case !c.IsInvoke() && in.Origin(c.Value) == a.Of:
		r.Cause = Called
	case calls.Literal(c) != nil:
		r.Cause = Captured
	default:
		r.Cause = Calling
	}
	r.Func = w.runs(c)
	if r.Cause != Calling || r.Func == nil {
		return
	}
	r.Cause = Passed
	k, part := in.Operand(c, a.Of)
	if k < 0 || seen[r.Func] {
		return
	}
	seen[r.Func] = true
	if r.Known = w.Known(r.Func, k); r.Known != "" {
		return
	}
	if f := w.Funcs[r.Func]; f != nil {
		if moves := given(f, k, part); len(moves) > 0 {
			inner := w.of(f, first(moves), seen)
			r.In = &inner
		}
	}
}

// given lists the acts by which a part of operand k leaves a function.
func given(f *pointsto.Func, k int, part string) []pointsto.Act {
	var moves []pointsto.Act
	for _, s := range f.Sites {
		if s.Param == k && s.Part == part {
			moves = append(moves, s.Moves...)
		}
	}
	if len(moves) == 0 && k < len(f.SSA.Params) {
		_, moves = f.Lent(f.SSA.Params[k])
	}
	// What is returned says where it is.
	return slices.DeleteFunc(moves, func(a pointsto.Act) bool { return a.Op == pointsto.Leave })
}

// Given says why a function of the package lets operand k go, for other packages; "" if that is not known.
func (w *Reasons) Given(fn *types.Func, k int) string {
	if text := w.Known(fn, k); text != "" {
		return text
	}
	if f := w.Funcs[fn]; f != nil {
		if moves := given(f, k, ""); len(moves) > 0 {
			return w.of(f, first(moves), map[*types.Func]bool{fn: true}).words(false)
		}
	}
	return ""
}

// runs returns the function that a call runs, or the first of those; nil if that is not known.
func (w *Reasons) runs(c *ssa.CallCommon) *types.Func {
	if fn := calls.Called(c); fn != nil {
		return fn.Origin()
	}
	if ts := w.Runs(c); len(ts) > 0 {
		return ts[0].Func
	}
	return nil
}

// position returns where an instruction is, or what it takes, if it has no place itself.
func position(i ssa.Instruction) token.Pos {
	if i.Pos().IsValid() {
		return i.Pos()
	}
	for _, op := range i.Operands(nil) {
		if *op != nil && (*op).Pos().IsValid() {
			return (*op).Pos()
		}
	}
	return i.Parent().Pos()
}

func isLiteral(op *ssa.Value) bool {
	_, yes := (*op).(*ssa.MakeClosure)
	return yes
}

// capturedBy returns what makes a literal that captures a variable in memory; nil if none does.
func capturedBy(addr ssa.Value) ssa.Instruction {
	if !memory.InMemory(addr) {
		return nil
	}
	for _, i := range *addr.Referrers() {
		if m, ok := i.(*ssa.MakeClosure); ok {
			return m
		}
	}
	return nil
}

// stored says where an address leads.
func stored(addr ssa.Value) Note {
	switch a := addr.(type) {
	case *ssa.FieldAddr:
		if name := fieldName(a.X, a.Field); name != "" {
			return Note{Kind: InField, Name: name, Of: typeName(a.X)}
		}
	case *ssa.IndexAddr:
		return Note{Kind: InElement, Of: typeName(a.X)}
	case *ssa.Global:
		return Note{Kind: InVariable, Name: a.Name()}
	case *ssa.Alloc, *ssa.FreeVar:
		return Note{Kind: Somewhere}
	}
	return Note{Kind: InPointee}
}

// fieldName returns the name of a field of what v is, or leads to; "" if that is no struct.
func fieldName(v ssa.Value, k int) string {
	t := v.Type()
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if s, ok := t.Underlying().(*types.Struct); ok {
		return s.Field(k).Name()
	}
	return ""
}

func typeName(v ssa.Value) string {
	var in *types.Package
	switch v := v.(type) {
	case *ssa.Global:
		in = v.Pkg.Pkg
	case *ssa.Function:
		in = v.Pkg.Pkg
	default:
		if f := v.Parent(); f != nil {
			in = f.Pkg.Pkg
		}
	}
	return types.TypeString(v.Type(), qualified(in))
}

// texts are the words of causes that need no others.
var texts = map[Cause]string{
	Unmoved:   "freed by the program, or never needed a free",
	Freed:     "freed",
	Withheld:  "no name, or no place in the source, by which it could be freed",
	Missed:    "on some path no name, or no place in the source, by which it could be freed",
	Dropped:   "no variable holds it: the result is dropped",
	Appended:  "appended to a slice that is not followed",
	Sent:      "sent on a channel",
	Captured:  "captured by a literal that keeps it, or that goes elsewhere",
	Started:   "handed to a goroutine",
	Deferring: "handed to a deferred call",
	Returned:  "returned to the caller",
	Viewed:    "what views it is returned to the caller",
	Thrown:    "carried by a panic",
	Calling:   "passed to a call of which it is not known what it runs",
	Called:    "it leads to the function that is called",
	FreedView: "a view of it is freed",
	FreedPart: "what is freed there may be it, or a part of it",
	InLiteral: "freed by a function literal, which may be called once, several times or never",
	Crowded:   "too many buffers meet in one variable",
	Taken:     "used in a way that is not understood",
}

// String returns the words of a reason, with the places in functions that are called as [At] marks them.
func (r Reason) String() string {
	text := r.text()
	if r.In != nil {
		text += ": " + r.In.words(true)
	}
	return text
}

// words returns the words of a reason with places, or without any.
func (r Reason) words(places bool) string {
	text := r.text()
	if r.Pos.IsValid() && places {
		text += " at " + At(r.Pos)
	}
	if r.In != nil {
		text += ": " + r.In.words(places)
	}
	return text
}

// text returns the words of a reason alone.
func (r Reason) text() string {
	switch {
	case r.Cause == Stored:
		return r.Note.String()
	case r.Cause == Mixed:
		return "where it is needed last it may as well be " + r.Note.Name +
			", which is the caller's, and nothing tells the two apart"
	case r.Cause == Running:
		return "a goroutine started at " + At(r.Pos) + " may still use it"
	case r.Cause == Perhaps:
		return FuncName(r.Func, r.of) + " frees it " + r.where()
	case r.Cause != Passed:
		return texts[r.Cause]
	}
	text := "passed to " + FuncName(r.Func, r.of)
	switch {
	case r.Known != "":
		return text + ": " + r.Known
	case r.In == nil:
		return text + ", which may keep it"
	}
	return text
}

// where says on which calls Func frees it.
func (r Reason) where() string {
	switch r.When.Cond {
	case effect.OnSuccess:
		return "on success, and nobody looks at the error"
	case effect.OnError:
		return "on error, and nobody looks at that"
	case effect.IfTrue, effect.IfFalse:
		k, sig := r.When.Param, r.Func.Signature()
		if sig.Recv() != nil {
			k--
		}
		if k >= 0 && k < sig.Params().Len() {
			return fmt.Sprintf("if %s is %t, which is not known here", sig.Params().At(k).Name(), r.When.Cond == effect.IfTrue)
		}
	}
	return "on some paths"
}
