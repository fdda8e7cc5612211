package proof

// Marks say who has the resource that a walk follows, and what may run. They have the same numbers in all
// walks over a family.

import "golang.org/x/tools/go/ssa"

// A markKind says what a mark is about.
type markKind uint8

const (
	inReg     markKind = iota // a register holds it
	inElem                    // an element holds it
	left                      // it was handed to somebody who may keep it, at an instruction
	offered                   // a select may have sent it: which case ran says so
	deferring                 // a deferred call is registered
	deferred                  // a deferred call has it as an operand
	earlier                   // another deferred call may have had it when it was registered
	running                   // a goroutine may run
	held                      // a goroutine has it
	lost                      // nobody can join the goroutine any more
	twice                     // it may be in a container twice
	keyed                     // a map may have it as a key, or a table something at its number
	called                    // the literal runs, called at this point; -1: anywhere
	thisRun                   // a register leads to what was made with it
	anyRun                    // any register may, that leads to what such a call makes
)

type markKey struct {
	kind markKind
	k    key
	n    int
	at   ssa.Instruction
}

// marks numbers them.
type marks struct {
	regs    map[ssa.Value]int // inReg of what is no tuple
	ids     map[markKey]int   // others
	list    []markKey
	holders set // of those who have the resource, or what was made with it

	reached [2]map[ssa.Value]set // inElem of the elements that a register leads to; [1]: through no resource
	elems   int                  // there were when these were found
}

func newMarks() *marks {
	return &marks{regs: map[ssa.Value]int{}, ids: map[markKey]int{},
		reached: [2]map[ssa.Value]set{{}, {}}}
}

// inReach returns the marks that say of an element which v leads to that it holds the resource; bare: through
// no resource.
func (g *graph) inReach(v ssa.Value, bare bool) set {
	ms, f, n := g.marks, g.f, 0
	if ms.elems != len(f.elems) {
		clear(ms.reached[0])
		clear(ms.reached[1])
		ms.elems = len(f.elems)
	}
	if bare {
		n = 1
	}
	r, ok := ms.reached[n][v]
	if !ok {
		open := func(o *object) bool { return !bare || o.kind != siteObj }
		for id := range f.closure(f.of(v), open).all() {
			r.add(2 * id)
		}
		ms.reached[n][v] = r
	}
	return r
}

// find returns the number of a mark if it has one. That an element holds the resource has an even number,
// twice its own; the others are odd.
func (ms *marks) find(m markKey) (id int, ok bool) {
	switch {
	case m.kind == inElem:
		return 2 * m.n, true
	case m.kind == inReg && m.k.i == 0:
		id, ok = ms.regs[m.k.v]
	default:
		id, ok = ms.ids[m]
	}
	return id, ok
}

// id returns the number of a mark.
func (ms *marks) id(m markKey) int {
	id, ok := ms.find(m)
	if !ok {
		id = 2*len(ms.list) + 1
		ms.list = append(ms.list, m)
		if m.kind == inReg && m.k.i == 0 {
			ms.regs[m.k.v] = id
		} else {
			ms.ids[m] = id
		}
	}
	switch m.kind {
	case inReg, inElem, deferred, held, thisRun, anyRun:
		ms.holders.add(id)
	}
	return id
}

func (ms *marks) has(s *set, m markKey) bool {
	id, ok := ms.find(m)
	return ok && s.has(id)
}

func (ms *marks) remove(s *set, m markKey) {
	if id, ok := ms.find(m); ok {
		s.remove(id)
	}
}

// mark returns what mark a number stands for.
func (w *walker) mark(id int) markKey {
	if id&1 == 0 {
		return markKey{kind: inElem, n: id / 2}
	}
	return w.g.marks.list[id/2]
}

func (w *walker) id(m markKey) int             { return w.g.marks.id(m) }
func (w *walker) regID(v ssa.Value, i int) int { return w.id(markKey{kind: inReg, k: key{v, i}}) }
func (w *walker) elemMark(id int) int          { return w.id(markKey{kind: inElem, n: id}) }
