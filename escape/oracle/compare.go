package main

import (
	"fmt"
	"slices"

	"github.com/lastuse/lastuse/escape/oracle/gen"
)

// Kind is what is wrong with a rewritten program.
type Kind string

const (
	Model    Kind = "model"    // the original does not do what was predicted: the oracle is wrong
	NoType   Kind = "no type"  // the rewritten program does not compile
	Changed  Kind = "changed"  // it shows something else, or panics
	UseAfter Kind = "uaf"      // it uses a freed buffer
	Twice    Kind = "twice"    // it frees twice what must not be, or two frees were inserted on a path
	Early    Kind = "early"    // a buffer is gone while a use of it can be reached
	Extended Kind = "extended" // a buffer lives longer than in the original
	// an inserted free stands before a read of the buffer's name, even an idle one
	Unread   Kind = "unread"
	Unstable Kind = "unstable"  // a second rewrite changes the source again
	Crash    Kind = "tool"      // the rewriter failed
	Missed   Kind = "missed"    // a buffer that never escapes is not freed
	Inexact  Kind = "inexact"   // … is freed, but later than at its last use
	LeftLate Kind = "left late" // … by the program's own free, which stayed where it was
)

// Wrong reports whether k makes an edit wrong, rather than a chance missed.
func (k Kind) Wrong() bool {
	return k != Missed && k != Inexact && k != LeftLate
}

// A Failure is one thing wrong with one program.
type Failure struct {
	Kind  Kind
	ID    int
	Site  int // -1: none
	Run   int
	Fault gen.Fault
	Text  string
}

func (f Failure) String() string {
	s := fmt.Sprintf("%s: program %d", f.Kind, f.ID)
	if f.Site >= 0 {
		s += fmt.Sprintf(", buffer of %d elements", f.Site+gen.FirstSite)
	}
	s += fmt.Sprintf(", run %d", f.Run)
	if f.Fault.Op >= 0 {
		how := "error"
		if f.Fault.Panic {
			how = "panic"
		}
		s += fmt.Sprintf(" with %s at operation %d", how, f.Fault.Op)
	}
	return s + ": " + f.Text
}

// siteState sums up what all runs of a program say of one site.
type siteState struct {
	seen   bool // made in some run
	leaked bool // live at the exit of a run without panics
	late   bool // live at some probe after its last use
	left   bool // late, and each time the original was as late through its own free
}

// A Judge compares the runs of one program.
type Judge struct {
	p *gen.Program
	a *gen.Analysis
	// Of the rewritten program, where it is known as a tree; nil if it is not.
	edited *gen.Analysis
	flows  gen.Flows
	sites  []siteState
	sizes  []int64 // bytes the pool counts for a buffer of so many elements; nil: it names them
	orig   *Record
	fails  map[string]Failure // one for each kind and site
}

// NewJudge returns a judge of p.
func NewJudge(p *gen.Program) *Judge {
	j := &Judge{p: p, a: gen.NewAnalysis(p), flows: gen.NewFlows(p), fails: map[string]Failure{}}
	j.sites = make([]siteState, len(p.Sites))
	for i := range j.sites {
		j.sites[i].left = true
	}
	return j
}

func (j *Judge) fail(k Kind, r *Record, site int, format string, args ...any) {
	key := fmt.Sprint(k, site)
	if _, ok := j.fails[key]; !ok {
		j.fails[key] = Failure{k, j.p.ID, site, r.Run, r.Fault, fmt.Sprintf(format, args...)}
	}
}

// Foretell lets j demand of the rewritten program, too, what the interpreter predicts of q, which
// is that program.
func (j *Judge) Foretell(q *gen.Program) { j.edited = gen.NewAnalysis(q) }

// Add takes the next record: the original's, then the rewritten program's of
// the same run.
func (j *Judge) Add(r *Record) {
	if !r.Fixed {
		j.orig = r
		return
	}
	o := j.orig
	tr, err := j.a.Run(r.Run, r.Fault)
	if err != nil {
		j.fail(Model, r, -1, "%v", err)
		return
	}
	if !j.predicted("the original", o, tr) {
		return
	}
	if j.edited != nil {
		if tr, err := j.edited.Run(r.Run, r.Fault); err == nil && !j.predicted("what it became", r, tr) {
			return
		}
	}
	if !j.same(o, r) {
		return
	}
	for _, u := range r.UAF {
		j.fail(UseAfter, r, -1, "%s on a freed buffer", u)
	}
	if r.Twice > 0 {
		j.fail(Twice, r, -1, "%d double frees", r.Twice)
	}
	for i := range j.sites {
		if tr.Made[i] > 0 {
			j.sites[i].seen = true
		}
		if r.Frees[i] > o.Frees[i]+tr.Made[i] || o.Frees[i] == 0 && r.Most[i] > 1 {
			j.fail(Twice, r, i, "%d frees of %d buffers, %d in the original", r.Frees[i], tr.Made[i], o.Frees[i])
		}
	}
	for i, e := range tr.Events {
		if e.Kind != gen.EOut {
			j.probe(r, e, o.Events[i], r.Events[i], tr.Broken)
		}
	}
}

