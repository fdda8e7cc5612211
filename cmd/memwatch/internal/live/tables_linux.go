//go:build linux && (amd64 || arm64)

package live

import (
	"os"
	"slices"
	"sync"

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

// keep opens the tables that a process has now and closes those that it has no more.
// Only files in memory are opened, so that it never waits for anybody.
func (s *shelf) keep(pid uint32) {
	p, err := procfs.Open(int(pid))
	if err != nil {
		return
	}
	defer p.Close()
	maps, err := p.Find((*procfs.Mapped).IsTable)
	if err != nil || len(maps) == 0 {
		return // it may be on its way out: what it said last is kept
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
			}
		}
	}
	s.shut(old)
	s.books[pid] = kept
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

// table has the tables of a process read, beside the reading of the ring, and what
// they say handed out.
func (r *resolver) table(pid uint32, now int64) {
	r.do(func() { r.tell(pid, now) })
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
