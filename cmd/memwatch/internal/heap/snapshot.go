package heap

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// A Snapshot is the heap at one time. It shares nothing with the Heap.
type Snapshot struct {
	Time      int64         `json:"time"`   // nanoseconds, of the events' clock
	Events    uint64        `json:"events"` // applied so far
	Lost      uint64        `json:"lost"`   // events lost in all processes
	Untracked uint64        `json:"untracked"`
	Bad       uint64        `json:"bad"`
	Processes []Process     `json:"processes"`
	Devices   []DeviceState `json:"devices,omitempty"` // as the driver says; none if it is not asked
	Limits    string        `json:"limits,omitempty"`  // what cannot be seen for want of probes, in words
}

// A Process is what is known of one.
type Process struct {
	PID     uint32 `json:"pid"`
	Start   uint64 `json:"start"`
	Name    string `json:"name"`
	Exited  bool   `json:"exited"`
	Joined  bool   `json:"joined"`  // it ran before it was watched
	Inexact bool   `json:"inexact"` // events were lost: numbers may be too low, or too high
	AtLeast bool   `json:"atLeast"` // the same, under its name of before
	ByTable bool   `json:"byTable"` // own memory is what its table tells: no driver's was seen
	First   int64  `json:"first"`   // nanoseconds, as Time
	Last    int64  `json:"last"`
	Events  uint64 `json:"events"`

	Live          int64 `json:"live"` // own bytes
	Peak          int64 `json:"peak"`
	PeakAt        int64 `json:"peakAt"`
	AtExit        int64 `json:"atExit"` // own bytes when it exited
	Objects       int64 `json:"objects"`
	AtExitObjects int64 `json:"atExitObjects"`
	Rate          int64 `json:"rate"`   // bytes asked for in a second
	Growth        int64 `json:"growth"` // by how much Live rises in a second; less than 0: it falls
	// nanoseconds until a device is full at this rate; 0: not known
	Full     int64         `json:"full"`
	Mapped   int64         `json:"mapped"` // bytes of physical memory that have addresses
	Maps     int           `json:"maps"`
	Classes  []ClassTotal  `json:"classes"`
	Devices  []DeviceTotal `json:"devices"`
	Explicit Freed         `json:"freedExplicit"`
	ByNet    Freed         `json:"freedLate"`
	Context  Freed         `json:"freedContext"`
	Exit     Freed         `json:"freedExit"`
	Unseen   Freed         `json:"freedUnseen"`
	Failures []Failure     `json:"failures"`
	Undone   uint64        `json:"undone"` // frees that failed
	Unknown  Unknown       `json:"unknown"`
	Dropped  uint64        `json:"dropped"` // what did not fit into the bounds
	Lost     []LostTotal   `json:"lost"`
	Kernel   KernelTotals  `json:"kernel"`
	Place    Place         `json:"place"`
	// bytes as the driver counts, with contexts and code; 0: unknown
	Used    int64        `json:"driverUsed"`
	OOM     *OutOfMemory `json:"outOfMemory,omitempty"`
	History []int64      `json:"history"` // live bytes, one a sample, the oldest first
	Notes   []string     `json:"notes"`   // what is not shown as it might be, and why
	Sites   []Site       `json:"sites"`
	Hidden  int          `json:"hidden"` // sites that the query left out
	// what its tables say besides, where only they were read
	Table any `json:"table,omitempty"`
}

// A ClassTotal is what a process has in one class.
type ClassTotal struct {
	Class string `json:"class"`
	Own   bool   `json:"own"` // it is part of the process's live bytes
	Tally
	AtExit        int64 `json:"atExit"` // bytes when the process exited
	AtExitObjects int64 `json:"atExitObjects"`
}

// A DeviceTotal is what a process has on one device; -1 stands for an unknown one.
type DeviceTotal struct {
	Device int32 `json:"device"`
	Live   int64 `json:"live"`
}

// A Failure counts allocations that failed with a code.
type Failure struct {
	Code  int32  `json:"code"`
	Count uint64 `json:"count"`
}

// Unknown counts calls about memory that was there before the process was watched,
// or whose allocation was lost.
type Unknown struct {
	Frees   uint64 `json:"frees"`
	Handles uint64 `json:"handles"`
}

// A LostTotal counts events that were lost in one place.
type LostTotal struct {
	Where string `json:"where"`
	Count uint64 `json:"count"`
}

// KernelTotals are the books that the probes keep themselves: they are right when
// events are lost.
type KernelTotals struct {
	Bytes       uint64 `json:"bytes"` // asked for
	Allocations uint64 `json:"allocations"`
	Frees       uint64 `json:"frees"`
	Walked      uint64 `json:"walked"`   // stacks that frame pointers do not tell, taken otherwise
	Unwalked    uint64 `json:"unwalked"` // and those that were not: they end early
}

