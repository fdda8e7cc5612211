package place

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// A Late is what the program frees, but long after it is needed, and how it would be freed in time.
type Late struct {
	Site  *pointsto.Site
	Cause Cause
	At    token.Pos        // of what comes between
	Call  *ssa.CallCommon  // that; nil if it is no call
	Sites []*pointsto.Site // of the group
	Frees []Free           // in place of those that are planned without; none if there is no fix
	Gone  []*ssa.Call      // frees of the program that they stand for
	No    Unmoved          // why there is no fix
	Room  bool             // it is late only where its statement gets room
}

// An Unmoved is a reason for which a late free stays where it is.
type Unmoved uint8

const (
	Moves     Unmoved = iota // it does not
	Once                     // it stays as it is deferred, and freeing again is an error
	InLiteral                // a literal frees it, and would read its name then
)

// Rooms tell, once the frees that are planned are written, behind which part of its statement there is room
// for what is due since an instruction there and goes by a name; nil if there is none.
type Rooms func(since ssa.Instruction, n Name) ast.Expr

// Lates lists what a function frees late, of which the frees are planned.
func Lates(p *ir.Package, f *own.Func, text Text, frees []Free, rooms Rooms) []*Late {
	var ends []*ending
	var all []*ssa.Call
	for _, g := range f.Groups {
		if g.Why() != "" || slices.ContainsFunc(g.Sites, func(s *pointsto.Site) bool { return s.Parts }) {
			continue // or somebody who has a part of it may use that still
		}
		e := &ending{pl: newPlanner(p, f, g, text), frees: frees, rooms: rooms, at: map[own.Token]map[[2]int]bool{},
			defers: map[*pointsto.Site][]ssa.Instruction{}, reach: map[own.Token]map[int]bool{}}
		if e.look() {
			ends = append(ends, e)
			if e.moves() {
				all = append(all, e.calls...)
			}
		}
	}
	if len(ends) == 0 {
		return nil
	}
	goes := text.Goes(all)
	var out []*Late
	for _, e := range ends {
		if l := e.advance(goes); l != nil {
			out = append(out, l)
		}
	}
	return out
}

// advance looks whether what the program frees in a group is freed late. What is planned then is what would
// be planned if the program freed nothing. Frees that are deferred stay, and those are added that help.
func (e *ending) advance(goes func(token.Pos) bool) *Late {
	if e.deferred() && len(e.calls) > 0 {
		return nil // it is freed early already, where somebody thought of that
	}
	pl := e.pl
	early := newPlanner(pl.ir, pl.f, pl.g.Early(e.gone(goes), false), pl.text)
	spots, verdicts := early.plan()
	for _, v := range verdicts {
		if v.Missed > 0 || v.Held {
			return nil
		}
	}
	var l *Late
	room := true
	for t := range own.Token(pl.g.Tokens()) {
		var helps []*spot
		stays := len(e.defers[pl.g.Sites[t/2]]) > 0
		for _, s := range spots[t] {
			if stays && s.at.Deferred { // it would run no earlier
				continue
			}
			found := e.between(early, s, t)
			room = room && (found == nil || found.Room)
			if found != nil && (l == nil || found.At < l.At) {
				l = found
			}
			if found != nil || !stays || e.planned(s.at, t) {
				helps = append(helps, s)
			}
		}
		spots[t] = helps
	}
	if l == nil {
		return nil
	}
	l.Sites, l.Room = pl.g.Sites, room
	switch {
	case e.literal:
		l.No = InLiteral
	case e.deferred() && !e.again:
		l.No = Once
	default:
		if e.moves() {
			l.Gone = e.late(spots)
		}
		l.Frees = early.statements(spots)
	}
	return l
}

// late lists the calls that come late. Of the spots, those go at which another one frees the same already.
func (e *ending) late(spots map[own.Token][]*spot) (out []*ssa.Call) {
	for _, c := range e.calls {
		node, at, _ := e.pl.f.Graph.Where(c)
		there := func(s *spot) bool { return e.rightBefore(s, node, at) }
		here := [2]int{node, at}
		inTime := true
		for t, calls := range e.at {
			inTime = inTime && (!calls[here] || slices.ContainsFunc(spots[t], there))
		}
		if !inTime {
			out = append(out, c)
			continue
		}
		for t, calls := range e.at {
			if calls[here] {
				spots[t] = slices.DeleteFunc(spots[t], there)
			}
		}
	}
	return out
}

// room returns the part of its statement behind which a spot has room; nil if it stands where it is.
func (e *ending) room(s *spot) ast.Expr {
	if s.since == nil {
		return nil
	}
	return e.rooms(s.since.after, s.name)
}

