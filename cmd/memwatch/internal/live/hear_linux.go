//go:build linux && (amd64 || arm64)

package live

import (
	"context"
	"slices"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
)

// The kernel tells who maps code, so that a library is probed as soon as a process has it. It does not tell
// of tables, which are no code, nor of what a child has from its parent: a program that begins is looked at
// a few times more, and all processes in turn, if less often than where nobody tells anything.

// news is what the kernel has told: who has mapped a library, and who has become another program.
type news struct {
	mapped, begun []int
	lost          bool // there was more
}

// How long after a program begins it is looked at for its table.
var ages = [...]time.Duration{20 * time.Millisecond, 200 * time.Millisecond, time.Second}

// maxDue bounds the looks at programs that have just begun, of which a build starts hundreds a second.
const maxDue = 192

// A due is a look at a process.
type due struct {
	pid int
	at  time.Time
}

// listenInTurn hands on what the kernel tells until ctx is done, and then closes news.
func (w *Watcher) listenInTurn(ctx context.Context) {
	defer close(w.news)
	if w.listener == nil {
		return
	}
	defer context.AfterFunc(ctx, w.listener.Interrupt)()
	for {
		events, lost, err := w.listener.Next()
		if err != nil {
			return
		}
		n := news{lost: lost}
		for _, e := range events {
			switch {
			case e.Exec:
				n.begun = append(n.begun, e.PID)
			case probes.LibraryOf(e.Name) != nil:
				n.mapped = append(n.mapped, e.PID)
			}
		}
		if len(n.mapped)+len(n.begun) == 0 && !lost {
			continue
		}
		select {
		case w.news <- n:
		case <-ctx.Done():
			return
		}
	}
}

// pace returns how long after a look at all processes, which took that long, the next one begins: with
// thousands of them it takes half a percent of a processor where the kernel tells what is urgent.
func (w *Watcher) pace(took time.Duration) time.Duration {
	const part, longest = 200, 10 * time.Second
	if w.hearing == nil {
		return w.opts.Scan
	}
	return max(w.opts.Scan, min(part*took, longest))
}

// await looks at the processes that the kernel tells of until it is time to look at all, or somebody asks
// for it, who then waits on looked. It is not ok when ctx is done.
func (w *Watcher) await(ctx context.Context, every time.Duration, tell func(sight)) (looked chan struct{}, ok bool) {
	again := time.After(every)
	for {
		var next <-chan time.Time
		if len(w.due) > 0 {
			next = time.After(time.Until(w.due[0].at))
		}
		select {
		case looked = <-w.looks:
			return looked, true
		case <-again:
			return nil, true
		case <-ctx.Done():
			return nil, false
		case <-next:
			pid := w.due[0].pid
			w.due = w.due[1:]
			w.look(pid, tell)
		case n, open := <-w.hearing:
			if !open {
				w.hearing = nil
				return nil, true
			}
			if n.lost || w.heard(n, tell) {
				return nil, true
			}
		}
	}
}

// heard looks at the processes that have mapped a library, and notes those that begin. It reports whether all
// should be looked at: another file was probed, which others may have as well.
func (w *Watcher) heard(n news, tell func(sight)) (all bool) {
	was := w.attached.Load()
	for _, pid := range n.mapped {
		if w.asked(pid) {
			w.look(pid, tell)
		}
	}
	for _, age := range ages {
		for _, pid := range n.begun {
			if w.asked(pid) && len(w.due) < maxDue {
				w.remind(due{pid, time.Now().Add(age)})
			}
		}
	}
	return w.attached.Load() != was
}

// remind puts a look among those that are due.
func (w *Watcher) remind(d due) {
	i := len(w.due)
	for i > 0 && w.due[i-1].at.After(d.at) {
		i--
	}
	w.due = slices.Insert(w.due, i, d)
}

// asked reports whether a process is among those asked for.
func (w *Watcher) asked(pid int) bool {
	return len(w.opts.PIDs) == 0 || slices.Contains(w.opts.PIDs, pid)
}