// OutOfMemory is a picture of the moment when an allocation failed for want of memory.
type OutOfMemory struct {
	Time     int64  `json:"time"`
	Function string `json:"function"`
	Asked    uint64 `json:"asked"` // bytes
	Live     int64  `json:"live"`  // bytes
	Sites    []Site `json:"sites"`
}

// A Site is a call stack and what it allocated in one class.
type Site struct {
	Stack  uint64  `json:"stack"`
	Class  string  `json:"class"`
	Own    bool    `json:"own"`
	Counts bool    `json:"counts"` // where bytes are added up by who wanted them: see segment.go
	Title  string  `json:"title"`  // the program's own innermost frame; of the JSON only
	Frames []Frame `json:"frames"` // innermost first; none if the stack is not known
	Named  int     `json:"-"`      // the frame that names it, see Name
	Tally
	Explicit      Freed `json:"freedExplicit"`
	ByNet         Freed `json:"freedLate"`
	Estimate      bool  `json:"estimate"` // the process's own numbers, from samples
	AtExitBytes   int64 `json:"atExitBytes"`
	AtExitObjects int64 `json:"atExitObjects"`
	Oldest        int64 `json:"oldest"` // nanoseconds; age of the oldest live allocation
	// nanoseconds; half of the freed lived less, within a factor of 2
	Median     int64    `json:"median"`
	OldBytes   int64    `json:"oldBytes"`   // no less than this is live and older than the query asks
	OldAtMost  int64    `json:"oldAtMost"`  // and no more: unequal only where the process tells sums
	OldObjects int64    `json:"oldObjects"` // as OldBytes
	Sizes      []Size   `json:"sizes"`      // of the live allocations
	Growth     int64    `json:"growth"`     // as of a process
	History    []int64  `json:"history"`
	Suspect    []string `json:"suspect"` // reasons to take it for a leak
}

// A Size counts live allocations of up to Max bytes, and more than half of that.
type Size struct {
	Max   uint64 `json:"max"`
	Count uint32 `json:"count"`
}

// A Query says what a Snapshot shall hold. The zero Query asks for everything.
type Query struct {
	PIDs     []uint32      // only these; none: all
	Top      int           // most sites of a process; 0: all
	Older    time.Duration // only sites with live allocations at least so old, and OldBytes of those
	Suspects bool          // only suspects
	Keep     bool          // suspects are no part of Top: they stay
	NoSites  bool
}

// Snapshot copies what q asks for. Processes are ordered by live bytes, those that
// have exited last.
func (h *Heap) Snapshot(q Query) *Snapshot {
	s := &Snapshot{Time: h.now, Events: h.events, Lost: h.lost, Untracked: h.early, Bad: h.bad}
	s.Devices = h.devices()
	for _, p := range h.procs {
		if len(q.PIDs) == 0 || slices.Contains(q.PIDs, p.pid) {
			s.Processes = append(s.Processes, p.snapshot(q))
		}
	}
	for _, p := range h.exited {
		if len(q.PIDs) == 0 || slices.Contains(q.PIDs, p.pid) {
			s.Processes = append(s.Processes, p.snapshot(q))
		}
	}
	slices.SortStableFunc(s.Processes, func(a, b Process) int {
		if a.Exited != b.Exited {
			if a.Exited {
				return 1
			}
			return -1
		}
		return cmp.Or(-cmp.Compare(a.Live, b.Live), -cmp.Compare(a.AtExit, b.AtExit), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Start, b.Start))
	})
	return s
}

func (p *process) snapshot(q Query) Process {
	out := Process{
		PID: p.pid, Start: p.start, Name: p.name, Exited: p.exited, Joined: p.joined,
		First: p.first, Last: p.last, Events: p.events,
		Live: p.live, Peak: p.peak, PeakAt: p.peakAt, AtExit: p.atExit,
		Mapped: p.mapped, Maps: len(p.maps),
		Explicit: p.finished(Explicit), ByNet: p.finished(Late), Context: p.finished(Context), Exit: p.finished(Exited), Unseen: p.finished(Replaced),
		Undone: p.undone, Unknown: p.unknown, Dropped: p.dropped, Kernel: p.kernel, Place: p.place, Used: p.usedInAll(), OOM: p.oom,
		History: slices.Clone(p.history.at), Rate: p.rate(), Notes: slices.Clone(p.notes),
	}
	if !p.exited {
		out.Growth = p.low.growth(p.h.opts.Interval)
		out.Full = p.full(out.Growth)
	}
	if p.byTable() {
		b := &p.classes[Buffer]
		out.ByTable, out.Live, out.Peak, out.AtExit = true, b.Live, b.Peak, p.heldAtExit[Buffer].bytes
	}
	for c := range NumClasses {
		if t := p.classes[c]; t.AllocObjects > 0 {
			own := c.Own() || out.ByTable && c == Buffer
			out.Classes = append(out.Classes, ClassTotal{Class: c.String(), Own: own, Tally: t, AtExit: p.heldAtExit[c].bytes, AtExitObjects: p.heldAtExit[c].objects})
			if own {
				out.Objects += t.Objects
				out.AtExitObjects += p.heldAtExit[c].objects
			}
		}
	}
	for _, d := range slices.Sorted(maps.Keys(p.onDevice)) {
		out.Devices = append(out.Devices, DeviceTotal{Device: d, Live: p.onDevice[d]})
	}
	for _, c := range slices.Sorted(maps.Keys(p.fails)) {
		out.Failures = append(out.Failures, Failure{Code: c, Count: p.fails[c]})
	}
	for _, w := range slices.Sorted(maps.Keys(p.lost)) {
		out.Lost = append(out.Lost, LostTotal{Where: w, Count: p.lost[w]})
	}
	out.Inexact = len(p.lost) > 0 || p.dropped > 0
	out.AtLeast = out.Inexact
	if !q.NoSites {
		out.Sites = p.rows(q)
		out.Hidden = len(p.sites) - len(out.Sites)
	}
	return out
}

