// Package infer makes the summary of a function of the states at its exits.
//
// # Words
//
//   - An exit is a return of the function; a panic is none, as callers learn nothing of it. What has
//     escaped where one begins may have escaped: who recovers has it.
//   - An exit is one of success or of an error if the error that it returns is nil or not,
//     by itself or by the conditions that led there; else it may be either.
//
// # The way through
//
// A parameter is freed always, on success or on error if it is at all exits of that kind
// and at none of the other, and maybe if that is mixed; it escapes likewise. A result that
// is a parameter, or views it, says so, and does not count as an escape. A result is owned
// if at every exit it is nil, or surely is a buffer that the function made and owns there;
// an exit with an error need not give one. So are parts of a result that nothing frees as a whole, or
// that is put together here: if a free that was found frees all that are owned, and no other
// parts hold anything that it would free, they are the result.
//
// Parts of a parameter are followed as parameters are. One that holds something else at an exit than it
// was given with escapes. A method that frees parts of its receiver, and does nothing else, is a free of
// that type (free.go), as is one that counts references (counted.go). What else a parameter leads to
// whose type nothing frees escapes or is viewed, whatever the path.
package infer

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// Summary returns the summary of a function that is solved.
func Summary(f *own.Func, frees *effect.Frees) *effect.Summary {
	s := effect.Blank(f.SSA.Signature)
	e := &exits{f: f, frees: frees, error: effect.HasError(f.SSA.Signature)}
	for _, b := range f.SSA.Blocks {
		switch i := b.Instrs[len(b.Instrs)-1].(type) {
		case *ssa.Return:
			if b != f.SSA.Recover || len(f.Graph.Preds[f.Graph.Entry(b)]) > 0 {
				e.returns = append(e.returns, i)
			}
		case *ssa.Panic:
			e.panics = append(e.panics, i)
		}
	}
	for _, v := range f.SSA.FreeVars { // of a literal: they follow its parameters
		p := effect.Param{}
		if f.IsSlot(v) {
			p.Escapes.Cond = effect.Always
		}
		s.Params = append(s.Params, p)
	}
	followed := map[int]bool{}
	for _, g := range f.Groups {
		for k, site := range g.Sites {
			if site.Param < 0 {
				continue
			}
			followed[site.Param] = followed[site.Param] || site.Part == ""
			if g.Why() != "" || site.Param >= 64 { // as many as results can point to
				s.Params[site.Param].Escapes.Cond = effect.Always
				continue
			}
			e.param(s, g, own.Token(2*k), site)
		}
	}
	for k, p := range f.SSA.Params {
		s.Params[k].Calls, s.Params[k].TakesNil = e.calls(p), takesNil(f, p)
		if f.In.Frees.Parts(p.Type()) != nil && e.turns(s.Params[k], p) {
			s.Params[k] = effect.Param{Escapes: effect.When{Cond: effect.Always}, Stays: effect.Stays{Turned: true}}
		}
		if f.In.Owns(p.Type()) && looksOnly(f, p) {
			s.Params[k].Reads = effect.Handle
		}
		s.Params[k].Made, s.Params[k].Hands = e.makes(p), e.hands(p)
		s.Params[k].Waits = f.Joins().Waited(f.SSA, p)
		if !followed[k] && !effect.Plain(p.Type()) {
			e.lent(s, k, p)
		}
	}
	for k, v := range f.SSA.FreeVars {
		if !f.IsSlot(v) {
			e.lent(s, len(f.SSA.Params)+k, v)
		}
		s.Params[len(f.SSA.Params)+k].Waits = f.Joins().Waited(f.SSA, v)
	}
	e.kept(s)
	e.grow(s)
	if found := frees.Found(calls.Declared(f.SSA)); found != nil {
		takes := s.Params[0].TakesNil
		s.Params[0] = found.Does()
		s.Params[0].TakesNil = takes
	}
	if retains(f, frees) {
		s.Params[0] = effect.Param{Retained: true}
	}
	for n := range s.Results {
		e.result(s, n)
		s.Results[n].Some, s.Results[n].Hands = e.some(n), e.handing(n)
	}
	return s
}

