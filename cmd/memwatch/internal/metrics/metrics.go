// Package metrics shows a snapshot of the heap to Prometheus.
//
// What a program that uses lastuse also tells of itself has the same name here (see internal/metric), with
// the process in the labels in place of the account. What only memwatch knows begins with memwatch_. Call
// sites are no labels: their number has no bound.
package metrics

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
	"github.com/lastuse/lastuse/internal/metric"
)

// Of returns a collector of one snapshot, so that the figures of a scrape belong together. hits are the
// probes' own, by function, and may be nil. The collector is for one registry and one scrape.
func Of(s *heap.Snapshot, hits map[string]uint64) prometheus.Collector {
	c := &collector{s: s, hits: hits, descs: make(map[string]*prometheus.Desc)}
	for i := range s.Processes {
		c.placed = c.placed || s.Processes[i].Place != (heap.Place{})
	}
	return c
}

type collector struct {
	s      *heap.Snapshot
	hits   map[string]uint64
	placed bool // it is known of some process where it runs
	descs  map[string]*prometheus.Desc
}

// Describe says nothing: which labels there are depends on what is known.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the figures.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	for i := range c.s.Processes {
		if p := &c.s.Processes[i]; !p.Exited {
			c.process(ch, p)
		}
	}
	for i := range c.s.Devices {
		c.device(ch, &c.s.Devices[i])
	}
	c.send(ch, counter("memwatch_events_total", "Events applied."), float64(c.s.Events))
	for _, f := range slices.Sorted(maps.Keys(c.hits)) {
		c.send(ch, counter("memwatch_probe_hits_total", "Calls of probed functions."), float64(c.hits[f]), "func", f)
	}
}

// A family is a metric by its name at Prometheus.
type family struct {
	name, help string
	kind       prometheus.ValueType
}

func gauge(name, help string) family   { return family{name, help, prometheus.GaugeValue} }
func counter(name, help string) family { return family{name, help, prometheus.CounterValue} }

// shared returns the family of what programs tell too; more is what its help says besides.
func shared(m metric.Metric, more string) family {
	f := gauge(m.Prometheus(), m.Help+more)
	if m.Kind == metric.Counter {
		f.kind = prometheus.CounterValue
	}
	return f
}

// send sends a figure with labels: names and values in turn. Values are of strangers.
func (c *collector) send(ch chan<- prometheus.Metric, f family, v float64, labels ...string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, render.Clean(labels[i+1]))
	}
	d := c.descs[f.name]
	if d == nil {
		d = prometheus.NewDesc(f.name, f.help, names, nil)
		c.descs[f.name] = d
	}
	ch <- prometheus.MustNewConstMetric(d, f.kind, v, values...)
}

// of returns the labels of a process and more.
func (c *collector) of(p *heap.Process, more ...string) []string {
	labels := []string{"pid", fmt.Sprint(p.PID), "comm", p.Name}
	if c.placed {
		labels = append(labels, "container_id", p.Place.Container, "pod_uid", p.Place.PodUID, "namespace", p.Place.Namespace, "pod", p.Place.Pod)
	}
	return append(labels, more...)
}

func (c *collector) process(ch chan<- prometheus.Metric, p *heap.Process) {
	for _, t := range p.Classes {
		labels := c.of(p, "class", t.Class, "own", fmt.Sprint(t.Own))
		c.send(ch, shared(metric.Live, ` By class; classes that are not the process's own have own="false".`), float64(t.Live), labels...)
		c.send(ch, shared(metric.LiveObjects, ""), float64(t.Objects), labels...)
		c.send(ch, shared(metric.Allocated, ""), float64(t.AllocBytes), labels...)
		c.send(ch, shared(metric.AllocatedObjects, ""), float64(t.AllocObjects), labels...)
	}
	c.send(ch, shared(metric.LivePeak, ""), float64(p.Peak), c.of(p)...)
	for _, f := range []struct {
		how string
		heap.Freed
	}{{"explicit", p.Explicit}, {"late", p.ByNet}, {"context", p.Context}, {"exit", p.Exit}, {"unseen", p.Unseen}} {
		labels := c.of(p, metric.How, f.how)
		c.send(ch, shared(metric.FreedObjects, ""), float64(f.Objects), labels...)
		c.send(ch, counter("memwatch_freed_bytes_total", "Bytes freed, by how."), float64(f.Bytes), labels...)
	}
	c.send(ch, shared(metric.Late, ""), float64(p.ByNet.Bytes), c.of(p)...)
	c.send(ch, gauge("memwatch_growth_bytes_per_second", "By how much the low points of the live bytes rise now, or fall."), float64(p.Growth), c.of(p)...)
	if p.Full > 0 {
		c.send(ch, gauge("memwatch_full_seconds", "Seconds until a device is full if the process goes on so; absent if it does not grow."), float64(p.Full)/1e9, c.of(p)...)
	}
	suspects := 0
	for i := range p.Sites {
		if len(p.Sites[i].Suspect) > 0 {
			suspects++
		}
	}
	c.send(ch, gauge("memwatch_leak_suspects", "Call sites with a reason to take them for a leak."), float64(suspects), c.of(p)...)
	for _, d := range p.Devices {
		c.send(ch, gauge("memwatch_device_live_bytes", "Own live bytes by device; -1 is an unknown one."), float64(d.Live), c.of(p, "device", fmt.Sprint(d.Device))...)
	}
	if p.Used > 0 {
		c.send(ch, gauge("memwatch_driver_used_bytes", "Bytes that the driver itself counts for the process, with contexts, code, and memory from before memwatch."),
			float64(p.Used), c.of(p)...)
	}
	for _, f := range p.Failures {
		c.send(ch, counter("memwatch_allocation_failures_total", "Allocations that failed, by the driver's code."), float64(f.Count), c.of(p, "code", fmt.Sprint(f.Code))...)
	}
	c.send(ch, counter("memwatch_unknown_frees_total", "Frees of memory whose allocation was not seen."), float64(p.Unknown.Frees), c.of(p)...)
	for _, l := range p.Lost {
		c.send(ch, counter("memwatch_events_lost_total", "Events that were lost, by where; the process's figures are inexact then."), float64(l.Count), c.of(p, "where", l.Where)...)
	}
	c.send(ch, counter("memwatch_stack_unresolved_total", "Stacks that end early: the chain of frame pointers was broken, and the stack could not be taken otherwise."),
		float64(p.Kernel.Unwalked), c.of(p)...)
}

func (c *collector) device(ch chan<- prometheus.Metric, d *heap.DeviceState) {
	labels := []string{"device", fmt.Sprint(d.Device), "name", d.Name}
	c.send(ch, gauge("memwatch_device_total_bytes", "Bytes that the device has."), float64(d.Total), labels...)
	c.send(ch, gauge("memwatch_device_used_bytes", "Bytes of the device that are used, by all processes and the driver."), float64(d.Used), labels...)
	if d.Busy >= 0 {
		c.send(ch, gauge("memwatch_device_busy_percent", "Part of the latest sample during which a kernel ran."), float64(d.Busy), labels...)
	}
	if d.Full > 0 {
		c.send(ch, gauge("memwatch_device_full_seconds", "Seconds until the device is full if it goes on so; absent if it does not fill."), float64(d.Full)/1e9, labels...)
	}
}
