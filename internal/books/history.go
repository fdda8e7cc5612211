package books

import (
	"runtime"
	"time"

	"github.com/lastuse/lastuse/internal/lockrank"
)

// A Kind says what an event was.
type Kind uint8

const (
	Made  Kind = iota + 1 // allocated
	Freed                 // by a call of Free
	Late                  // freed by the collector
)

// historyDepth is how many frames are kept of an event.
const historyDepth = 28

// history is a ring of the last events. Nothing in it is allocated for an event.
type history struct {
	mu    lockrank.Mutex[rankHistory]
	ring  []event // protected by mu
	next  int     // where the next event goes; protected by mu
	wraps bool    // the ring is full; protected by mu
}

type event struct {
	at   int64 // nanoseconds since 1970
	kind Kind
	acct *account
	ptr  uintptr
	size int64
	pcs  [historyDepth]uintptr
}

// Recording reports whether the books keep a history. It is cheap, and where it is false
// [Shard.Record] need not be called.
func (b *Books) Recording() bool { return b.history != nil }

// Record adds an event to the history, with the caller's stack. It does nothing if the books keep no
// history, needs no lock and may be called from any goroutine.
func (s *Shard) Record(kind Kind, ptr uintptr, size int64) {
	h := s.account.books.history
	if h == nil {
		return
	}
	e := event{at: time.Now().UnixNano(), kind: kind, acct: s.account.account, ptr: ptr, size: size}
	runtime.Callers(2, e.pcs[:])
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ring[h.next] = e
	if h.next++; h.next == len(h.ring) {
		h.next, h.wraps = 0, true
	}
}

// An Event is one entry of the history.
type Event struct {
	Time    time.Time
	Kind    Kind
	Account string
	Ptr     uintptr
	Size    int64     // bytes
	PCs     []uintptr // as runtime.Callers returns them, and zeros
}

// History returns the last events, the oldest first.
func (b *Books) History() []Event {
	h := b.history
	if h == nil {
		return nil
	}
	h.mu.Lock()
	var entries []event
	if h.wraps {
		entries = append(entries, h.ring[h.next:]...)
	}
	entries = append(entries, h.ring[:h.next]...)
	h.mu.Unlock()
	all := make([]Event, len(entries))
	for i := range entries {
		e := &entries[i]
		all[i] = Event{time.Unix(0, e.at), e.kind, e.acct.name, e.ptr, e.size, e.pcs[:]}
	}
	return all
}