// kept forgets what else is known of parameters that escape.
func (e *exits) kept(s *effect.Summary) {
	for k := range s.Params {
		if s.Params[k].Escapes.Cond == effect.Always {
			s.Params[k].Parts = nil
		}
		if s.Params[k].Escapes.Cond != effect.Never {
			s.Params[k].Calls = effect.Anyhow
		}
	}
}

type exits struct {
	f       *own.Func
	frees   *effect.Frees
	error   bool // the last result is one
	flag    bool // the last result says whether there is another: false is as an error
	returns []*ssa.Return
	panics  []*ssa.Panic
	loose   uint64 // bit i: parameter i is none of a type that something frees
}

// A tally counts at exits of each kind where something is so.
type tally struct {
	yes, no [2]bool // by kind: success, error
	flags   []flag
}

// A flag counts, for a boolean parameter, where something is so: where it is false, and true.
type flag struct {
	param   int
	value   ssa.Value
	yes, no [2]bool
}

func (e *exits) tally() *tally {
	t := &tally{}
	for k, p := range e.f.SSA.Params {
		if types.Identical(p.Type().Underlying(), types.Typ[types.Bool]) {
			t.flags = append(t.flags, flag{param: k, value: p})
		}
	}
	return t
}

func (t *tally) add(so, maybe bool, kinds [2]bool, c own.Combination) {
	for k := range kinds {
		if kinds[k] {
			t.yes[k] = t.yes[k] || so
			t.no[k] = t.no[k] || !so || maybe
		}
	}
	for i := range t.flags {
		f := &t.flags[i]
		on, known := c.True(f.value)
		for k, is := range [2]bool{!on || !known, on || !known} {
			if is {
				f.yes[k] = f.yes[k] || so
				f.no[k] = f.no[k] || !so || maybe
			}
		}
	}
}

func (t *tally) when(hasError bool) effect.When {
	all := func(b [2]bool) bool { return b[0] || b[1] }
	switch {
	case !all(t.yes):
		return effect.When{}
	case !all(t.no):
		return effect.When{Cond: effect.Always}
	case hasError && !t.no[0] && !t.yes[1]:
		return effect.When{Cond: effect.OnSuccess}
	case hasError && !t.no[1] && !t.yes[0]:
		return effect.When{Cond: effect.OnError}
	}
	for _, f := range t.flags {
		switch {
		case !f.no[1] && !f.yes[0]:
			return effect.When{Cond: effect.IfTrue, Param: f.param}
		case !f.no[0] && !f.yes[1]:
			return effect.When{Cond: effect.IfFalse, Param: f.param}
		}
	}
	return effect.When{Cond: effect.Maybe}
}

// kinds returns whether a return may be one of success and one of an error.
func (e *exits) kinds(r *ssa.Return, c own.Combination) [2]bool {
	if !e.flag {
		success, failure := e.f.Outcome(r, c.NonNil)
		return [2]bool{success, failure}
	}
	v := e.f.Last(r)
	if i, ok := v.(*ssa.Const); ok {
		on := i.Value != nil && constant.BoolVal(i.Value)
		return [2]bool{on, !on}
	}
	on, known := c.True(v)
	return [2]bool{on || !known, !on || !known}
}

// before returns what a group is in front of an instruction; nil if it is not alive there, or no
// path leads there.
func (e *exits) before(g *own.Group, r ssa.Instruction) *own.Point {
	n, at, _ := e.f.Graph.Where(r)
	var last *own.Point
	for _, p := range g.Points(n) {
		if p.At <= at {
			last = p
		}
	}
	return last
}

