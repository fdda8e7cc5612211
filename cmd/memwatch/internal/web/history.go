package web

import (
	"context"
	"encoding/json"
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
	mu   sync.Mutex
	past map[processID]*past
}

// keep notes a snapshot, and forgets processes that are not in it.
func (h *history) keep(s *heap.Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.past
	h.past = make(map[processID]*past)
	for i := range s.Processes[:min(len(s.Processes), keepProcs)] {
		p := &s.Processes[i]
		id := processID{p.PID, p.Start}
		was := old[id]
		if was == nil {
			was = &past{PID: p.PID, Start: p.Start}
		}
		if n := len(was.Times); !p.Exited && (n == 0 || s.Time > was.Times[n-1]) {
			from := max(n+1-keepMost, 0)
			was.Times, was.Live = append(was.Times[from:], s.Time), append(was.Live[from:], p.Live)
		}
		h.past[id] = was
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
