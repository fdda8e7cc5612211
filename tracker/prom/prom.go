// Package prom shows a tracker's totals to Prometheus, as a collector for any registry:
//
//	registry.MustRegister(prom.NewCollector(books))
//	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// Two trackers on one registry are told apart by a label or a prefix of the program's choice:
//
//	train := prometheus.WrapRegistererWith(prometheus.Labels{"heap": "train"}, registry)
//	train.MustRegister(prom.NewCollector(a))
//
// Sizes are in bytes, counters end in _total. Names and labels are those of package otel, in the form that
// OpenTelemetry's own exporter to Prometheus gives them. All but the last two metrics have the label account,
// with the name of the pool or "foreign"; accounts of one name are added up, and what accounts that are gone
// have counted is under the empty name. Call sites are no labels: there would be too many, and the profile of
// [tracker.Tracker.Handler] shows them.
package prom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lastuse/lastuse/internal/metric"
	"github.com/lastuse/lastuse/tracker"
	"github.com/lastuse/lastuse/tracker/internal/series"
)

// NewCollector returns a collector of t's totals. Each Collect asks t once, so the figures of one scrape
// belong together; asking blocks no allocation, and scrapes may overlap. The collector keeps t reachable.
func NewCollector(t *tracker.Tracker) prometheus.Collector {
	c := &collector{tracker: t}
	for _, f := range series.Figures {
		labels := []string{metric.Account}
		if f.How != "" {
			labels = append(labels, metric.How)
		}
		c.figures = append(c.figures, describe(f.Metric, labels...))
	}
	for _, f := range series.Totals {
		c.totals = append(c.totals, describe(f.Metric))
	}
	return c
}

type collector struct {
	tracker *tracker.Tracker
	figures []*prometheus.Desc // of series.Figures
	totals  []*prometheus.Desc // of series.Totals
}

// Describe sends every description that Collect can use. One may come twice: Describe allows that.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.figures {
		ch <- d
	}
	for _, d := range c.totals {
		ch <- d
	}
}

// Collect sends the totals now.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	st := c.tracker.Stats()
	for _, a := range series.ByName(st) {
		for i, f := range series.Figures {
			labels := []string{a.Name}
			if f.How != "" {
				labels = append(labels, f.How)
			}
			ch <- prometheus.MustNewConstMetric(c.figures[i], kind(f.Kind), float64(f.Of(a)), labels...)
		}
	}
	for i, f := range series.Totals {
		ch <- prometheus.MustNewConstMetric(c.totals[i], kind(f.Kind), float64(f.Of(&st)))
	}
}

// describe returns a metric's description.
func describe(m metric.Metric, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(m.Prometheus(), m.Help, labels, nil)
}

// kind returns what Prometheus calls a kind.
func kind(k metric.Kind) prometheus.ValueType {
	if k == metric.Counter {
		return prometheus.CounterValue
	}
	return prometheus.GaugeValue
}