// param fills in what becomes of a parameter, which is a token of its own.
func (e *exits) param(s *effect.Summary, g *own.Group, t own.Token, site *pointsto.Site) {
	freed, escapes := e.tally(), e.tally()
	for _, r := range e.returns {
		p := e.before(g, r)
		if p == nil {
			continue
		}
		p.States(t, func(c own.Combination, st own.Status) {
			if st == own.Absent { // nil is neither freed nor kept
				return
			}
			kinds := e.kinds(r, c)
			gone := st&(own.Freed|own.Pending) != 0
			freed.add(gone, gone && st&(own.Owned|own.Moved) != 0, kinds, c)
			moved := st&own.Moved != 0
			escapes.add(moved, moved && st != own.Moved, kinds, c)
		})
		if site.Part != "" && !p.Is(site.Value, t) { // something else was put there
			escapes.add(true, true, [2]bool{true, true}, own.Combination{})
		}
		for n, v := range e.f.Results(r) {
			for _, h := range e.f.Holds(v) {
				switch {
				case h.Site != site:
				case h.As == pointsto.Whole && site.Part == "":
					s.Results[n].Is |= 1 << site.Param
				case h.As == pointsto.Whole:
					s.Results[n].Views |= 1 << site.Param
				case !leads(&s.Results[n], h.As, site.Param):
					escapes.add(true, true, [2]bool{true, true}, own.Combination{})
				}
			}
			for _, part := range e.f.Parts(v) {
				if e.f.May(part, site) && !e.isPart(g, t, site, n, part) {
					escapes.add(true, true, [2]bool{true, true}, own.Combination{})
				}
			}
		}
	}
	if e.inOther(site) {
		escapes.add(true, true, [2]bool{true, true}, own.Combination{})
	}
	for _, i := range e.panics {
		n, _, _ := e.f.Graph.Where(i)
		for _, p := range g.Points(n) {
			if p.Status(t)&own.Moved != 0 {
				escapes.add(true, true, [2]bool{true, true}, own.Combination{})
			}
		}
	}
	var does effect.Param
	does.Freed, does.Escapes = freed.when(e.error), escapes.when(e.error)
	if does.Escapes.Cond == effect.Never {
		e.inParts(s, g, t, site)
	}
	does.Filled = does.Escapes.Cond != effect.Never && site.Part == "" && fills(site.Moves)
	does.Repeatable = does.Freed.Cond != effect.Never && e.f.Repeatable(site)
	does.Sets.Lends = site.Lends
	if site.Lends && e.f.SSA.Parent() == nil { // facts have no word for it
		does.Escapes.Cond = effect.Always
	}
	if e.f.Assigns(site.Value) {
		e.sets(&does, g, t, site.Value)
	}
	switch p := &s.Params[site.Param]; {
	case site.Part == "":
		does.Calls, *p = p.Calls, does
	case !does.Borrows():
		p.Parts = effect.Put(p.Parts, site.Part, does)
	}
}

// lent fills in what becomes of a parameter that nothing frees as it is.
func (e *exits) lent(s *effect.Summary, k int, p ssa.Value) {
	as, moves := e.f.Lent(p)
	for _, m := range moves {
		r, returned := m.Instr.(*ssa.Return)
		if !returned || k >= 64 { // as many as results can point to
			s.Params[k].Escapes.Cond = effect.Always
			continue
		}
		e.loose |= 1 << k
		found := false
		for n, v := range e.f.Results(r) {
			if p, ok := m.Of.(*memory.Field); e.f.Origin(v) == m.Of || ok && p.Root == v {
				found = true
				if as[m.Of]&pointsto.Number != 0 {
					s.Results[n].Shows |= 1 << k
				}
				if as[m.Of]&pointsto.Dependent != 0 {
					s.Results[n].Needs |= 1 << k
				}
				if as[m.Of]&^(pointsto.Number|pointsto.Dependent) != 0 { // a part of it, or all
					s.Results[n].Views |= 1 << k
				}
			}
		}
		if !found {
			s.Params[k].Escapes.Cond = effect.Always
		}
	}
	s.Params[k].Filled = s.Params[k].Escapes.Cond != effect.Never && fills(moves)
}

