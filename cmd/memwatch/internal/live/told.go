package live

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/internal/probe"
)

// maxTold is the most sites of a process that are handed out: those with the most bytes.
const maxTold = 1000

// Told turns what the tables of a process say into events: first the whole, then the
// sites with the most bytes, each after its stack.
func Told(pid uint32, all []*probe.Snapshot, now int64) []heap.Event {
	whole := heap.Event{Op: heap.Told, Class: heap.Buffer, PID: pid, Time: now}
	var sites []heap.Event
	var stacks []heap.Event
	for _, s := range all {
		for i := range s.Accounts {
			a := &s.Accounts[i]
			whole.Addr += a.MadeBytes
			whole.Size += uint64(max(a.Live(), 0))
			whole.Aux += a.MadeObjects
			whole.Ctx += uint64(max(a.LiveObjects(), 0))
			whole.Pool += a.LateBytes
			whole.Stream += a.LateObjects
		}
		for i := range s.Sites {
			t := &s.Sites[i]
			e := heap.Event{
				Op: heap.Told, Class: heap.Buffer, PID: pid, Time: now, Stack: max(t.Hash, 1),
				Addr: t.AllocBytes, Size: uint64(max(t.Live(), 0)), Pool: t.LateBytes,
				Aux:    t.AllocObjects / probe.ObjectUnit,
				Ctx:    (t.AllocObjects - min(t.FreeObjects, t.AllocObjects)) / probe.ObjectUnit,
				Stream: t.LateObjects / probe.ObjectUnit,
			}
			if s.Rate != 1 {
				e.Code = 1
			}
			if ago := time.Since(t.Last); !t.Last.IsZero() && ago >= 0 {
				e.Begin = max(now-int64(ago), 1)
			}
			// The counters of a running program were not read at one instant, and parts of
			// an object are rounded.
			e.Size, e.Ctx = min(e.Size, e.Addr), min(e.Ctx, e.Aux)
			e.Pool, e.Stream = min(e.Pool, e.Addr-e.Size), min(e.Stream, e.Aux-e.Ctx)
			sites = append(sites, e)
			stacks = append(stacks, heap.Event{Op: heap.Stack, PID: pid, Time: now, Stack: e.Stack, Frames: frames(t.Stack)})
		}
	}
	order := make([]int, len(sites))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return -cmp.Compare(sites[a].Size, sites[b].Size) })
	events := []heap.Event{whole}
	for _, i := range order[:min(len(order), maxTold)] {
		events = append(events, stacks[i], sites[i])
	}
	return events
}

// frames reads a table's text of a stack: lines "function\tfile:line".
func frames(text string) []heap.Frame {
	var all []heap.Frame
	for line := range strings.Lines(text) {
		name, place, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		f := heap.Frame{Func: name}
		if at := strings.LastIndexByte(place, ':'); at >= 0 {
			f.File = place[:at]
			f.Line, _ = strconv.Atoi(place[at+1:])
			f.Line = max(f.Line, 0)
		}
		if all = append(all, f); len(all) == 64 {
			break
		}
	}
	return all
}
