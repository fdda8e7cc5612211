package tracker

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/lastuse/lastuse/internal/probe"
)

// Stats are the totals of the foreign heap. Sizes are bytes, counts are buffers.
type Stats struct {
	Live     int64 `json:"live"`     // in use
	Pending  int64 `json:"pending"`  // freed, but work on some stream may still use it
	Reserved int64 `json:"reserved"` // got from devices; includes what pools have live: never add the two
	Peak     int64 `json:"peak"`     // live never exceeded this; exact if one stream or foreign memory alone allocated
	Total    int64 `json:"total"`    // ever allocated

	LiveObjects int64 `json:"live_objects"`
	Made        int64 `json:"made"`  // buffers ever allocated
	Freed       int64 `json:"freed"` // by a call of Free
	Late        int64 `json:"late"`  // by the collector, because nobody called Free
	LateBytes   int64 `json:"late_bytes"`
	Repeated    int64 `json:"repeated"` // calls of Free on what was free already

	SitesLost int64 `json:"sites_lost"` // samples counted under "other sites" for want of room
	Missed    int64 `json:"missed"`     // foreign allocations at an address whose free was never told

	Accounts []AccountStats `json:"accounts"`
}

// AccountStats are the totals of one account.
type AccountStats struct {
	Name         string `json:"name"`
	Foreign      bool   `json:"foreign,omitempty"` // made by somebody else: nothing is reserved for it
	Closed       bool   `json:"closed,omitempty"`
	Live         int64  `json:"live"`
	Pending      int64  `json:"pending"`
	Reserved     int64  `json:"reserved"`
	ReservedPeak int64  `json:"reserved_peak"`
	Peak         int64  `json:"peak"` // an upper bound, exact for one shard and for foreign memory
	Total        int64  `json:"total"`
	LiveObjects  int64  `json:"live_objects"`
	Made         int64  `json:"made"`
	Freed        int64  `json:"freed"`
	Late         int64  `json:"late"`
	LateBytes    int64  `json:"late_bytes"`
	Repeated     int64  `json:"repeated"`
}

// Stats returns the totals now. They are exact when nobody allocates meanwhile.
func (t *Tracker) Stats() Stats {
	b := t.table
	b.mu.Lock()
	defer b.mu.Unlock()
	sum := b.past
	st := Stats{Peak: int64(b.peak()), SitesLost: int64(b.sites.lost.Load())}
	for _, a := range b.open {
		totals, as := a.stats()
		st.Pending += as.Pending
		st.Reserved += as.Reserved
		add(&sum, totals) // of the same moment, lest accounts that are gone seem to have made the difference
		st.Accounts = append(st.Accounts, as)
	}
	st.Live, st.LiveObjects = int64(sum.MadeBytes-sum.FreedBytes), int64(sum.MadeObjects-sum.FreedObjects)
	st.Total, st.Made = int64(sum.MadeBytes), int64(sum.MadeObjects)
	st.Freed, st.Late = int64(sum.FreedObjects-sum.LateObjects), int64(sum.LateObjects)
	st.LateBytes, st.Repeated = int64(sum.LateBytes), int64(sum.Repeated)
	if f := t.foreign.Load(); f != nil {
		st.Missed = f.missed.Load()
	}
	return st
}

// Stats returns the account's totals now.
func (a *Account) Stats() AccountStats {
	b := a.tracker.table
	b.mu.Lock()
	defer b.mu.Unlock()
	_, st := a.account.stats()
	runtime.KeepAlive(a) // else its record may be another's by now
	return st
}

// stats returns a's totals, as they are counted and as they are shown. The caller holds table.mu.
func (a *account) stats() (sum probe.Totals, shown AccountStats) {
	sum, pending := a.totals()
	r := a.rec
	return sum, AccountStats{
		Name:         a.name,
		Foreign:      r.Flags&probe.FlagForeign != 0,
		Closed:       atomic.LoadUint32(&r.State) == probe.StateClosed,
		Live:         int64(sum.MadeBytes - sum.FreedBytes),
		Pending:      pending,
		Reserved:     int64(atomic.LoadUint64(&r.Reserved)),
		ReservedPeak: int64(atomic.LoadUint64(&r.ReservedPeak)),
		Peak:         int64(a.peak()),
		Total:        int64(sum.MadeBytes),
		LiveObjects:  int64(sum.MadeObjects - sum.FreedObjects),
		Made:         int64(sum.MadeObjects),
		Freed:        int64(sum.FreedObjects - sum.LateObjects),
		Late:         int64(sum.LateObjects),
		LateBytes:    int64(sum.LateBytes),
		Repeated:     int64(sum.Repeated),
	}
}

// String returns the totals in one line of human units.
func (s Stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "live %s in %d, peak %s, total %s in %d, freed %d, late %d",
		human(s.Live), s.LiveObjects, human(s.Peak),
		human(s.Total), s.Made, s.Freed, s.Late)
	if s.Repeated > 0 {
		fmt.Fprintf(&b, ", repeated %d", s.Repeated)
	}
	return b.String()
}
