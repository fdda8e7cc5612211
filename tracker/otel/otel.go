// Package otel shows a tracker's totals as OpenTelemetry metrics:
//
//	registration, err := otel.Register(provider.Meter("my/program"), books)
//	…
//	registration.Unregister()
//
// It needs the metrics interface only. Which SDK reads the figures, how often, and where they go
// is the program's choice.
//
// Sizes are in bytes ("By"), counts in annotated units such as "{buffer}". All but the last two
// instruments have the attribute foreignheap.account, with the name of the pool or "foreign";
// accounts of one name are added up, and what accounts that are gone have counted is under the
// empty name. Call sites are no attributes: there would be too many, and the profile of
// [tracker.Tracker.Handler] shows them.
package otel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/lastuse/lastuse/tracker"
	"github.com/lastuse/lastuse/tracker/internal/series"
)

// Attributes of the metrics.
const (
	// AccountKey is the attribute with the name of a pool.
	AccountKey = attribute.Key("foreignheap.account")
	// HowKey is the attribute of foreignheap.freed.objects: "explicit" or "late".
	HowKey = attribute.Key("foreignheap.how")
)

// How a figure moves.
type kind uint8

const (
	level   kind = iota // up and down, and accounts may be added up
	gauge               // up and down, and a sum means nothing
	counter             // up
)

// A figure is one series of an account.
type figure struct {
	name string
	kind kind
	unit string
	help string
	how  string // "" if the instrument has one series for each account
	of   func(*tracker.AccountStats) int64
}

// figures are all series of an account. Those of one name stand together.
var figures = []figure{
	{"foreignheap.live", level, "By", "Bytes in use.", "",
		func(a *tracker.AccountStats) int64 { return a.Live }},
	{"foreignheap.live.objects", level, "{buffer}", "Buffers in use.", "",
		func(a *tracker.AccountStats) int64 { return a.LiveObjects }},
	{"foreignheap.live.peak", gauge, "By", "Bytes that were never exceeded by those in use: an upper bound of their peak.", "",
		func(a *tracker.AccountStats) int64 { return a.Peak }},
	{"foreignheap.pending", level, "By", "Bytes freed that work on some stream may still use.", "",
		func(a *tracker.AccountStats) int64 { return a.Pending }},
	{"foreignheap.reserved", level, "By", "Bytes got from the device. They contain those in use: never add the two.", "",
		func(a *tracker.AccountStats) int64 { return a.Reserved }},
	{"foreignheap.allocated", counter, "By", "Bytes ever allocated.", "",
		func(a *tracker.AccountStats) int64 { return a.Total }},
	{"foreignheap.allocated.objects", counter, "{buffer}", "Buffers ever allocated.", "",
		func(a *tracker.AccountStats) int64 { return a.Made }},
	{"foreignheap.freed.objects", counter, "{buffer}", "Buffers freed, by whom.", "explicit",
		func(a *tracker.AccountStats) int64 { return a.Freed }},
	{"foreignheap.freed.objects", counter, "{buffer}", "Buffers freed, by whom.", "late",
		func(a *tracker.AccountStats) int64 { return a.Late }},
	{"foreignheap.late", counter, "By", "Bytes freed by the collector because nobody called Free.", "",
		func(a *tracker.AccountStats) int64 { return a.LateBytes }},
	{"foreignheap.repeated_frees", counter, "{call}", "Calls of Free on what was free already.", "",
		func(a *tracker.AccountStats) int64 { return a.Repeated }},
}

// totals are figures of the tracker as a whole.
var totals = []struct {
	name, unit, help string
	of               func(*tracker.Stats) int64
}{
	{"foreignheap.sites_lost", "{sample}", "Samples whose call site found no room.",
		func(st *tracker.Stats) int64 { return st.SitesLost }},
	{"foreignheap.missed_frees", "{buffer}", "Foreign allocations at an address whose free was never told.",
		func(st *tracker.Stats) int64 { return st.Missed }},
}

// Register makes the instruments with m and has t asked whenever they are read. Asking blocks
// no allocation. The registration keeps t reachable until its Unregister is called. The error is
// that of m.
func Register(m metric.Meter, t *tracker.Tracker) (metric.Registration, error) {
	instruments := map[string]metric.Int64Observable{}
	var all []metric.Observable
	add := func(k kind, name, unit, help string) error {
		if instruments[name] != nil {
			return nil
		}
		o, err := instrument(m, k, name, unit, help)
		if err != nil {
			return fmt.Errorf("otel: register %s: %w", name, err)
		}
		instruments[name] = o
		all = append(all, o)
		return nil
	}
	for _, f := range figures {
		if err := add(f.kind, f.name, f.unit, f.help); err != nil {
			return nil, err
		}
	}
	for _, c := range totals {
		if err := add(counter, c.name, c.unit, c.help); err != nil {
			return nil, err
		}
	}
	r, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		st := t.Stats()
		for _, a := range series.ByName(st) {
			for _, f := range figures {
				attributes := []attribute.KeyValue{AccountKey.String(a.Name)}
				if f.how != "" {
					attributes = append(attributes, HowKey.String(f.how))
				}
				o.ObserveInt64(instruments[f.name], f.of(a), metric.WithAttributes(attributes...))
			}
		}
		for _, c := range totals {
			o.ObserveInt64(instruments[c.name], c.of(&st))
		}
		return nil
	}, all...)
	if err != nil {
		return nil, fmt.Errorf("otel: register: %w", err)
	}
	return r, nil
}

// instrument makes one instrument.
func instrument(m metric.Meter, k kind, name, unit, help string) (metric.Int64Observable, error) {
	switch k {
	case counter:
		return m.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(help))
	case gauge:
		return m.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(help))
	}
	return m.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(help))
}
