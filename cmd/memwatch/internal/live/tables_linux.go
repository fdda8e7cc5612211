//go:build linux && (amd64 || arm64)

package live

import (
	"context"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
	"github.com/lastuse/lastuse/internal/probe"
)

// tableName is how a table's mapping is called in a process's maps.
const tableName = "memfd:" + probe.Name

// Bounds on what is read of one process at a time.
const (
	maxTables = 16
	maxBooks  = 1024 // tables kept open, of all processes
)

// A book is a table that is kept open: when its process has ended it still says what
// was live then.
type book struct {
	inode uint64
	f     *os.File
}

// A shelf is the open tables of all processes. It is safe for use by several goroutines.
type shelf struct {
	mu    sync.Mutex
	books map[uint32][]book
	open  int
}

// keep opens the tables that a process has now and closes those that it has no more, and reports whether
// there are new ones. Only files in memory are opened, so that it never waits for anybody.
func (s *shelf) keep(pid uint32) (more bool) {
	p, err := procfs.Open(int(pid))
	if err != nil {
		return false
	}
	defer p.Close()
	maps, err := p.Find((*procfs.Mapped).IsTable)
	if err != nil || len(maps) == 0 {
		return false // it may be on its way out: what it said last is kept
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.books[pid]
	var kept []book
	for i := range maps[:min(len(maps), maxTables)] {
		at := slices.IndexFunc(old, func(b book) bool { return b.inode == maps[i].Inode })
		if at >= 0 {
			kept = append(kept, old[at])
			old = slices.Delete(old, at, at+1)
		} else if s.open < maxBooks {
			if f, err := p.OpenTable(&maps[i]); err == nil {
				kept = append(kept, book{maps[i].Inode, f})
				s.open++
				more = true
			}
		}
	}
	s.shut(old)
	s.books[pid] = kept
	return more
}

// pids returns the processes that have tables.
func (s *shelf) pids() []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.books))
}

// shut closes books.
func (s *shelf) shut(all []book) {
	for _, b := range all {
		b.f.Close()
		s.open--
	}
}

// drop closes the tables of a process.
func (s *shelf) drop(pid uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut(s.books[pid])
	delete(s.books, pid)
}

// read returns what the tables of a process say.
func (s *shelf) read(pid uint32) []*probe.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*probe.Snapshot
	for _, b := range s.books[pid] {
		info, err := b.f.Stat()
		if err != nil {
			continue
		}
		if t, err := probe.Read(b.f, info.Size()); err == nil {
			all = append(all, t)
		}
	}
	return all
}

// readInTurn reads the tables of all processes again and again, and when there is a new one, until ctx is
// done.
func (w *Watcher) readInTurn(ctx context.Context) {
	for {
		select {
		case <-w.tabled:
		case <-time.After(w.opts.Tables):
		case <-ctx.Done():
			return
		}
		for _, pid := range w.resolver.shelf.pids() {
			if all := w.resolver.shelf.read(pid); len(all) > 0 {
				select {
				case w.told <- Told(pid, all, Clock()):
					w.nudge()
				case <-ctx.Done():
					return
				}
			}
		}
	}
}

// tell reads the open tables of a process and hands out what they say.
func (r *resolver) tell(pid uint32, now int64) {
	all := r.shelf.read(pid)
	if len(all) == 0 {
		return
	}
	for _, e := range Told(pid, all, now) {
		r.hand(e)
	}
}
