package escape

// Sanity: the plan is executed on paper. Bounded paths through the flow form
// are walked with buffers as things that are made, aliased, used and freed one
// by one; planned frees act through the variable that they name. Nothing here
// looks at owners, liveness or states: it is the slow way to the same answer.

import (
	"fmt"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

const (
	maxPaths = 400
	maxSteps = 60000
)

// sanity checks the planned frees of a function.
type sanity struct {
	f       *fn
	p       *pkg
	frees   map[*value][]planned // by gap
	removed map[*value]bool      // calls that the plan removes
	sites   map[*value]bool      // sites whose buffers the plan must free
	paths   int
	steps   int
	fault   string
	faultV  *value
}

// verify walks the function and withdraws all of its plans on a disagreement.
func (d *decider) verify() {
	s := &sanity{f: d.f, p: d.p, frees: map[*value][]planned{}, sites: map[*value]bool{}}
	s.removed = map[*value]bool{}
	any := false
	for _, x := range d.all {
		for _, at := range x.deletes {
			s.removed[at] = true
		}
		for _, p := range x.frees {
			s.frees[p.gap] = append(s.frees[p.gap], p)
			for _, c := range p.copies {
				s.frees[c] = append(s.frees[c], p)
			}
			any = true
		}
		if len(x.frees) > 0 && !x.g.leaves() && !x.frees[0].keep {
			for _, o := range x.sites {
				s.sites[o.def] = true
			}
		}
	}
	if !any {
		return
	}
	for _, ps := range s.frees {
		slices.SortStableFunc(ps, func(a, b planned) int { return -cmpMade(a.obj, b.obj) })
	}
	s.walk(d.f.rpo[0], -1, newWalk())
	if s.fault == "" {
		return
	}
	at := d.f.node.Pos()
	if s.faultV != nil && s.faultV.pos.IsValid() {
		at = s.faultV.pos
	}
	*d.bugs = append(*d.bugs, Bug{Name: d.f.name, Pos: at, Text: s.fault + " (" + d.p.line(at) + ")"})
	for _, x := range d.all {
		if len(x.frees) > 0 {
			x.frees, x.deletes, x.late = nil, nil, nil
			x.why = "its plan failed the sanity check: " + s.fault
		}
	}
}

// leaves reports whether some buffer of the group is handed on somewhere, or perhaps freed by the
// program; its elements or aliases then need not be freed by the plan.
func (g *group) leaves() bool {
	for _, o := range g.objs {
		for _, evs := range o.events {
			for _, e := range evs {
				perhaps := (e.kind == evFree || e.kind == evDefer) && e.m == mMaybe // it, or another
				if perhaps || e.kind == evMove || e.kind == evRetain || e.when.K == Maybe || e.kind == evReturn && e.m != mWhole {
					return true
				}
			}
		}
	}
	return false
}

func (s *sanity) fail(v *value, format string, args ...any) {
	if s.fault == "" {
		s.fault, s.faultV = fmt.Sprintf(format, args...), v
	}
}

// walk executes b, entered on its k-th edge, and what follows.
func (s *sanity) walk(b *block, k int, w *walk) {
	for s.fault == "" {
		if k >= 0 {
			next := map[*value][]int{}
			nk := map[*value]tri{}
			nt := map[*value]tri{}
			for _, v := range b.instrs {
				if v.op != opPhi {
					break
				}
				next[v] = w.vals[v.args[k]]
				nk[v] = s.nonNil(w, v.args[k])
				nt[v] = s.isTrue(w, v.args[k])
			}
			for v, t := range next {
				w.leadsTo(v, t)
				w.know(v, nk[v])
				w.hold(v, nt[v])
			}
		}
		for i, v := range b.instrs {
			s.steps++
			if s.steps > maxSteps || s.paths > maxPaths {
				return
			}
			if x := s.undecided(v, w); x != nil {
				// Once with the condition true, once with it false.
				fork := len(w.log)
				s.learn(w, x, yes)
				s.rest(b, i, w)
				w.back(fork)
				if s.learn(w, x, no); s.fault != "" {
					return
				}
			}
			if v.op == opCall && s.mayFail(v) {
				// Once with the error, once without.
				fork := len(w.log)
				s.call(v, w, yes)
				s.rest(b, i+1, w)
				w.back(fork)
				s.call(v, w, no)
				if s.fault != "" {
					return
				}
				continue
			}
			s.exec(v, w)
			if s.fault != "" {
				return
			}
		}
		if b = s.leave(b, w, &k); b == nil {
			return
		}
	}
}

// rest executes b from instruction i.
func (s *sanity) rest(b *block, i int, w *walk) {
	for ; i < len(b.instrs); i++ {
		v := b.instrs[i]
		s.steps++
		if s.steps > maxSteps || s.paths > maxPaths || s.fault != "" {
			return
		}
		if x := s.undecided(v, w); x != nil {
			fork := len(w.log)
			s.learn(w, x, yes)
			s.rest(b, i, w)
			w.back(fork)
			s.learn(w, x, no)
		}
		if v.op == opCall && s.mayFail(v) {
			fork := len(w.log)
			s.call(v, w, yes)
			s.rest(b, i+1, w)
			w.back(fork)
			s.call(v, w, no)
			continue
		}
		s.exec(v, w)
	}
	k := -1
	if next := s.leave(b, w, &k); next != nil && s.fault == "" {
		s.walk(next, k, w)
	}
}

// leave picks the successor; it walks all but the last itself. nil: the path ends.
func (s *sanity) leave(b *block, w *walk, k *int) *block {
	if len(b.succs) == 0 {
		s.paths++
		if !b.noreturn {
			s.end(b, w)
		}
		return nil
	}
	var ways []int
	switch t := s.branch(b, w); {
	case len(b.succs) == 2 && t == yes:
		ways = []int{0}
	case len(b.succs) == 2 && t == no:
		ways = []int{1}
	default:
		for i := range b.succs {
			ways = append(ways, i)
		}
	}
	var open []int
	for _, i := range ways {
		if w.visited[[2]int{b.id, i}] < 2 {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		s.paths++
		return nil
	}
	for n, i := range open {
		fork := len(w.log)
		if n < len(open)-1 {
			s.steps += len(w.vals) / 8 // the longer a path is, the fewer are walked
		}
		w.visit(b, i)
		if len(b.succs) == 2 && b.cond != nil {
			s.learn(w, b.cond, ofBool(i == 0))
		}
		if n < len(open)-1 {
			s.walk(b.succs[i], predIndex(b, i), w)
			w.back(fork)
			if s.fault != "" {
				return nil
			}
			continue
		}
		*k = predIndex(b, i)
		return b.succs[i]
	}
	return nil
}

func (s *sanity) branch(b *block, w *walk) tri {
	if b.cond == nil || len(b.succs) != 2 {
		return unknown
	}
	return s.isTrue(w, b.cond)
}

func (s *sanity) isTrue(w *walk, v *value) tri {
	if t := w.truth[v]; t != unknown {
		return t
	}
	switch v.op {
	case opConst:
		if b, ok := constBool(s.p, v); ok {
			return ofBool(b)
		}
	case opNil:
		return no
	case opNot:
		return s.isTrue(w, v.args[0]).not()
	case opCopy:
		if !v.opaque() && v.note.Kind != report.CommaOK {
			return s.isTrue(w, v.args[0])
		}
	case opCmp:
		if x, ok := nilTest(v); ok {
			t := s.nonNil(w, x)
			if v.tok.String() == "==" {
				t = t.not()
			}
			return t
		}
	case opResult:
		if x := errorsIs(v); x != nil && s.nonNil(w, x) == no {
			return no
		}
	}
	return unknown
}

func (s *sanity) nonNil(w *walk, v *value) tri {
	v = errRoot(v)
	if t := w.known[v]; t != unknown {
		return t
	}
	if v.op == opNil {
		if boxed(v.typ0()) == generic {
			return unknown
		}
		return no
	}
	if nonNil(v) || len(w.vals[v]) > 0 {
		return yes
	}
	return unknown
}

// learn notes what a branch taken says.
func (s *sanity) learn(w *walk, c *value, t tri) {
	w.hold(c, t)
	switch c.op {
	case opNot:
		s.learn(w, c.args[0], t.not())
	case opCopy:
		if !c.opaque() && c.note.Kind != report.CommaOK {
			s.learn(w, c.args[0], t)
		}
	case opCmp:
		if x, ok := nilTest(c); ok {
			if c.tok.String() == "==" {
				t = t.not()
			}
			w.know(errRoot(x), t)
		}
	}
}

// undecided returns a condition that decides what call v does to an operand, and that
// is not known on this path; nil if there is none.
func (s *sanity) undecided(v *value, w *walk) *value {
	if v.op != opCall || v.call.sum == nil {
		return nil
	}
	for _, a := range v.call.sum.Args {
		for _, when := range []When{a.Freed, a.Escapes} {
			if when.K != IfTrue && when.K != IfFalse {
				continue
			}
			if x := condArg(v, when); x != nil && s.isTrue(w, x) == unknown {
				return x
			}
		}
	}
	return nil
}

// mayFail reports whether call v makes a buffer or fails.
func (s *sanity) mayFail(v *value) bool {
	if r := v.call.okRes; r != nil && len(r.users) > 0 {
		return true
	}
	if v.call.errRes == nil || len(v.call.errRes.users) == 0 {
		return false
	}
	for i := range v.call.results {
		if i < len(v.call.sum.Res) && v.call.sum.Res[i].Owned {
			return true
		}
	}
	for _, a := range v.call.sum.Args {
		if a.Freed.K == OnSuccess || a.Freed.K == OnError || a.Escapes.K == OnSuccess || a.Escapes.K == OnError {
			return true
		}
	}
	return false
}