// fills reports whether acts by which something leaves only give something to what it leads to.
func fills(moves []pointsto.Act) bool {
	return !slices.ContainsFunc(moves, func(a pointsto.Act) bool { return !a.Fills })
}

// leads notes that a result views parameter k, or has a number of it, and reports whether that
// is all that a value with a relation may be.
func leads(r *effect.Result, as pointsto.Relation, k int) bool {
	if as&^(pointsto.View|pointsto.Number|pointsto.Dependent) != 0 {
		return false
	}
	if as&pointsto.View != 0 {
		r.Views |= 1 << k
	}
	if as&pointsto.Dependent != 0 {
		r.Needs |= 1 << k
	}
	if as&pointsto.Number != 0 {
		r.Tells |= 1 << k
	}
	return true
}

// result fills in what of a result is owned, and whether it surely is a parameter.
func (e *exits) result(s *effect.Summary, n int) {
	res := &s.Results[n]
	must := e.owned(s, n, "", res)
	res.Must = must && res.Is != 0
	if res.Owned.Cond != effect.Never {
		return
	}
	if types.IsInterface(e.f.SSA.Signature.Results().At(n).Type()) {
		e.boxed(s, n, res)
		return
	}
	e.pieces(s, n, res)
}

// pieces fills in which parts of a result are owned, and whether that is all of it.
func (e *exits) pieces(s *effect.Summary, n int, res *effect.Result) {
	seen := map[string]bool{}
	for _, r := range e.returns {
		for _, p := range e.f.Parts(e.f.Results(r)[n]) {
			path := p.Text()
			if seen[path] {
				continue
			}
			seen[path] = true
			part := effect.Result{Is: res.Is, Views: res.Views, Needs: res.Needs, Tells: res.Tells, Shows: res.Shows}
			e.owned(s, n, path, &part)
			if part.Owned.Cond != effect.Never {
				res.Parts = effect.Put(res.Parts, path, effect.Result{Owned: part.Owned, Nil: part.Nil, Holes: part.Holes})
			}
		}
	}
	e.together(n, res)
}

// boxed fills in whether result n, an interface, is owned: what is put together there, or made by a call,
// is of another type at each return.
func (e *exits) boxed(s *effect.Summary, n int, res *effect.Result) {
	var all effect.Result
	for _, r := range e.returns {
		if c, ok := e.f.Results(r)[n].(*ssa.Const); ok && c.IsNil() {
			all.Nil = all.Nil || e.kinds(r, own.Combination{})[0]
			continue
		}
		one, is := *e, *res
		one.returns = []*ssa.Return{r}
		if one.owned(s, n, "", &is); is.Owned.Cond == effect.Never {
			one.pieces(s, n, &is)
		}
		some := all.Owned.Cond != effect.Never
		if is.Owned.Cond == effect.Never || is.Error || some && is.Owned != all.Owned {
			return
		}
		all.Owned, all.Nil = is.Owned, all.Nil || is.Nil
	}
	res.Owned, res.Nil = all.Owned, all.Nil
}

// together makes one of the parts of a result, if what frees its type frees all that are owned, and nothing
// else.
func (e *exits) together(n int, res *effect.Result) {
	if len(res.Parts) == 0 {
		return
	}
	free := e.frees.Of(e.f.Results(e.returns[0])[n].Type()) // of what is in an interface, if it is one
	if free == nil || free.Parts == nil {
		return
	}
	all, owned := effect.Result{Owned: res.Parts[0].Is.Owned}, 0
	for path, nilOK := range free.Parts {
		part, ok := res.Part(path)
		switch {
		case !ok && !(nilOK && e.nothing(n, path)), ok && e.bare(n, path, part) && !nilOK, ok && part.Owned != all.Owned:
			return
		case ok:
			owned++
		}
	}
	if owned < len(res.Parts) || all.Owned.Cond == effect.Never {
		return // it has others, or those are the caller's
	}
	for _, r := range e.returns {
		if c, ok := e.f.Results(r)[n].(*ssa.Const); ok && c.Value == nil && e.kinds(r, own.Combination{})[0] {
			all.Nil = true
		}
	}
	res.Owned, res.Nil, res.Parts = all.Owned, all.Nil, nil
}

