package web

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// mostLives bounds the allocations of one picture, which has fewer lines than that.
const mostLives = 1000

// lives are the allocations of a Timeline, each at the same place of every list, which is short in JSON.
type lives struct {
	Site   []int    `json:"site"`
	Addr   []uint64 `json:"addr"` // 0: it has no address
	Size   []uint64 `json:"size"`
	Begin  []int64  `json:"begin"`
	End    []int64  `json:"end"` // 0: it lives
	Titles []string `json:"titles"`
	Time   int64    `json:"time"`
	Since  int64    `json:"since"`
	Least  int64    `json:"least"`
	Left   int      `json:"left"`
}

// timeline answers with the allocations of ?process=PID-START over the latest ?span= seconds, 0 for all.
func (s *Server) timeline(w http.ResponseWriter, r *http.Request) {
	var pid uint32
	var start, span uint64
	if _, err := fmt.Sscanf(r.URL.Query().Get("process")+" "+r.URL.Query().Get("span"), "%d-%d %d", &pid, &start, &span); err != nil {
		http.Error(w, "process and span: not numbers", http.StatusBadRequest)
		return
	}
	since := time.Duration(math.MaxInt64)
	if span > 0 && span < uint64(since/time.Second) {
		since = time.Duration(span) * time.Second
	}
	var t *heap.Timeline
	if s.opts.Timeline != nil {
		t = s.opts.Timeline(pid, start, since, mostLives)
	}
	if t == nil {
		http.Error(w, "no such process", http.StatusNotFound)
		return
	}
	out := lives{Titles: []string{}, Time: t.Time, Since: t.Since, Least: t.Least, Left: t.Left}
	for i := range t.Sites {
		out.Titles = append(out.Titles, render.Title(&t.Sites[i]))
	}
	n := len(t.Lives)
	out.Site, out.Addr, out.Size, out.Begin, out.End = make([]int, n), make([]uint64, n), make([]uint64, n), make([]int64, n), make([]int64, n)
	for i, l := range t.Lives {
		out.Site[i], out.Size[i], out.Begin[i], out.End[i] = l.Site, l.Size, l.Begin, l.End
		if l.Linear {
			out.Addr[i] = l.Addr
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // the reader has gone
}
