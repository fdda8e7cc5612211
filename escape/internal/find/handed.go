package find

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// A Taker is somebody who is sure to use or free what is handed to him.
type Taker uint8

const (
	Nobody    Taker = iota // it is still the function's
	Receiver               // of the channel on which it is sent
	Goroutine              // that nobody waits for
	Pool                   // a sync.Pool
	Viewer                 // what frees a view of it
	Raw                    // a deferred call that frees it as a raw pointer, as C's memory often goes back
	takers    = iota
)

// handed has the kind of finding that it is, on an occasion, that a token is somebody else's.
var handed = [takers]map[Occasion]Kind{
	Receiver:  {Freed: DoubleFree},
	Goroutine: {Freed: UseAfterFree},
	Pool:      {Freed: UseAfterFree, Read: UseAfterFree},
	Viewer:    {Freed: DoubleFree, Read: UseAfterFree},
	Raw:       {Freed: DoubleFree},
}

// taker returns to whom an act hands what a site makes. What a line of a spec says is a view of it, and is
// freed as it is, is its memory.
func (r *finder) taker(s *pointsto.Site, a pointsto.Act) Taker {
	if c, ok := a.Of.(*ssa.Call); ok && a.Op == pointsto.Free {
		if r.f.Summary(&c.Call).Decided && r.f.MadeOf(c) == s.Value && types.Identical(c.Type(), s.Value.Type()) {
			return Viewer
		}
		return Nobody
	}
	if raw, ok := a.Of.(*ssa.Convert); ok && a.Op == pointsto.Later && raw.X == s.Value && a.When.Cond == effect.Always && !a.Again {
		return Raw
	}
	switch i := a.Instr.(type) {
	case *ssa.Send:
		return Receiver
	case *ssa.Go:
		return Goroutine
	case *ssa.Call:
		if f := calls.Called(&i.Call); f != nil && f.FullName() == "(*sync.Pool).Put" {
			return Pool
		}
	}
	return Nobody
}

// given finds whether something happens to a token that is handed on, on all ways there, whatever its
// operand, which must be what the site made last.
func (r *finder) given(m own.Meeting) {
	s := r.site(m.Token)
	if m.Status&^own.Absent != own.Moved || m.Of != s.Value || m.Token%2 == 1 || !m.Always || len(s.Moves) == 0 {
		return
	}
	to := r.taker(s, s.Moves[0])
	for _, a := range s.Moves {
		if r.taker(s, a) != to {
			return
		}
	}
	on := occasion(m)
	kind := handed[to][on]
	if kind == None || to == Viewer && kind == DoubleFree && m.Act.Again {
		return
	}
	fd := Finding{Kind: kind, On: on, State: own.Moved, Site: s, Pos: position(m), To: to}
	switch by := s.Moves[0].Instr.Pos(); to {
	case Goroutine: // it is said where that is started
		fd.Pos, fd.Other = by, fd.Pos
	case Raw:
		fd.State, fd.Must, fd.To, fd.Other = own.Pending, true, Nobody, by
	}
	r.add(fd)
}
