package tracker

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// A Kind says what an event was.
type Kind uint8

const (
	Made  Kind = iota + 1 // allocated
	Freed                 // by a call of Free
	Late                  // freed by the collector
)

// String returns the kind in one word.
func (k Kind) String() string {
	switch k {
	case Made:
		return "made"
	case Freed:
		return "freed"
	case Late:
		return "late"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// An Event is one entry of the history.
type Event struct {
	Time    time.Time
	Kind    Kind
	Account string
	Ptr     uintptr
	Size    int64   // bytes
	Stack   []Frame // innermost first; for a late free where the collector's find was taken up
}

const (
	historyDepth = 24 // frames kept of an event

	// saveInterval is the least time between two saves: a program that runs out of
	// memory often asks again at once.
	saveInterval = time.Second
)

// history is a ring of the last events. Nothing in it is allocated for an event.
type history struct {
	file string // where RanOut saves; "" for nowhere

	mu     sync.Mutex
	ring   []entry   // protected by mu
	next   int       // where the next event goes; protected by mu
	wraps  bool      // the ring is full; protected by mu
	saved  time.Time // protected by mu
	events uint64    // ever; protected by mu
}

type entry struct {
	at   int64 // nanoseconds since 1970
	kind Kind
	acct *account
	ptr  uintptr
	size int64
	pcs  [historyDepth]uintptr
}

// Recording reports whether t keeps a history. It is cheap, and where it is false
// [Shard.Record] need not be called.
func (t *Tracker) Recording() bool { return t.history != nil }

// Recording reports whether the tracker that s belongs to keeps a history.
func (s *Shard) Recording() bool { return s.account.tracker.history != nil }

// Record adds an event to the history, with the caller's stack. With skip 0 the stack begins at
// Record's caller. It does nothing if the tracker keeps no history, needs no lock and
// may be called from any goroutine.
func (s *Shard) Record(skip int, kind Kind, ptr uintptr, size int64) {
	s.account.tracker.history.record(skip+1, kind, s.account.account, ptr, size)
}

func (h *history) record(skip int, kind Kind, a *account, ptr uintptr, size int64) {
	if h == nil {
		return
	}
	e := entry{at: time.Now().UnixNano(), kind: kind, acct: a, ptr: ptr, size: size}
	runtime.Callers(skip+2, e.pcs[:])
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ring[h.next] = e
	h.events++
	if h.next++; h.next == len(h.ring) {
		h.next, h.wraps = 0, true
	}
}

// History returns the last events, the oldest first. It is empty unless Options.History asked
// for one.
func (t *Tracker) History() []Event {
	h := t.history
	if h == nil {
		return nil
	}
	h.mu.Lock()
	var entries []entry
	if h.wraps {
		entries = append(entries, h.ring[h.next:]...)
	}
	entries = append(entries, h.ring[:h.next]...)
	h.mu.Unlock()
	events := make([]Event, len(entries))
	for i := range entries {
		e := &entries[i]
		events[i] = Event{
			Time: time.Unix(0, e.at), Kind: e.kind, Account: e.acct.name,
			Ptr: e.ptr, Size: e.size, Stack: frames(trim(e.pcs[:])),
		}
	}
	return events
}

// RanOut is called by an allocator that has found no memory. It saves the report with
// the history in Options.HistoryFile, if there is one, at most once a second. The file is
// replaced as a whole and only its owner can read it.
func (t *Tracker) RanOut() error {
	h := t.history
	if h == nil || h.file == "" {
		return nil
	}
	h.mu.Lock()
	now := time.Now()
	early := now.Sub(h.saved) < saveInterval
	if !early {
		h.saved = now
	}
	h.mu.Unlock()
	if early {
		return nil
	}
	var b bytes.Buffer
	if err := t.WriteText(&b); err != nil {
		return err
	}
	if err := replaceFile(h.file, b.Bytes()); err != nil {
		return fmt.Errorf("tracker: save history: %w", err)
	}
	return nil
}

// replaceFile gives the file at path the contents b. A file that is there is never left half
// written, and a link is replaced, not followed.
func replaceFile(path string, b []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // for its owner only
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(b); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// writeHistory writes the history for people to read.
func (t *Tracker) writeHistory(w io.Writer) {
	h := t.history
	if h == nil {
		return
	}
	events := t.History()
	fmt.Fprintf(w, "\nlast %d events\n", len(events))
	for _, e := range events {
		fmt.Fprintf(w, "%s %-5s %#x %d bytes, %s\n", e.Time.UTC().Format("15:04:05.000000"), e.Kind, e.Ptr, e.Size, e.Account)
		for _, f := range e.Stack {
			fmt.Fprintf(w, "\t%s\n\t\t%v\n", f.Function, f)
		}
	}
}
