package find

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/member"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/place"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/internal/taken"
)

// A Kind is a category of findings.
type Kind uint8

const (
	None         Kind = iota // nothing is wrong
	Unfreed                  // never freed, nor handed on
	Leak                     // likewise on some path
	DoubleFree               // freed again
	UseAfterFree             // used, or returned, when it is freed
	KeepAlive                // used by a raw pointer alone
	Late                     // freed long after it was used last
)

// An Occasion is what happens to a token.
type Occasion uint8

const (
	Dead      Occasion = iota // nothing needs it any more
	Read                      // something looks at its memory
	Freed                     // it is freed
	Deferred                  // a call is deferred that frees it
	Returned                  // to the caller
	Kept                      // by a call, or where others get at it
	Dropped                   // by the map that it is in
	Counted                   // retained and released, all in all
	Begun                     // given up before it is put together
	Skipped                   // taken out of a channel or a slice, and left on some way
	Some                      // made by some that a call may run, and lent by others
	Held                      // retained, to be kept, and left on some way
	Half                      // made by a call that then failed
	Empty                     // given to a deferred call that frees what is in it, and filled behind
	occasions = iota
)

// table has the kind of finding that it is, on an occasion, that a token is in a state.
var table = [occasions]map[own.Status]Kind{
	Dead:     {own.Owned: Unfreed},
	Read:     {own.Freed: UseAfterFree},
	Freed:    {own.Freed: DoubleFree, own.Pending: DoubleFree},
	Deferred: {own.Freed: DoubleFree, own.Pending: DoubleFree},
	Returned: {own.Freed: UseAfterFree, own.Pending: UseAfterFree},
	Kept:     {own.Freed: UseAfterFree},
}

// A Finding is something that is wrong with what a site makes.
type Finding struct {
	Kind  Kind
	On    Occasion
	State own.Status // in which the token is
	Site  *pointsto.Site
	Pos   token.Pos // where it is said
	Other token.Pos // where it was freed, where the raw pointer is used, or where the path leaves
	View  bool      // it is a view that is freed
	Must  bool      // it is so on all ways there
	To    Taker     // who has it then
	Owed  int       // how many frees are owed
	Field Given     // of what is given up: in which something is
	Late  *place.Late
}

// A Given is a field that was given something, or a part of what is in there.
type Given struct {
	Name string
	Part bool
}

// A met is a meeting, and the node that it is in.
type met struct {
	own.Meeting
	node int
}

// A finder looks at one group.
type finder struct {
	f     *own.Func
	g     *own.Group
	ended map[*pointsto.Site]bool      // the program frees it or hands it on, on some path
	put   map[*pointsto.Site]bool      // likewise, into a collection
	freed map[*pointsto.Site]token.Pos // where the program frees it first
	raw   map[*pointsto.Site]token.Pos // where it is used last, by a raw pointer
	ends  map[own.Token][]int          // the nodes in which the program frees it
	// The deferred calls that free it, and whether the program frees it by another call.
	defers   map[*pointsto.Site][]ssa.Instruction
	explicit map[*pointsto.Site]bool
	byRaw    map[ssa.Value]bool // see findRaw
	out      []Finding
}

