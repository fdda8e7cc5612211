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
// instruments have the attribute account, with the name of the pool or "foreign";
// accounts of one name are added up, and what accounts that are gone have counted is under the
// empty name. Call sites are no attributes: there would be too many, and the profile of
// [tracker.Tracker.Handler] shows them.
package otel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	named "github.com/lastuse/lastuse/internal/metric"
	"github.com/lastuse/lastuse/tracker"
	"github.com/lastuse/lastuse/tracker/internal/series"
)

// Attributes of the metrics.
const (
	// AccountKey is the attribute with the name of a pool.
	AccountKey = attribute.Key(named.Account)
	// HowKey is the attribute of foreignheap.freed.objects: "explicit" or "late".
	HowKey = attribute.Key(named.How)
)

// Register makes the instruments with m and has t asked whenever they are read. Asking blocks
// no allocation. The registration keeps t reachable until its Unregister is called. The error is
// that of m.
func Register(m metric.Meter, t *tracker.Tracker) (metric.Registration, error) {
	instruments := map[string]metric.Int64Observable{}
	var all []metric.Observable
	add := func(f named.Metric) error {
		if instruments[f.Name] != nil {
			return nil
		}
		o, err := instrument(m, f)
		if err != nil {
			return fmt.Errorf("otel: register %s: %w", f.Name, err)
		}
		instruments[f.Name] = o
		all = append(all, o)
		return nil
	}
	for _, f := range series.Figures {
		if err := add(f.Metric); err != nil {
			return nil, err
		}
	}
	for _, f := range series.Totals {
		if err := add(f.Metric); err != nil {
			return nil, err
		}
	}
	r, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		st := t.Stats()
		for _, a := range series.ByName(st) {
			for _, f := range series.Figures {
				attributes := []attribute.KeyValue{AccountKey.String(a.Name)}
				if f.How != "" {
					attributes = append(attributes, HowKey.String(f.How))
				}
				o.ObserveInt64(instruments[f.Name], f.Of(a), metric.WithAttributes(attributes...))
			}
		}
		for _, c := range series.Totals {
			o.ObserveInt64(instruments[c.Name], c.Of(&st))
		}
		return nil
	}, all...)
	if err != nil {
		return nil, fmt.Errorf("otel: register: %w", err)
	}
	return r, nil
}

// instrument makes one instrument.
func instrument(m metric.Meter, f named.Metric) (metric.Int64Observable, error) {
	unit, help := metric.WithUnit(f.Unit), metric.WithDescription(f.Help)
	switch f.Kind {
	case named.Counter:
		return m.Int64ObservableCounter(f.Name, unit, help)
	case named.Gauge:
		return m.Int64ObservableGauge(f.Name, unit, help)
	}
	return m.Int64ObservableUpDownCounter(f.Name, unit, help)
}
