package tracker

import (
	"fmt"
	"strings"
)

// Stats are the totals of the foreign heap. Sizes are bytes, counts are buffers.
type Stats struct {
	Live     int64 `json:"live"`     // in use
	Pending  int64 `json:"pending"`  // freed, but work on some stream may still use it
	Reserved int64 `json:"reserved"` // got from devices; includes what pools have live: never add the two
	Peak     int64 `json:"peak"`     // live never exceeded this; exact for one stream or foreign memory alone
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
	sum := t.books.Totals()
	st := Stats{
		Live: sum.Live, Pending: sum.Pending, Reserved: sum.Reserved, Peak: sum.Peak, Total: sum.Total,
		LiveObjects: sum.LiveObjects, Made: sum.Made, Freed: sum.Freed, Late: sum.Late, LateBytes: sum.LateBytes,
		Repeated: sum.Repeated, SitesLost: sum.Lost,
	}
	for _, a := range sum.Accounts {
		st.Accounts = append(st.Accounts, AccountStats(a))
	}
	if f := t.foreign.Load(); f != nil {
		st.Missed = f.missed.Load()
	}
	return st
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