// finished returns what ended in a way, seen or told.
func (p *process) finished(how How) Freed {
	seen, told := p.hows[how], p.toldHows[how]
	return Freed{seen.Bytes + told.Bytes, seen.Objects + told.Objects}
}

// rate returns the bytes asked for in a second, over the last five samples. What was asked for is less than
// before when a table is gone.
func (p *process) rate() int64 {
	r := p.rates.at
	if p.exited || len(r) < 2 {
		return 0
	}
	n := min(len(r)-1, 5)
	sum := int64(0)
	for i := len(r) - n; i < len(r); i++ {
		sum += max(r[i]-r[i-1], 0)
	}
	return int64(float64(sum) / (float64(n) * p.h.opts.Interval.Seconds()))
}

// rows returns the sites that q asks for: those that count first, and then the process's own, the largest
// first.
func (p *process) rows(q Query) []Site {
	type ranked struct {
		*site
		rank int
	}
	var chosen []ranked
	for _, s := range p.sites {
		if q.Older > 0 && p.old(s, q).most.Objects == 0 || q.Suspects && len(p.suspect(s)) == 0 {
			continue
		}
		rank := 2
		switch {
		case p.counts(s):
			rank = 0
		case p.own(s):
			rank = 1
		}
		chosen = append(chosen, ranked{s, rank})
	}
	slices.SortFunc(chosen, func(a, b ranked) int { return cmp.Or(a.rank-b.rank, compareSites(a.site, b.site)) })
	if q.Top > 0 && len(chosen) > q.Top {
		more := chosen[q.Top:]
		chosen = chosen[:q.Top:q.Top]
		for _, s := range more {
			if q.Keep && len(p.suspect(s.site)) > 0 {
				chosen = append(chosen, s)
			}
		}
	}
	rows := make([]Site, 0, len(chosen))
	names := p.nameSites()
	for _, s := range chosen {
		row := p.row(s.site, q)
		row.Own, row.Counts, row.Named = p.own(s.site), s.rank == 0, names[s.key]
		rows = append(rows, row)
	}
	return rows
}

// old returns what of a site is as old as q asks: all of it if q does not.
func (p *process) old(s *site, q Query) (h held) {
	if q.Older <= 0 {
		h.least = Freed{Bytes: uint64(max(s.Live, 0)), Objects: uint64(max(s.Objects, 0))}
		h.most = h.least
		return h
	}
	return s.older(p.h.now-int64(q.Older)+1, forQuery)
}

// row copies a site.
func (p *process) row(s *site, q Query) Site {
	old := p.old(s, q)
	row := Site{
		Stack: s.key.stack, Class: s.key.class.String(),
		Frames: p.stacks[s.key.stack], Tally: s.Tally,
		Explicit: s.hows[Explicit], ByNet: s.hows[Late], Estimate: s.estimate,
		AtExitBytes: s.AtExitBytes, AtExitObjects: s.AtExitObjects,
		Median: s.medianLife(), OldBytes: int64(old.least.Bytes), OldObjects: int64(old.least.Objects), OldAtMost: int64(old.most.Bytes),
		History: slices.Clone(s.history.at), Suspect: p.suspect(s),
	}
	if !p.exited && !p.segment(s) {
		row.Growth = s.low.growth(p.h.opts.Interval)
	}
	if s.first != nil {
		row.Oldest = max(p.h.now-s.first.at, 0)
	}
	for i, n := range s.sizes {
		if n > 0 {
			row.Sizes = append(row.Sizes, Size{Max: 1 << i, Count: n})
		}
	}
	return row
}

// compareSites orders sites by what they hold or held, so that equal heaps give
// equal output.
func compareSites(a, b *site) int {
	return cmp.Or(
		-cmp.Compare(a.Live, b.Live),
		-cmp.Compare(a.AtExitBytes, b.AtExitBytes),
		-cmp.Compare(a.AllocBytes, b.AllocBytes),
		cmp.Compare(a.key.class.String(), b.key.class.String()),
		cmp.Compare(a.key.stack, b.key.stack),
	)
}