// bare reports whether a free that does not test a part of a result may find nothing there; a slice or a
// map that is nothing has no elements.
func (e *exits) bare(n int, path string, part effect.Result) bool {
	for _, r := range e.returns {
		if v := e.part(e.f.Results(r)[n], path); v != nil && e.f.Collects(v) {
			return part.Holes
		}
	}
	return part.Nil
}

// nothing reports whether a part of a result holds nothing, whatever the path.
func (e *exits) nothing(n int, path string) bool {
	return !slices.ContainsFunc(e.returns, func(r *ssa.Return) bool {
		v := e.part(e.f.Results(r)[n], path)
		c, ok := v.(*ssa.Const)
		return v == nil || !(ok && c.Value == nil) && !e.f.Empty(v)
	})
}

// part returns the part of a result at a path, or the result if that is nothing; nil if it has none.
func (e *exits) part(v ssa.Value, path string) ssa.Value {
	if _, ok := v.(*ssa.Const); ok || path == "" {
		return v
	}
	for _, p := range e.f.Parts(v) {
		if p.Text() == path {
			return p
		}
	}
	return nil
}

// owned fills in whether result n, or the part of it at a path, is owned, where there is no error or, if
// that is more, where the last result says so. It reports whether it surely is a parameter.
func (e *exits) owned(s *effect.Summary, n int, path string, res *effect.Result) (must bool) {
	must = e.ownedWhere(n, path, res, effect.Always)
	plain := *res
	if effect.HasFlag(e.f.SSA.Signature) && n < len(s.Results)-1 && (plain.Owned.Cond == effect.Never || plain.Nil) {
		res.Owned, res.Nil, e.flag = effect.When{}, false, true
		e.ownedWhere(n, path, res, effect.OnTrue)
		if e.flag = false; res.Owned.Cond == effect.Never || res.Nil {
			*res = plain
		}
	}
	return must
}

func (e *exits) ownedWhere(n int, path string, res *effect.Result, where effect.Cond) (must bool) {
	all, some := given(0), false
	for _, r := range e.returns {
		v := e.part(e.f.Results(r)[n], path)
		if v == nil || e.f.Foreign(v) {
			return false
		}
		if c, ok := v.(*ssa.Const); ok && c.Value == nil || e.f.Empty(v) {
			all |= perhaps(none, failed, e.kinds(r, own.Combination{}))
			continue
		}
		g := e.gives(v, r)
		if !e.alone(v, n, path, r) {
			g |= loose
		}
		all, some = all|g, some || g&loose == 0
	}
	if path == "" && e.frees.Spares(e.f.SSA.Signature.Results().At(n).Type()) {
		all &^= failed // who frees it whatever the error frees a zero value there
	}
	if lost := all&spare != 0 && all&failed != 0; some && all&loose == 0 && !lost &&
		(res.Is|res.Views|res.Tells|res.Shows)&^e.loose == 0 {
		res.Owned.Cond, res.Nil, res.Holes = where, all&none != 0, all&holed != 0
		res.Error = all&(beside|spare) != 0 && all&failed == 0 && path == ""
	}
	return len(e.returns) == 0 || all&other == 0
}

// alone reports whether nothing else of a return leads to what result n, or a part of it, may hold: a
// summary has no word for results that belong together.
func (e *exits) alone(v ssa.Value, n int, path string, r *ssa.Return) bool {
	for k, w := range e.f.Results(r) {
		others := []ssa.Value{w}
		if k == n {
			others = nil
		}
		for _, p := range e.f.Parts(w) {
			if k != n || path != "" && p.Text() != path {
				others = append(others, p)
			}
		}
		for _, w := range others {
			if slices.ContainsFunc(e.f.Holds(v), func(h pointsto.Hold) bool { return e.f.May(w, h.Site) }) {
				return false
			}
		}
	}
	return true
}

