package series

import "github.com/lastuse/lastuse/tracker"

// What tells the series of a figure apart, as an attribute or as a label.
const (
	Account = "account" // the name of a pool, "foreign", or "" for accounts that are gone
	How     = "how"     // by whom a buffer was freed: "explicit" or "late"
)

// Kind is how a figure moves.
type Kind uint8

const (
	Level   Kind = iota // up and down, and accounts may be added up
	Gauge               // up and down, and a sum means nothing
	Counter             // up
)

// Units of the figures, in UCUM as OpenTelemetry wants them.
const (
	Bytes   = "By"
	buffers = "{buffer}"
	calls   = "{call}"
	samples = "{sample}"
)

// A Metric is what a system of metrics is told once. Names have dots; what else a system wants of a name,
// such as the unit in it, follows from the kind and the unit.
type Metric struct {
	Name string
	Kind Kind
	Unit string
	Help string
}

// A Figure is one series of an account.
type Figure struct {
	Metric
	How string // "" if the metric has one series for each account
	Of  func(*tracker.AccountStats) int64
}

// A Total is a series of the tracker as a whole.
type Total struct {
	Metric
	Of func(*tracker.Stats) int64
}

// freed has two series for each account.
var freed = Metric{"foreignheap.freed.objects", Counter, buffers, "Buffers freed, by whom."}

// Figures are all series of an account. Those of one metric stand together.
var Figures = []Figure{
	{Metric{"foreignheap.live", Level, Bytes, "Bytes in use."}, "",
		func(a *tracker.AccountStats) int64 { return a.Live }},
	{Metric{"foreignheap.live.objects", Level, buffers, "Buffers in use."}, "",
		func(a *tracker.AccountStats) int64 { return a.LiveObjects }},
	{Metric{"foreignheap.live.peak", Gauge, Bytes,
		"Bytes that were never exceeded by those in use: an upper bound of their peak."}, "",
		func(a *tracker.AccountStats) int64 { return a.Peak }},
	{Metric{"foreignheap.pending", Level, Bytes, "Bytes freed that work on some stream may still use."}, "",
		func(a *tracker.AccountStats) int64 { return a.Pending }},
	{Metric{"foreignheap.reserved", Level, Bytes,
		"Bytes got from the device. They contain those in use: never add the two."}, "",
		func(a *tracker.AccountStats) int64 { return a.Reserved }},
	{Metric{"foreignheap.allocated", Counter, Bytes, "Bytes ever allocated."}, "",
		func(a *tracker.AccountStats) int64 { return a.Total }},
	{Metric{"foreignheap.allocated.objects", Counter, buffers, "Buffers ever allocated."}, "",
		func(a *tracker.AccountStats) int64 { return a.Made }},
	{freed, "explicit", func(a *tracker.AccountStats) int64 { return a.Freed }},
	{freed, "late", func(a *tracker.AccountStats) int64 { return a.Late }},
	{Metric{"foreignheap.late", Counter, Bytes,
		"Bytes freed by the collector because nobody called Free."}, "",
		func(a *tracker.AccountStats) int64 { return a.LateBytes }},
	{Metric{"foreignheap.repeated_frees", Counter, calls, "Calls of Free on what was free already."}, "",
		func(a *tracker.AccountStats) int64 { return a.Repeated }},
}

// Totals are the series of the tracker as a whole.
var Totals = []Total{
	{Metric{"foreignheap.sites_lost", Counter, samples, "Samples whose call site found no room."},
		func(st *tracker.Stats) int64 { return st.SitesLost }},
	{Metric{"foreignheap.missed_frees", Counter, buffers,
		"Foreign allocations at an address whose free was never told."},
		func(st *tracker.Stats) int64 { return st.Missed }},
}
