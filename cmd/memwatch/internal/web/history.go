package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// A snapshot tells of a minute. Who opens the page later than that wants to know what came before: it is kept
// in steps, for a bounded number of processes.

const (
	keepEvery = 10 * time.Second
	keepMost  = 6 * 360 // steps: six hours
	keepProcs = 256     // those with the most live bytes
)

// A past is what one process had live, the oldest first.
type past struct {
	PID   uint32  `json:"pid"`
	Start uint64  `json:"start"`
	Times []int64 `json:"times"` // nanoseconds, of the events' clock
	Live  []int64 `json:"live"`
}

type processID struct {
	pid   uint32
	start uint64
}

// A history is what was live. It is safe for use by several goroutines.
type history struct {
	mu    sync.Mutex
	past  map[processID]*past
	was   map[processID]*past // as a former server has stored it, of processes that were not seen since
	store *Store              // or nil
	fault func(error)         // is told why the store is no longer written to
}

// take begins with what a former server has stored.
func (h *history) take(s *Store) {
	h.store, h.was = s, make(map[processID]*past)
	for _, at := range s.past {
		for _, p := range at.Processes {
			id := processID{p.PID, p.Start}
			if h.was[id] == nil {
				h.was[id] = &past{PID: p.PID, Start: p.Start}
			}
			h.was[id].add(at.Time, p.Live)
		}
	}
	s.past = nil
}

// add adds what was live at a time, if that is newer than what there is, and says whether it is.
func (p *past) add(at, live int64) bool {
	n := len(p.Times)
	if n > 0 && at <= p.Times[n-1] {
		return false
	}
	from := max(n+1-keepMost, 0)
	p.Times, p.Live = append(p.Times[from:], at), append(p.Live[from:], live)
	return true
}

// keep notes a snapshot, and forgets processes that are not in it.
func (h *history) keep(s *heap.Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old, at := h.past, step{Time: s.Time}
	h.past = make(map[processID]*past)
	for i := range s.Processes[:min(len(s.Processes), keepProcs)] {
		p := &s.Processes[i]
		id := processID{p.PID, p.Start}
		was := cmp.Or(old[id], h.was[id], &past{PID: p.PID, Start: p.Start})
		delete(h.was, id)
		h.past[id] = was
		if !p.Exited && was.add(s.Time, p.Live) {
			at.Processes = append(at.Processes, stepLive{p.PID, p.Start, p.Live})
		}
	}
	if h.store == nil || len(at.Processes) == 0 {
		return
	}
	if err := h.store.write(at); err != nil {
		h.fault(fmt.Errorf("history: %w: from here on it is kept in memory only", err))
		h.store = nil
	}
}

// inTurn keeps snapshots until ctx is done.
func (h *history) inTurn(ctx context.Context, source func(heap.Query) *heap.Snapshot) {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		h.keep(source(heap.Query{NoSites: true}))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// ServeHTTP writes all of it as JSON.
func (h *history) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h.mu.Lock()
	doc := struct {
		Processes []past `json:"processes"`
	}{[]past{}}
	for _, p := range h.past {
		doc.Processes = append(doc.Processes, past{p.PID, p.Start, append([]int64{}, p.Times...), append([]int64{}, p.Live...)})
	}
	h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(doc) // the reader has gone
}