// says reports whether the last result of a return is what says whether a site made something, or a flag that
// is true where there is no error.
func (e *exits) says(r *ssa.Return, s *pointsto.Site) bool {
	last := e.f.Last(r)
	if is, ok := last.(*ssa.BinOp); ok && e.flag && is.Op == token.EQL && s.Error != nil {
		none := func(v ssa.Value) bool { c, ok := v.(*ssa.Const); return ok && c.IsNil() }
		if is.X == s.Error && none(is.Y) || is.Y == s.Error && none(is.X) {
			return !s.Nil
		}
	}
	return !s.Nil && (e.error && (last == s.Error || madeBeside(s, last)) || e.flag && last == s.OK)
}

// madeBeside reports whether a site makes something of a result that a call returned beside an error: where
// that is not nil, the result is nothing, and so is what is made of it.
func madeBeside(s *pointsto.Site, err ssa.Value) bool {
	c := memory.CallOf(s.Value)
	of, ok := err.(*ssa.Extract)
	return c != nil && ok && slices.ContainsFunc(calls.Operands(&c.Call), func(v ssa.Value) bool {
		for {
			switch i := v.(type) {
			case *ssa.Convert:
				v = i.X
				continue
			case *ssa.ChangeType:
				v = i.X
				continue
			case *ssa.Extract:
				return i.Tuple == of.Tuple
			}
			return false
		}
	})
}

// A given is what a value may be where it is returned.
type given uint8

const (
	other  given = 1 << iota // no parameter
	loose                    // no buffer that is owned, but something
	none                     // nothing, where there is no error
	holed                    // with elements that are nothing, likewise
	beside                   // owned, where there may be an error
	spare                    // owned, where there is one
	failed                   // nothing, where there may be an error
)

// perhaps is what is so at a return where there may be no error, and where there may be one.
func perhaps(success, failure given, kinds [2]bool) (g given) {
	if kinds[0] {
		g |= success
	}
	if kinds[1] {
		g |= failure
	}
	return g
}

// gives returns what v may be where it is returned.
func (e *exits) gives(v ssa.Value, r *ssa.Return) (is given) {
	for _, g := range e.f.Groups {
		if g.Why() != "" || !g.Has(v) {
			continue
		}
		p := e.before(g, r)
		if p == nil {
			break
		}
		ts, whole := p.Held(v)
		if len(ts) == 0 { // nil is in the variable of the result
			is |= perhaps(none, failed, e.kinds(r, own.Combination{}))
		}
		for _, t := range ts {
			is |= e.holds(g, p, t, r, e.f.Undone(r, v))
			if !whole || !p.Is(v, t) {
				is |= other | loose
			}
		}
		if e.f.Handed(v) { // or nothing: a summary does not tell these apart
			is |= perhaps(0, failed, e.kinds(r, own.Combination{}))
		}
		return is
	}
	return other | loose
}

// holds returns what a value may be that is a token where it is returned, which an error may have undone.
func (e *exits) holds(g *own.Group, p *own.Point, t own.Token, r *ssa.Return, undone bool) (is given) {
	site := g.Sites[t/2]
	if is = loose; site.Param < 0 {
		is = other
	}
	p.States(t, func(c own.Combination, st own.Status) {
		kinds := e.kinds(r, c)
		if st&^(own.Owned|own.Absent|own.Given|own.Holed) != 0 {
			is |= loose
		}
		if st&own.Owned != 0 && !undone && !e.says(r, site) { // else it is owned where there is none
			is |= perhaps(0, beside, kinds)
			if !kinds[0] {
				is |= spare
			}
		}
		if st&own.Absent != 0 {
			is |= perhaps(0, failed, kinds)
			if site.Owning() == nil && !e.says(r, site) {
				is |= perhaps(none, 0, kinds)
			}
		}
		if st&own.Holed != 0 {
			is |= perhaps(holed, 0, kinds)
		}
	})
	return is
}
