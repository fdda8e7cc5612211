package gen

// What is true of a program whose frees somebody changed: the interpreter runs both, on
// many decisions and with faults, and compares.

import (
	"errors"
	"fmt"
)

// What a free of a trial may do that is wrong even where the program does not notice.
var (
	errKept = errors.New("frees what somebody keeps")
	errLent = errors.New("frees what the caller has")
	errNil  = errors.New("frees nothing, which it must not")
	errRuns = errors.New("frees what a goroutine reads")
	errLoud = errors.New("does once more what can be done once")
)

// release frees o, which p led to; mine says that a trial put the free in.
func (m *machine) release(o *object, p Path, mine bool) {
	switch {
	case o == nil:
		if p.V.Res == RMat && p.V.Kind != KAny && (!p.closes() || m.p.Insist) {
			panic(errNil)
		}
	case mine && o.kept:
		panic(errKept)
	case mine && o.lent > 0:
		panic(errLent)
	}
	m.free(o)
}

// closes reports whether p is freed by a method of its struct, which looks for nil.
func (p Path) closes() bool {
	switch p.V.Kind {
	case KPair, KPairPtr:
		return p.Field < 0
	case KStack, KBox, KLoud:
		return true
	}
	return false
}

// lend counts the calls that borrow what their arguments hold.
func (m *machine) lend(fn int, args []*value, by int) {
	for i, p := range m.p.Funcs[fn].Params {
		if p.Owned {
			continue
		}
		args[i].lend(by)
	}
}

func (v *value) lend(by int) {
	for _, o := range v.bufs {
		if o != nil {
			o.lent += by
		}
	}
}

// A Reference is a program with traces of its runs.
type Reference struct {
	prog   *Program
	runs   []int
	faults []Fault
	traces []Trace
}

// NewReference runs p as often as said, the first faulted of these with a fault at each
// operation as well.
func NewReference(p *Program, runs, faulted int) (*Reference, error) {
	r := &Reference{prog: p}
	a := NewAnalysis(p)
	add := func(run int, f Fault) (Trace, error) {
		tr, err := a.Run(run, f)
		r.runs, r.faults, r.traces = append(r.runs, run), append(r.faults, f), append(r.traces, tr)
		return tr, err
	}
	for run := range runs {
		tr, err := add(run, NoFault)
		if err != nil {
			return nil, err
		}
		if run >= faulted {
			continue
		}
		for op := range min(tr.Ops, MaxFaults) {
			for _, pan := range []bool{false, true} {
				if _, err := add(run, Fault{op, pan}); err != nil {
					return nil, err
				}
			}
		}
	}
	return r, nil
}

// Differs says what q, which is the program with other frees, does wrong in one of the
// runs; nothing if none shows that.
func (r *Reference) Differs(q *Program) string {
	a := NewAnalysis(q)
	for i, want := range r.traces {
		got, err := a.Run(r.runs[i], r.faults[i])
		if err == nil {
			err = compare(want, got)
		}
		if err != nil {
			return fmt.Sprintf("run %d, fault %v: %v", r.runs[i], r.faults[i], err)
		}
	}
	return ""
}

func compare(want, got Trace) error {
	if want.Ops != got.Ops || want.Panics != got.Panics || len(want.Events) != len(got.Events) {
		return fmt.Errorf("%d operations, %d events, panics %v, not %d, %d, %v",
			got.Ops, len(got.Events), got.Panics, want.Ops, len(want.Events), want.Panics)
	}
	for i, w := range want.Events {
		g := got.Events[i]
		if w.Kind != g.Kind || w.Value != g.Value {
			return fmt.Errorf("event %d is %d, not %d", i, g.Value, w.Value)
		}
		for s := range w.Live {
			switch {
			case g.Live[s] > w.Live[s]:
				return fmt.Errorf("buffer %d lives longer", s)
			case g.Live[s] < w.Sure[s]:
				return fmt.Errorf("buffer %d is gone before a use that can be reached", s)
			}
		}
	}
	return nil
}
