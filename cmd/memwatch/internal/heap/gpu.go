package heap

import (
	"maps"
	"slices"
	"time"
)

// A DeviceState is what a device holds, as the driver says, and how much of that is known. Sizes are bytes.
type DeviceState struct {
	Device  int32   `json:"device"`
	Name    string  `json:"name"`
	Total   int64   `json:"total"`
	Used    int64   `json:"used"`    // of all processes and the driver's own
	Live    int64   `json:"live"`    // of Used: own live bytes of processes that are watched
	Counted int64   `json:"counted"` // of Used: what the driver counts for those processes, no less than Live
	Busy    int     `json:"busy"`    // percent of the time during which a kernel ran; -1: not known
	Full    int64   `json:"full"`    // nanoseconds until it is full at this rate; 0: it does not grow
	History []int64 `json:"history"` // used bytes, one a sample, the oldest first
}

// gpu is what is known of a device.
type gpu struct {
	name        string
	total, used int64
	busy        int
	history     ring
}

// maxGPUs bounds the devices.
const maxGPUs = 64

// gpu takes an event of a device.
func (h *Heap) gpu(e *Event) {
	g := h.gpus[e.Device]
	if e.Addr > maxSize || e.Size > e.Addr || g == nil && len(h.gpus) >= maxGPUs {
		h.bad++
		return
	}
	if g == nil {
		g = new(gpu)
		h.gpus[e.Device] = g
	}
	g.name, g.total, g.used, g.busy = e.Text, int64(e.Addr), int64(e.Size), -1
	if e.Aux <= 100 {
		g.busy = int(e.Aux)
	}
}

// useOn takes what the driver counts for a process on a device.
func (p *process) useOn(e *Event) {
	switch {
	case e.Size > maxSize:
	case e.Size == 0:
		delete(p.used, e.Device)
	default:
		if p.used == nil {
			p.used = make(map[int32]int64)
		}
		if _, ok := p.used[e.Device]; ok || len(p.used) < maxGPUs {
			p.used[e.Device] = int64(e.Size)
		}
	}
}

func (p *process) usedInAll() (sum int64) {
	for _, n := range p.used {
		sum += n
	}
	return sum
}

// liveOn returns the own live bytes of a process on a device as the driver numbers it. Programs may number
// theirs otherwise: one that uses a single device has all on that.
func (p *process) liveOn(device int32) int64 {
	if len(p.used) == 1 {
		if _, ok := p.used[device]; ok {
			return p.live
		}
		return 0
	}
	return p.onDevice[device]
}

// full returns the nanoseconds until the first of a process's devices is full if only the process grows, at
// its present growth; 0: never, or it is not known.
func (p *process) full(growth int64) (soonest int64) {
	for i, g := range p.h.gpus {
		if p.liveOn(i) > 0 {
			if t := untilFull(g.total-g.used, float64(growth)); t > 0 && (soonest == 0 || t < soonest) {
				soonest = t
			}
		}
	}
	return soonest
}

// devices returns what is known of all devices.
func (h *Heap) devices() (all []DeviceState) {
	for _, i := range slices.Sorted(maps.Keys(h.gpus)) {
		g := h.gpus[i]
		d := DeviceState{Device: i, Name: g.name, Total: g.total, Used: g.used, Busy: g.busy, History: slices.Clone(g.history.at)}
		for _, p := range h.procs {
			live := p.liveOn(i)
			d.Live += live
			d.Counted += max(p.used[i], live)
		}
		// What the probes saw and what the driver said are of two moments.
		d.Live, d.Counted = min(d.Live, d.Used), min(d.Counted, d.Used)
		d.Full = untilFull(g.total-g.used, rise(g.history.at)*float64(time.Second)/float64(h.opts.Interval))
		all = append(all, d)
	}
	return all
}
