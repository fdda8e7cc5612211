// Package metric has the names of the foreign heap's figures: what a program tells of itself through
// OpenTelemetry or to Prometheus has the same name as what memwatch tells of it from outside.
//
// Names have dots, as OpenTelemetry wants them. What else a system wants of a name, such as the unit in it,
// follows from the kind and the unit.
package metric

import "strings"

// What tells the series of a metric apart, as an attribute or as a label.
const (
	Account = "account" // the name of a pool, "foreign", or "" for accounts that are gone
	How     = "how"     // by whom a buffer was freed: "explicit" or "late"; memwatch knows more
)

// Kind is how a figure moves.
type Kind uint8

const (
	Level   Kind = iota // up and down, and series may be added up
	Gauge               // up and down, and a sum means nothing
	Counter             // up
)

// Units of the figures, in UCUM as OpenTelemetry wants them.
const (
	Bytes   = "By"
	Buffers = "{buffer}"
	Calls   = "{call}"
	Samples = "{sample}"
)

// A Metric is what a system of metrics is told once.
type Metric struct {
	Name string
	Kind Kind
	Unit string
	Help string
}

// What both a program and memwatch tell.
var (
	Live             = Metric{"foreignheap.live", Level, Bytes, "Bytes in use."}
	LiveObjects      = Metric{"foreignheap.live.objects", Level, Buffers, "Buffers in use."}
	LivePeak         = Metric{"foreignheap.live.peak", Gauge, Bytes, "Bytes that were never exceeded by those in use: an upper bound of their peak."}
	Allocated        = Metric{"foreignheap.allocated", Counter, Bytes, "Bytes ever allocated."}
	AllocatedObjects = Metric{"foreignheap.allocated.objects", Counter, Buffers, "Buffers ever allocated."}
	FreedObjects     = Metric{"foreignheap.freed.objects", Counter, Buffers, "Buffers freed, by whom."}
	Late             = Metric{"foreignheap.late", Counter, Bytes, "Bytes freed by the collector because nobody called Free."}
)

// Prometheus returns the name as the OpenTelemetry specification translates it: the unit stands behind it
// unless it is in braces, and then _total behind a counter's.
func (m Metric) Prometheus() string {
	n := strings.ReplaceAll(m.Name, ".", "_")
	if m.Unit == Bytes {
		n += "_bytes"
	}
	if m.Kind == Counter {
		n += "_total"
	}
	return n
}
