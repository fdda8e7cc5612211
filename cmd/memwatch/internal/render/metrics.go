package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// Metrics writes a snapshot in Prometheus's text form. Call sites are no labels:
// their number has no bound. hits are the probes' own, by function, and may be nil.
func Metrics(w io.Writer, s *heap.Snapshot, hits map[string]uint64) error {
	m := &metrics{}
	labels := func(p *heap.Process, more ...string) string {
		l := fmt.Sprintf(`pid="%d",comm="%s"`, p.PID, label(p.Name))
		for _, f := range [][2]string{{"container_id", p.Place.Container}, {"pod_uid", p.Place.PodUID}, {"namespace", p.Place.Namespace}, {"pod", p.Place.Pod}} {
			if f[1] != "" {
				l += fmt.Sprintf(`,%s="%s"`, f[0], label(f[1]))
			}
		}
		for i := 0; i < len(more); i += 2 {
			l += fmt.Sprintf(`,%s="%s"`, more[i], label(more[i+1]))
		}
		return l
	}
	each := func(do func(p *heap.Process)) {
		for i := range s.Processes {
			if !s.Processes[i].Exited {
				do(&s.Processes[i])
			}
		}
	}
	m.family("memwatch_live_bytes", "gauge", "Bytes allocated and not freed, by class; classes that are not the process's own have own=\"false\".")
	each(func(p *heap.Process) {
		for _, c := range p.Classes {
			m.sample("memwatch_live_bytes", labels(p, "class", c.Class, "own", fmt.Sprint(c.Own)), c.Live)
		}
	})
	m.family("memwatch_live_allocations", "gauge", "Allocations that were not freed, by class.")
	each(func(p *heap.Process) {
		for _, c := range p.Classes {
			m.sample("memwatch_live_allocations", labels(p, "class", c.Class, "own", fmt.Sprint(c.Own)), c.Objects)
		}
	})
	m.family("memwatch_device_live_bytes", "gauge", "Own live bytes by device; -1 is an unknown one.")
	each(func(p *heap.Process) {
		for _, d := range p.Devices {
			m.sample("memwatch_device_live_bytes", labels(p, "device", fmt.Sprint(d.Device)), d.Live)
		}
	})
	devices := func(name, help string, of func(d *heap.DeviceState) int64) {
		if len(s.Devices) == 0 {
			return
		}
		m.family(name, "gauge", help)
		for i := range s.Devices {
			if v := of(&s.Devices[i]); v >= 0 {
				m.sample(name, fmt.Sprintf(`device="%d",name="%s"`, s.Devices[i].Device, label(s.Devices[i].Name)), v)
			}
		}
	}
	devices("memwatch_device_total_bytes", "Bytes that the device has.", func(d *heap.DeviceState) int64 { return d.Total })
	devices("memwatch_device_used_bytes", "Bytes of the device that are used, by all processes and the driver.", func(d *heap.DeviceState) int64 { return d.Used })
	devices("memwatch_device_busy_percent", "Part of the latest sample during which a kernel ran.", func(d *heap.DeviceState) int64 { return int64(d.Busy) })
	m.family("memwatch_driver_used_bytes", "gauge", "Bytes that the driver itself counts for the process, with contexts, code, and memory from before memwatch.")
	each(func(p *heap.Process) {
		if p.Used > 0 {
			m.sample("memwatch_driver_used_bytes", labels(p), p.Used)
		}
	})
	m.family("memwatch_high_water_bytes", "gauge", "The most own bytes that were live at once.")
	each(func(p *heap.Process) { m.sample("memwatch_high_water_bytes", labels(p), p.Peak) })
	m.family("memwatch_allocated_bytes_total", "counter", "Bytes ever allocated, by class.")
	each(func(p *heap.Process) {
		for _, c := range p.Classes {
			m.sample("memwatch_allocated_bytes_total", labels(p, "class", c.Class), int64(c.AllocBytes))
		}
	})
	m.family("memwatch_freed_bytes_total", "counter", "Bytes freed, by how.")
	each(func(p *heap.Process) {
		for _, f := range []struct {
			how   string
			bytes uint64
		}{{"explicit", p.Explicit.Bytes}, {"late", p.ByNet.Bytes}, {"context", p.Context.Bytes}, {"exit", p.Exit.Bytes}, {"unseen", p.Unseen.Bytes}} {
			m.sample("memwatch_freed_bytes_total", labels(p, "how", f.how), int64(f.bytes))
		}
	})
	m.family("memwatch_allocation_failures_total", "counter", "Allocations that failed, by the driver's code.")
	each(func(p *heap.Process) {
		for _, f := range p.Failures {
			m.sample("memwatch_allocation_failures_total", labels(p, "code", fmt.Sprint(f.Code)), int64(f.Count))
		}
	})
	m.family("memwatch_unknown_frees_total", "counter", "Frees of memory whose allocation was not seen.")
	each(func(p *heap.Process) { m.sample("memwatch_unknown_frees_total", labels(p), int64(p.Unknown.Frees)) })
	m.family("memwatch_leak_suspects", "gauge", "Call sites with a reason to take them for a leak.")
	each(func(p *heap.Process) {
		n := 0
		for _, t := range p.Sites {
			if len(t.Suspect) > 0 {
				n++
			}
		}
		m.sample("memwatch_leak_suspects", labels(p), int64(n))
	})
	m.family("memwatch_events_lost_total", "counter", "Events that were lost, by where; the process's numbers are inexact then.")
	each(func(p *heap.Process) {
		for _, l := range p.Lost {
			m.sample("memwatch_events_lost_total", labels(p, "where", l.Where), int64(l.Count))
		}
	})
	m.family("memwatch_stack_unresolved_total", "counter", "Stacks of Go programs that end in C: the chain was broken, and the goroutine's could not be taken.")
	each(func(p *heap.Process) {
		m.sample("memwatch_stack_unresolved_total", labels(p), int64(p.Kernel.Unwalked))
	})
	m.family("memwatch_events_total", "counter", "Events applied.")
	m.sample("memwatch_events_total", "", int64(s.Events))
	if hits != nil {
		m.family("memwatch_probe_hits_total", "counter", "Calls of probed functions.")
		for _, f := range sortedKeys(hits) {
			m.sample("memwatch_probe_hits_total", `func="`+label(f)+`"`, int64(hits[f]))
		}
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}

type metrics struct{ b strings.Builder }

func (m *metrics) family(name, kind, help string) {
	fmt.Fprintf(&m.b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (m *metrics) sample(name, labels string, v int64) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(&m.b, "%s%s %d\n", name, labels, v)
}

// label cleans a label's value, in which quotes and backslashes mean something.
func label(s string) string { return cleanOf(s, `"\`) }
