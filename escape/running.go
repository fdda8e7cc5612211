package escape

// Goroutines that are still running when something panics: deferred code that runs then must
// not free what they use, although they are joined on all paths that nothing panics on.

import (
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// runningAt returns a function that reports whether a goroutine may be running at an
// instruction that uses one of the objects.
func (d *decider) runningAt(objs []*object) func(at *value) bool {
	waits := waitedFor(objs)
	if len(waits) == 0 {
		return func(*value) bool { return false }
	}
	var starts, joins []*block
	for _, w := range waits {
		starts = append(starts, d.f.started[w])
		joins = append(joins, w.blk.preds...)
	}
	started := spread(ahead, nil, starts...) // one of them was started before
	awaited := spread(back, nil, joins...)   // one of them is joined behind
	return func(at *value) bool {
		return started[at.blk] && (awaited[at.blk] || slices.ContainsFunc(waits, func(w *value) bool { return at.blk == w.blk && at.at < w.at }))
	}
}

// endangers reports whether a call deferred at gap gp, that frees the objects, could run
// because of a panic while a goroutine uses them. Where it is deferred right before the call
// that reads them, all that may panic behind is known.
func (d *decider) endangers(gp *value, right bool, objs []*object) bool {
	if len(waitedFor(objs)) == 0 {
		return false
	}
	running := d.runningAt(objs)
	after := spread(ahead, nil, gp.blk.succs...)
	found := false
	for _, o := range objs {
		o.eachEvent(func(e event) {
			behind := after[e.at.blk] || e.at.blk == gp.blk && e.at.at > gp.at
			switch {
			case !behind || found:
			case e.holds():
				found = running(e.at) && !beforeWait(e.at)
			case e.at.op == opUse && e.at.note.Kind == report.Joined:
				found = !right
			}
		})
	}
	return found
}

// waitedFor lists where goroutines that use one of the objects are joined.
func waitedFor(objs []*object) []*value {
	var out []*value
	for _, o := range objs {
		o.eachEvent(func(e event) {
			if e.at.op == opUse && e.at.note.Kind == report.Joined {
				out = append(out, e.at)
			}
		})
	}
	return out
}

// beforeWait reports whether what may panic at hold v is no more than waiting.
func beforeWait(v *value) bool {
	for _, x := range v.blk.instrs[v.at+1:] {
		if x.op == opCall {
			return x.fn != nil && (x.fn.FullName() == "(*sync.WaitGroup).Wait" || x.fn.FullName() == "(*golang.org/x/sync/errgroup.Group).Wait")
		}
	}
	return false
}
