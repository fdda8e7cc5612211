//go:build linux && (amd64 || arm64)

package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/symbols"
)

// Keep has a last look at a process that is about to end: its tables are opened, so that they can be read
// when it has ended, and its mappings are searched once more by Run, which it waits for. It may be called by
// any goroutine.
func (w *Watcher) Keep(pid int) {
	w.resolver.shelf.keep(uint32(pid))
	looked := make(chan struct{})
	select {
	case w.looks <- looked:
		select {
		case <-looked:
		case <-w.over:
		}
	case <-w.over:
	}
}

// A sight is what the scanner saw of a process, or with all set that it has looked at every one.
type sight struct {
	pid    int
	start  uint64 // clock ticks since boot
	joined bool   // a library was loaded before its probes were there
	tables bool   // it has tables that were not there before

	all    bool
	looked chan struct{} // nil, or closed when all that was seen is known
}

// scanInTurn searches mappings again and again until ctx is done.
func (w *Watcher) scanInTurn(ctx context.Context) {
	tell := func(s sight) {
		select {
		case w.sights <- s:
			w.nudge()
		case <-ctx.Done():
			if s.looked != nil {
				close(s.looked)
			}
		}
	}
	defer w.sizes.close()
	if w.listener != nil {
		w.hearing = w.news
	}
	begun := time.Now()
	var looked chan struct{}
	for {
		turn := time.Now()
		w.scan(tell)
		tell(sight{all: true, looked: looked})
		every := w.pace(time.Since(turn))
		if w.opts.Fresh && time.Since(begun) < young {
			every = min(every, time.Millisecond)
		}
		var ok bool
		if looked, ok = w.await(ctx, every, tell); !ok {
			return
		}
	}
}

// young is how long a program that has just been started is looked at often: it loads its library and makes
// its table any moment, and may end soon after.
const young = 500 * time.Millisecond

// Look looks for libraries in the mappings of processes, as Run does by itself. It is called before Run.
func (w *Watcher) Look() {
	w.scan(func(sight) {})
	w.sizes.close()
}

// scan searches the mappings of processes: of those asked for, or of those that may have changed since it was
// done before, or have a library or a table.
func (w *Watcher) scan(tell func(sight)) {
	begin := procfs.SinceBoot()
	pids := w.opts.PIDs
	if len(pids) == 0 {
		pids = w.pids()
		w.sizes.next()
	}
	for _, pid := range pids {
		if !w.asked(pid) || len(w.opts.PIDs) == 0 && !w.sizes.changed(pid) && !w.using[pid] {
			continue
		}
		w.look(pid, tell)
	}
	w.scanned = begin
}

// look searches the mappings of one process.
func (w *Watcher) look(pid int, tell func(sight)) {
	s := w.scanOne(pid)
	if s.start == 0 {
		delete(w.using, pid)
		return
	}
	w.using[pid] = true
	tell(s)
}

// scanOne looks for libraries and tables in the mappings of a process. It sees nothing if there are none.
func (w *Watcher) scanOne(pid int) (s sight) {
	f, err := procfs.Maps(pid)
	if err != nil {
		return s
	}
	maps, err := symbols.ParseMaps(f)
	f.Close()
	if err != nil {
		return s
	}
	tables := slices.ContainsFunc(maps, func(m symbols.Mapping) bool { return m.Offset == 0 && m.Base() == tableName })
	uses := false
	for i := range maps {
		m := &maps[i]
		l := probes.LibraryOf(m.Base())
		if l == nil || !m.Exec {
			continue
		}
		if l.Above {
			if w.session != nil && !w.opts.NoBlocks {
				w.probe(pid, m, l)
			}
			continue
		}
		if w.session == nil {
			if !tables { // else what it says itself is what was asked for
				w.miss(fmt.Sprintf("%s: calls of the %s are not watched", m.Path, l.Name))
			}
			continue
		}
		uses = true
		lib := w.probe(pid, m, l)
		if lib.since > max(w.scanned, procfs.StartBoot(pid)) {
			s.joined = true
			w.miss(fmt.Sprintf("%s was loaded before its probes were there: what was allocated by then is not known; -lib %s has it probed in time", m.Path, m.Path))
		}
	}
	if tables {
		s.tables = w.resolver.shelf.keep(uint32(pid))
	}
	if uses || tables {
		s.pid = pid
		s.start, _ = procfs.StartTime(pid) // 0: it is gone
	}
	return s
}

