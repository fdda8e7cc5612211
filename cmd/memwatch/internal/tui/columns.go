package tui

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// A column of the list of processes.
type column struct {
	title string
	width int  // cells
	left  bool // what it holds begins at its left edge
	rank  int  // the highest gives way first; 0: it stays
	text  func(p *heap.Process) string
}

// cell gives a column's text the column's width.
func (c *column) cell(s string) string {
	if pad := c.width - lipgloss.Width(s); !c.left && pad > 0 {
		return strings.Repeat(" ", pad) + s
	}
	return fit(s, c.width)
}

// leastHistory and mostHistory are how many samples the list of processes shows.
const leastHistory, mostHistory = 7, 52

// columns returns those of the list of processes that have room beside one another. What is left is the history's.
func (m *Model) columns() []column {
	name := 12
	if m.width >= 110 {
		name = 20
	}
	held := func(p *heap.Process) int64 {
		if p.Exited {
			return p.AtExit
		}
		return p.Live
	}
	objects := func(p *heap.Process) string {
		if p.Exited {
			return fmt.Sprint(p.AtExitObjects)
		}
		return fmt.Sprint(p.Objects)
	}
	all := []column{
		{"PID", 7, false, 0, func(p *heap.Process) string { return fmt.Sprint(p.PID) }},
		{" PROCESS", name + 1, true, 0, func(p *heap.Process) string { return " " + render.Clean(p.Name) }},
		{"LIVE", 10, false, 0, func(p *heap.Process) string { return m.live(p, held(p)) }},
		{"PEAK", 10, false, 5, func(p *heap.Process) string { return m.live(p, p.Peak) }},
		{"OBJECTS", 7, false, 4, objects},
		{"RATE", 11, false, 1, func(p *heap.Process) string { return m.size(p.Rate) + "/s" }},
		{"STATE", 7, true, 3, render.State},
		{"HISTORY", leastHistory, true, 2, nil},
		{"DEVICES", 7, true, 6, deviceList},
	}
	taken := func() (n int) {
		for _, c := range all {
			n += c.width + 1
		}
		return n - 1
	}
	for rank := 6; rank > 0 && taken() > m.width; rank-- {
		all = slices.DeleteFunc(all, func(c column) bool { return c.rank == rank })
	}
	if i := slices.IndexFunc(all, func(c column) bool { return c.text == nil }); i >= 0 {
		h := &all[i]
		h.width += max(min(m.width-taken(), mostHistory-leastHistory), 0)
		h.text = func(p *heap.Process) string { return render.Spark(p.History, h.width) }
	}
	return all
}

// deviceList names the devices of a process.
func deviceList(p *heap.Process) string {
	var all []string
	for _, d := range p.Devices {
		if d.Device == heap.NoDevice {
			all = append(all, "?")
		} else {
			all = append(all, fmt.Sprint(d.Device))
		}
	}
	return strings.Join(all, ",")
}
