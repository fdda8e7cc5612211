package series

import (
	"github.com/lastuse/lastuse/internal/metric"
	"github.com/lastuse/lastuse/tracker"
)

// A Figure is one series of an account.
type Figure struct {
	metric.Metric
	How string // "" if the metric has one series for each account
	Of  func(*tracker.AccountStats) int64
}

// A Total is a series of the tracker as a whole.
type Total struct {
	metric.Metric
	Of func(*tracker.Stats) int64
}

// Figures are all series of an account. Those of one metric stand together.
var Figures = []Figure{
	{metric.Live, "", func(a *tracker.AccountStats) int64 { return a.Live }},
	{metric.LiveObjects, "", func(a *tracker.AccountStats) int64 { return a.LiveObjects }},
	{metric.LivePeak, "", func(a *tracker.AccountStats) int64 { return a.Peak }},
	{metric.Metric{Name: "foreignheap.pending", Kind: metric.Level, Unit: metric.Bytes, Help: "Bytes freed that work on some stream may still use."},
		"", func(a *tracker.AccountStats) int64 { return a.Pending }},
	{metric.Metric{Name: "foreignheap.reserved", Kind: metric.Level, Unit: metric.Bytes,
		Help: "Bytes got from the device. They contain those in use: never add the two."},
		"", func(a *tracker.AccountStats) int64 { return a.Reserved }},
	{metric.Allocated, "", func(a *tracker.AccountStats) int64 { return a.Total }},
	{metric.AllocatedObjects, "", func(a *tracker.AccountStats) int64 { return a.Made }},
	{metric.FreedObjects, "explicit", func(a *tracker.AccountStats) int64 { return a.Freed }},
	{metric.FreedObjects, "late", func(a *tracker.AccountStats) int64 { return a.Late }},
	{metric.Late, "", func(a *tracker.AccountStats) int64 { return a.LateBytes }},
	{metric.Metric{Name: "foreignheap.repeated_frees", Kind: metric.Counter, Unit: metric.Calls, Help: "Calls of Free on what was free already."},
		"", func(a *tracker.AccountStats) int64 { return a.Repeated }},
}

// Totals are the series of the tracker as a whole.
var Totals = []Total{
	{metric.Metric{Name: "foreignheap.sites_lost", Kind: metric.Counter, Unit: metric.Samples, Help: "Samples whose call site found no room."},
		func(st *tracker.Stats) int64 { return st.SitesLost }},
	{metric.Metric{Name: "foreignheap.missed_frees", Kind: metric.Counter, Unit: metric.Buffers,
		Help: "Foreign allocations at an address whose free was never told."},
		func(st *tracker.Stats) int64 { return st.Missed }},
}