// predicted checks the original, or another program of which there is a model, against that:
// without it, nothing else means anything.
func (j *Judge) predicted(who string, o *Record, tr gen.Trace) bool {
	switch {
	case o.Crash != "":
		j.fail(Model, o, -1, "%s crashed: %s", who, o.Crash)
	case len(o.UAF) > 0 || o.Twice > 0:
		j.fail(Model, o, -1, "%s uses a freed buffer: %v", who, o.UAF)
	case o.Ops != tr.Ops || o.Panicked != tr.Panics || len(o.Events) != len(tr.Events):
		j.fail(Model, o, -1, "%s made %d operations and %d events, panicked %v; predicted %d, %d, %v",
			who, o.Ops, len(o.Events), o.Panicked, tr.Ops, len(tr.Events), tr.Panics)
	default:
		for i, e := range tr.Events {
			if x := o.Events[i]; x.Kind != e.Kind || x.Value != e.Value {
				j.fail(Model, o, -1, "event %d of %s is %d/%d, predicted %d/%d", i, who, x.Kind, x.Value, e.Kind, e.Value)
				return false
			}
		}
		if j.sizes == nil && !slices.Equal(o.Frees, tr.Frees) {
			j.fail(Model, o, -1, "%s frees %v, predicted %v", who, o.Frees, tr.Frees)
			return false
		}
		return true
	}
	return false
}

// same checks that the rewritten program shows what the original shows.
func (j *Judge) same(o, r *Record) bool {
	switch {
	case r.Crash != "":
		j.fail(Changed, r, -1, "crashed: %s", r.Crash)
	case r.Ops != o.Ops || r.Panicked != o.Panicked || len(r.Events) != len(o.Events):
		j.fail(Changed, r, -1, "%d operations and %d events, panicked %v; the original %d, %d, %v",
			r.Ops, len(r.Events), r.Panicked, o.Ops, len(o.Events), o.Panicked)
	default:
		for i, e := range o.Events {
			if x := r.Events[i]; x.Kind != e.Kind || x.Value != e.Value {
				j.fail(Changed, r, -1, "event %d is %d/%d, in the original %d/%d", i, x.Kind, x.Value, e.Kind, e.Value)
				return false
			}
		}
		return true
	}
	for _, u := range r.UAF {
		j.fail(UseAfter, r, -1, "%s on a freed buffer", u)
	}
	return false
}

func (j *Judge) probe(r *Record, want gen.Event, o, got Seen, broken bool) {
	where := fmt.Sprintf("at probe %d", want.Value)
	if want.Kind == gen.EExit {
		where = "at the exit"
	}
	if j.sizes != nil {
		j.bytes(r, want, o, got, where)
	}
	for i := range j.sites {
		if j.sizes != nil && j.p.Sites[i].Res == gen.RBuffer {
			continue
		}
		s := &j.sites[i]
		least, n, was := want.Least[i], got.Live[i], o.Live[i]
		if n < want.Sure[i] && n < was {
			j.fail(Early, r, i, "%s: %d live, %d still to be used", where, n, want.Sure[i])
		}
		if n > was {
			j.fail(Extended, r, i, "%s: %d live, %d in the original", where, n, was)
		}
		if n > least+want.Slack[i] {
			if want.Kind == gen.EExit && !broken {
				s.leaked = true
			}
			s.late = true
			s.left = s.left && n == was && j.flows.UserFreed[i]
			if !j.flows.Escapes[i] {
				j.fail(Inexact, r, i, "%s: %d live, %d needed", where, n, least)
			}
		}
	}
}

// bytes judges the live bytes of a pool that does not name its buffers. Which
// buffer is late is then not known, so lateness is left to the ledger.
func (j *Judge) bytes(r *Record, want gen.Event, o, got Seen, where string) {
	var least int64
	for i, s := range j.p.Sites {
		if s.Res == gen.RBuffer {
			n := j.sizes[s.N]
			if s.Adopted {
				n = int64(s.N) * 8
			}
			least += int64(want.Sure[i]) * n
		}
	}
	if got.Bytes < least && got.Bytes < o.Bytes {
		j.fail(Early, r, -1, "%s: %d bytes live, %d still to be used", where, got.Bytes, least)
	}
	if got.Bytes > o.Bytes {
		j.fail(Extended, r, -1, "%s: %d bytes live, %d in the original", where, got.Bytes, o.Bytes)
	}
}

// A Verdict is what became of one site over all runs.
type Verdict struct {
	Site    int
	Escapes bool
	Seen    bool
	Freed   bool
	Exact   bool
	Left    bool // not exact, through the program's own free alone
}

// Verdicts returns what became of each site, and what failed.
func (j *Judge) Verdicts() ([]Verdict, []Failure) {
	var res []Verdict
	for i, s := range j.sites {
		if j.sizes != nil && j.p.Sites[i].Res == gen.RBuffer {
			s.seen = false
		}
		v := Verdict{Site: i, Escapes: j.flows.Escapes[i], Seen: s.seen, Freed: !s.leaked, Exact: !s.late}
		v.Left = s.late && s.left && !s.leaked
		res = append(res, v)
	}
	var fails []Failure
	for _, f := range j.fails {
		if f.Kind == Inexact {
			switch v := res[f.Site]; {
			case !v.Freed:
				f.Kind = Missed
			case v.Left:
				f.Kind = LeftLate
			}
		}
		fails = append(fails, f)
	}
	slices.SortFunc(fails, func(a, b Failure) int {
		if a.Kind != b.Kind {
			return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind)
		}
		return a.Site - b.Site
	})
	return res, fails
}

// kinds in the order of their weight.
var kinds = []Kind{Model, Crash, NoType, UseAfter, Twice, Changed, Early, Extended, Unread, Unstable, Missed, Inexact, LeftLate}
