//go:build linux && (amd64 || arm64)

package live

import (
	"context"
	"slices"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
)

// The kernel tells who maps code, so that a library is probed as soon as a process has it. It does not tell
// of tables, which are no code, nor of what a child has from its parent: all processes are looked at in turn,
// and if that is seldom, those that have begun since are looked at in between.

// news is what the kernel has told: who has mapped a library, and who has become another program.
type news struct {
	mapped, begun []int
	lost          bool // there was more
}

// maxBegun bounds the processes that are looked at between two turns.
const maxBegun = 256

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
	again, between := time.After(every), time.NewTicker(w.opts.Scan)
	defer between.Stop()
	w.begun = w.begun[:0]
	for {
		select {
		case looked = <-w.looks:
			return looked, true
		case <-again:
			return nil, true
		case <-ctx.Done():
			return nil, false
		case <-between.C:
			for _, pid := range w.begun {
				w.look(pid, tell)
			}
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
	for _, pid := range n.begun {
		if w.asked(pid) && len(w.begun) < maxBegun && !slices.Contains(w.begun, pid) {
			w.begun = append(w.begun, pid)
		}
	}
	return w.attached.Load() != was
}

// asked reports whether a process is among those asked for. That are all but memwatch itself, unless it is
// told which: to ask the driver what devices hold, it maps the driver's libraries too, or runs who does.
func (w *Watcher) asked(pid int) bool {
	if len(w.opts.PIDs) == 0 {
		source := w.source.Load()
		return pid != w.self && (source == nil || pid != (*source).Child())
	}
	return slices.Contains(w.opts.PIDs, pid)
}