// Find lists what is wrong in a function of which the frees are planned, in the order of the source.
func Find(f *own.Func, frees []place.Free, verdicts []place.Verdict, lates []*place.Late) []Finding {
	var out []Finding
	for _, g := range f.Groups {
		if g.Why() != "" {
			continue
		}
		r := &finder{f: f, g: g, ended: map[*pointsto.Site]bool{}, put: map[*pointsto.Site]bool{},
			freed: map[*pointsto.Site]token.Pos{}, raw: map[*pointsto.Site]token.Pos{}, ends: map[own.Token][]int{},
			defers: map[*pointsto.Site][]ssa.Instruction{}, explicit: map[*pointsto.Site]bool{}}
		r.findRaw()
		met := r.meetings()
		for _, l := range lates {
			if slices.Contains(g.Sites, l.Site) {
				r.add(Finding{Kind: Late, On: Dead, State: own.Owned, Must: true, Site: l.Site, Pos: l.Site.Pos(), Other: l.At, Late: l})
			}
		}
		for k, s := range g.Sites {
			if !s.Joint() {
				r.deferredInLoop(own.Token(2*k), s)
			}
			r.dropped(s)
			r.counted(s)
		}
		for _, v := range verdicts {
			if v.Due && slices.Contains(g.Sites, v.Site) {
				r.due(&v, frees)
			}
		}
		for _, m := range met {
			r.judge(m)
			r.given(m.Meeting)
		}
		out = append(out, r.out...)
	}
	out = slices.Concat(out, lent(f, out))
	known := func(v ssa.Value) bool {
		return slices.ContainsFunc(out, func(fd Finding) bool { return fd.Site.Value == v })
	}
	for _, l := range taken.Losses(f, known) {
		fd := Finding{Kind: Leak, On: Skipped, State: own.Owned, Pos: l.From, Other: l.At}
		fd.Site = &pointsto.Site{Value: l.Value, Param: -1, Begun: l.All}
		switch {
		case l.Held:
			fd.On = Held
		case l.All:
			fd.On, fd.Pos, fd.Other, fd.Field.Part = Begun, l.At, l.From, true
		}
		out = append(out, fd)
	}
	out = slices.Concat(out, some(f), halves(f), fillings(f), heaps(f, out), empties(f))
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// meetings lists what happens to the tokens of the group, and notes who frees, and who reads by a raw
// pointer.
func (r *finder) meetings() []met {
	var out []met
	for _, n := range r.g.Nodes() {
		if !r.f.Runs(n) {
			continue
		}
		for _, p := range r.g.Points(n) {
			for t := range own.Token(r.g.Tokens()) {
				s := r.site(t)
				st := p.Status(t)
				r.ended[s] = r.ended[s] || st&(own.Ended|own.Pending|own.Moved) != 0
				r.put[s] = r.put[s] || st&(own.Given|own.Turned) != 0
			}
			for _, m := range p.Meetings() {
				s := r.site(m.Token)
				do := s.Does(m.Act, m.As).Do
				switch {
				case do == pointsto.Pend && m.Always:
					r.defers[s] = append(r.defers[s], m.Act.Instr)
				case do == pointsto.End:
					r.explicit[s] = true
				}
				switch pos := position(m); {
				case do == pointsto.End, do == pointsto.Pend:
					r.ends[m.Token] = append(r.ends[m.Token], n)
					if was, ok := r.freed[s]; !ok || pos < was {
						r.freed[s] = pos
					}
				case occasion(m) == Read && (r.byRaw[m.Of] || r.rawInside(m.Act)) && !isRaw(s.Value.Type()) && r.onlyRaw(p, m.Token):
					if was, ok := r.raw[s]; !ok || pos < was {
						r.raw[s] = pos
					}
				}
				out = append(out, met{m, n})
			}
		}
	}
	return out
}

func (r *finder) site(t own.Token) *pointsto.Site { return r.g.Sites[t/2] }

// due finds that a site is not freed, on some path or ever.
func (r *finder) due(v *place.Verdict, frees []place.Free) {
	if v.Site.Begun {
		r.begun(v.Site, frees)
		return
	}
	fd := Finding{Kind: table[Dead][own.Owned], On: Dead, State: own.Owned, Site: v.Site, Pos: v.Site.Pos()}
	raw, isRaw := r.raw[v.Site]
	switch {
	case r.ended[v.Site], r.put[v.Site] && slices.ContainsFunc(r.g.Sites, func(s *pointsto.Site) bool {
		return r.ended[s]
	}):
		fd.Kind = Leak
		for _, fr := range frees {
			if slices.Contains(fr.Sites, v.Site) {
				fd.Other = fr.At.Pos()
				break
			}
		}
	case isRaw:
		fd.Kind, fd.Other = KeepAlive, raw
	}
	r.add(fd)
}

// judge finds whether what happens to a token is wrong, as it is on all ways there, or as it comes to once
// the token is gone.
func (r *finder) judge(m met) {
	on, pos, again := occasion(m.Meeting), position(m.Meeting), m.Act.Again
	if on == occasions || !m.Sure || !m.Always || (on == Read || on == Kept) && r.besides(m.Meeting) {
		return
	}
	// Whenever that is called.
	if free, twice := member.FreedIn(r.f.Func, m.Act.Instr, m.Of); on == Kept && free != nil {
		on, pos, again = Freed, free.Pos(), twice
	}
	s, st := r.site(m.Token), m.Status&^own.Absent
	if st&own.Ended != 0 {
		st = st&^own.Ended | own.Freed
	}
	must := st&^(own.Freed|own.Pending) == 0
	if !must && !r.inevitable(m) {
		return
	}
	st &= own.Freed | own.Pending
	viewed := (on == Freed || on == Deferred) && m.As != pointsto.Whole
	if viewed && m.As&pointsto.Dependent != 0 {
		if types.Identical(kindOf(m.Of), kindOf(s.Value)) {
			return // headers of one kind count who shares their memory
		}
		on = Read // it needs what it views to be freed
	}
	kind := table[on][st]
	if kind == None && st&own.Freed != 0 {
		kind = table[on][own.Freed]
	}
	if kind == None || kind == DoubleFree && (again || r.f.Repeatable(s)) || r.f.Shared(s) {
		return
	}
	r.add(Finding{Kind: kind, On: on, State: st, Must: must, Site: s, Pos: pos, Other: r.freed[s],
		View: viewed && on == Freed})
}

// add adds a finding. What the body of a range over a function gives a variable is made at no place of its
// own: nothing is said of it.
func (r *finder) add(fd Finding) {
	if fd.Pos.IsValid() && !slices.ContainsFunc(r.out, func(x Finding) bool {
		return x.Kind == fd.Kind && x.Site == fd.Site && x.Pos == fd.Pos
	}) {
		r.out = append(r.out, fd)
	}
}

// kindOf returns the type that a value is, or leads to.
func kindOf(v ssa.Value) types.Type { return types.Unalias(memory.Pointee(typeOf(v))) }

// inevitable reports whether, wherever the program frees a token, all ways lead to what happens to it there.
func (r *finder) inevitable(m met) bool {
	seen := map[int]bool{m.node: true}
	var open []int
	for _, n := range r.ends[m.Token] {
		if !seen[n] {
			seen[n] = true
			open = append(open, n)
		}
	}
	some := len(open) > 0
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if len(r.f.Graph.Succs[n]) == 0 {
			return false
		}
		for _, to := range r.f.Graph.Succs[n] {
			if to != r.f.Graph.Panic && !seen[to] {
				seen[to] = true
				open = append(open, to)
			}
		}
	}
	return some
}

