// Package series is what the exporters of metrics have in common: which figures there are, and a tracker's
// totals as systems of metrics want them: one series for each name of an account, whose counters never fall.
package series

import (
	"slices"
	"strings"

	"github.com/lastuse/lastuse/tracker"
)

// ByName returns the accounts by name, those of one name added up, and one with an empty
// name for what is left of the totals: accounts that are gone. Names are valid UTF-8.
func ByName(st tracker.Stats) []*tracker.AccountStats {
	gone := &tracker.AccountStats{Total: st.Total, Made: st.Made, Freed: st.Freed,
		Late: st.Late, LateBytes: st.LateBytes, Repeated: st.Repeated}
	var all []*tracker.AccountStats
	for _, a := range st.Accounts {
		a.Name = strings.ToValidUTF8(a.Name, "\ufffd")
		i := slices.IndexFunc(all, func(b *tracker.AccountStats) bool { return b.Name == a.Name })
		if i < 0 {
			i = len(all)
			all = append(all, &tracker.AccountStats{Name: a.Name})
		}
		sum := all[i]
		sum.Live += a.Live
		sum.LiveObjects += a.LiveObjects
		sum.Peak += a.Peak
		sum.Pending += a.Pending
		sum.Reserved += a.Reserved
		sum.Total += a.Total
		sum.Made += a.Made
		sum.Freed += a.Freed
		sum.Late += a.Late
		sum.LateBytes += a.LateBytes
		sum.Repeated += a.Repeated
		gone.Total -= a.Total
		gone.Made -= a.Made
		gone.Freed -= a.Freed
		gone.Late -= a.Late
		gone.LateBytes -= a.LateBytes
		gone.Repeated -= a.Repeated
	}
	if gone.Made > 0 || gone.Repeated > 0 {
		all = append(all, gone)
	}
	return all
}