// probe has the file of a mapping probed, unless it is already.
func (w *Watcher) probe(pid int, m *symbols.Mapping, l *probes.Library) *Library {
	f, err := symbols.OpenMapped(pid, m)
	if err != nil {
		return &Library{Name: l.Name, Path: m.Path, Err: err, since: never}
	}
	defer f.Close()
	return w.attach(f, l, m.Path)
}

// miss notes what was not seen.
func (w *Watcher) miss(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.missed, what) && len(w.missed) < maxMissed {
		w.missed = append(w.missed, what)
	}
}

// maxMissed bounds what is told of that was not seen.
const maxMissed = 64

// Missed returns what processes did that cannot have been seen, in words; none if all was. It may be called
// by any goroutine.
func (w *Watcher) Missed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.missed)
}

// burial is how long the report of a process's end is waited for.
const burial = 2 * time.Second

// bury ends the processes whose end no probe has reported: those that never called a
// driver, and those whose report was lost.
func (w *Watcher) bury() {
	now := Clock()
	for pid, p := range w.processes {
		if start, err := procfs.StartTime(int(pid)); err == nil && start == p.start {
			p.gone = 0
			continue
		}
		if p.gone == 0 {
			p.gone = now
		}
		if now-p.gone >= int64(burial) && !expected(p.gone, w.latest, w.waiting()) {
			w.ended(pid, p.start, now)
		}
	}
}

// expected reports whether the report of the end of a process, which is gone since then, may be on its way:
// reports come in the order in which they are made, and latest is when the last one that came was.
func expected(gone, latest int64, waiting int) bool { return waiting > 0 && latest < gone }

// ended hands out the end of a process, which started at that tick, and forgets it.
func (w *Watcher) ended(pid uint32, start uint64, now int64) {
	if w.session != nil {
		if l := w.session.LedgerOf(pid); ticksOf(l.Start) == start { // else its number is in use again
			w.auditOne(pid, l, now)
			w.session.Forget(pid)
		}
	}
	if p := w.processes[pid]; p != nil {
		w.resolver.exit(heap.Event{Op: heap.Exit, PID: pid, TID: pid, Time: now, Size: p.start})
		delete(w.processes, pid)
	}
}

// never is when a library is probed that cannot be.
const never = math.MaxInt64

// attach probes a file unless it is probed already.
func (w *Watcher) attach(f *os.File, l *probes.Library, path string) *Library {
	lib := &Library{Name: l.Name, Path: path, since: never}
	id, err := symbols.Identity(f)
	if err != nil {
		lib.Err = err
		return lib
	}
	if known := w.libraries[id]; known != nil {
		return known
	}
	lib.Err = w.attachTo(lib, f, l, id)
	switch {
	case lib.Err == nil:
		lib.since = procfs.SinceBoot()
		w.attached.Store(lib.since)
	case errors.Is(lib.Err, probes.ErrNotLibrary): // there is nothing in it to be missed
		lib.since = 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.libraries[id] = lib
	w.order = append(w.order, id)
	return lib
}

func (w *Watcher) attachTo(lib *Library, f *os.File, l *probes.Library, id string) error {
	image, err := w.images.Read(f, l, id)
	if err != nil {
		return err
	}
	lib.Absent = len(image.Missing)
	for _, p := range image.Placements {
		if p.Cost == probes.Fast {
			lib.Fast++
		} else {
			lib.Slow++
		}
	}
	// With one process the kernel's own filter spares all others the probe.
	only := uint32(0)
	if len(w.opts.PIDs) == 1 {
		only = uint32(w.opts.PIDs[0])
	}
	begin := time.Now()
	lib.Probes, err = w.session.AttachFile(f, image, only)
	lib.Took = time.Since(begin)
	return err
}