// occasion returns what happens to a token, and occasions if that is nothing that could be wrong.
func occasion(m own.Meeting) Occasion {
	switch m.Act.Op {
	case pointsto.Free:
		return Freed
	case pointsto.Later:
		return Deferred
	case pointsto.Leave:
		if _, captured := m.Of.(*ssa.FreeVar); !captured { // else it is only left there
			return Returned
		}
	case pointsto.Read, pointsto.Part, pointsto.Count, pointsto.Copy, pointsto.Unwrap, pointsto.Tell:
		if m.As&^(pointsto.Whole|pointsto.View|pointsto.Dependent) == 0 && looks(m) {
			return Read
		}
	case pointsto.Keep:
		if _, call := m.Act.Instr.(*ssa.Call); call {
			return Kept
		}
	}
	return occasions
}

// looks reports whether an act looks at the memory of its operand, or writes there.
func looks(m own.Meeting) bool {
	switch i := m.Act.Instr.(type) {
	case *ssa.Call:
		return m.Act.Reads == effect.Memory
	case *ssa.UnOp:
		return i.Op == token.MUL && m.As == pointsto.View
	case *ssa.Store:
		return i.Addr == m.Of && m.As == pointsto.View
	}
	return false
}

// position returns where an act is in the source.
func position(m own.Meeting) token.Pos {
	if m.Act.Instr == nil {
		return token.NoPos
	}
	return m.Act.Instr.Pos()
}