// rightBefore reports whether nothing happens between a spot and an instruction, but that operands are read.
func (e *ending) rightBefore(s *spot, node, at int) bool {
	if s.at.Place == nil || s.node != node || e.room(s) != nil {
		return false
	}
	_, from, _ := e.pl.f.Graph.Where(s.at.Place.At)
	return from < at && !slices.ContainsFunc(e.pl.f.Graph.Nodes[node].Instrs[from+1:at], func(i ssa.Instruction) bool {
		switch i := i.(type) {
		case *ssa.FieldAddr, *ssa.Field:
			return false
		case *ssa.UnOp:
			return i.Op != token.MUL
		}
		return !e.pl.ir.Marks(i)
	})
}

// An ending is how the program frees what the sites of a group make.
type ending struct {
	pl      *planner
	calls   []*ssa.Call                          // that free it now
	defers  map[*pointsto.Site][]ssa.Instruction // that free it when the function ends
	frees   []Free                               // that are planned beside these
	rooms   Rooms
	literal bool                          // a literal does
	again   bool                          // all of them may be repeated
	at      map[own.Token]map[[2]int]bool // by node and index: where it is freed now
	reach   map[own.Token]map[int]bool    // the nodes behind whose entry it is
}

// gone tells of an act whether it would not be if the program freed nothing: neither the frees, nor tests of
// which they would leave nothing if they went.
func (e *ending) gone(goes func(token.Pos) bool) func(a pointsto.Act) bool {
	if !e.moves() {
		goes = func(token.Pos) bool { return false }
	}
	return func(a pointsto.Act) bool {
		switch {
		case a.Op == pointsto.Free || a.Op == pointsto.Later:
			return true
		case a.Instr == nil:
			return false
		}
		if at := e.pl.ir.ReadAt(a.Instr); at != nil {
			return goes(at.Pos)
		}
		return goes(a.Instr.Pos())
	}
}

func (e *ending) deferred() bool { return len(e.defers) > 0 }

// planned reports whether what is planned already frees t at a place.
func (e *ending) planned(at Where, t own.Token) bool {
	return slices.ContainsFunc(e.frees, func(f Free) bool {
		return f.At == at && slices.Contains(f.Sites, e.pl.g.Sites[t/2])
	})
}

// moves reports whether all frees of the program could be moved.
func (e *ending) moves() bool { return !e.deferred() && !e.literal }

// look fills in what the program does. It is false if it does anything else with what is made than to use it
// and to free it as a whole, for sure, by what frees its type, or if something else may have a reference.
func (e *ending) look() bool {
	g, f := e.pl.g, e.pl.f
	e.again = true
	for _, s := range g.Sites {
		if _, put := s.Value.(*memory.Assigned); put || s.Param >= 0 || s.Joint() || f.Shared(s) {
			return false
		}
		e.again = e.again && f.Repeatable(s)
	}
	for _, n := range g.Nodes() {
		for _, p := range e.pl.moves[n] {
			for _, m := range p.Meetings() {
				switch g.Sites[m.Token/2].Does(m.Act, m.As).Do {
				case pointsto.Use, pointsto.Derive:
				case pointsto.End, pointsto.Pend:
					if !e.note(m, n, p.At-1) {
						return false
					}
				default:
					return false
				}
			}
		}
	}
	return e.deferred() || len(e.calls) > 0
}

// held returns the type of what a value is, or of what a variable in memory holds.
func held(v ssa.Value) types.Type {
	switch p := v.(type) {
	case *memory.Field:
		return p.Of()
	default:
		if memory.InMemory(v) {
			return memory.Pointee(v.Type())
		}
		return p.Type()
	}
}

// note notes a free of the program. It is false if it is none of those that are understood.
func (e *ending) note(m own.Meeting, node, at int) bool {
	if m.Act.Call == nil || !m.Always || m.As != pointsto.Whole || m.Status&(own.Freed|own.Pending|own.Unsure) != 0 && !e.again {
		return false
	}
	if calls.Literal(m.Act.Call) != nil {
		e.literal = true
	} else {
		free := e.pl.f.In.Frees.Of(held(m.Of))
		if fn := calls.Called(m.Act.Call); free == nil || free.Func == nil || fn == nil || fn.Origin() != free.Func.Origin() {
			return false
		}
	}
	s := e.pl.g.Sites[m.Token/2]
	if m.Act.Op == pointsto.Later {
		if !slices.Contains(e.defers[s], m.Act.Instr) {
			e.defers[s] = append(e.defers[s], m.Act.Instr)
		}
		return true
	}
	c, ok := m.Act.Instr.(*ssa.Call)
	if !ok {
		return false
	}
	if !slices.Contains(e.calls, c) {
		e.calls = append(e.calls, c)
	}
	if e.at[m.Token] == nil {
		e.at[m.Token] = map[[2]int]bool{}
	}
	e.at[m.Token][[2]int{node, at}] = true
	return true
}
