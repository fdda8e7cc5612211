package tui

import (
	"cmp"
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// wide is more than any terminal has.
const wide = 1 << 16

// most orders by a number, the largest first.
func most[T any, N cmp.Ordered](of func(T) N) func(a, b T) int {
	return func(a, b T) int { return cmp.Compare(of(b), of(a)) }
}

// least orders by what comes first.
func least[T any, N cmp.Ordered](of func(T) N) func(a, b T) int {
	return func(a, b T) int { return cmp.Compare(of(a), of(b)) }
}

// held returns what is live of a process, or was when it exited.
func held(p *heap.Process) (bytes, objects int64) {
	if p.Exited {
		return p.AtExit, p.AtExitObjects
	}
	return p.Live, p.Objects
}

// growthOfProcess is danger where it ends soon.
func growthOfProcess(p *heap.Process) lipgloss.Style {
	if ending(p.Full) {
		return danger
	}
	return growthStyle(p.Growth)
}

// processColumns returns those of the list of processes.
func (m *Model) processColumns() []column[*heap.Process] {
	type P = *heap.Process
	var devices, places bool
	if s := m.frame.Snapshot; s != nil {
		devices = len(s.Devices) > 0
		for i := range s.Processes {
			places = places || s.Processes[i].Place.String() != ""
		}
	}
	all := []column[P]{
		{title: " ", width: 1, text: func(p P, _ int) string { s, _ := mark(p); return s },
			style: func(p P) lipgloss.Style { _, s := mark(p); return s }},
		{title: "PID", width: 7, text: func(p P, _ int) string { return fmt.Sprint(p.PID) },
			order: least(func(p P) uint32 { return p.PID })},
		{title: "PROCESS", width: 12, most: 28, left: true, text: func(p P, cells int) string { return nameIn(p, cells) },
			order: least(func(p P) string { return p.Name })},
		{title: "LIVE", width: 10, text: func(p P, _ int) string { n, _ := held(p); return m.live(p, n) },
			order: func(a, b P) int { return 0 }}, // the snapshot's: what has exited is last
		{title: "GROWTH", width: 11, text: func(p P, _ int) string { return m.growth(p.Growth) }, style: growthOfProcess,
			order: most(func(p P) int64 { return p.Growth })},
		{title: "RATE", width: 10, rank: 4, text: func(p P, _ int) string { return m.size(p.Rate) + "/s" },
			order: most(func(p P) int64 { return p.Rate })},
		{title: "STATE", width: 7, left: true, rank: 5, text: func(p P, _ int) string { return render.State(p) }},
		{title: "OBJECTS", width: 8, rank: 6, text: func(p P, _ int) string { _, n := held(p); return fmt.Sprint(n) },
			order: most(func(p P) int64 { _, n := held(p); return n })},
		{title: "PEAK", width: 10, rank: 7, text: func(p P, _ int) string { return m.live(p, p.Peak) },
			order: most(func(p P) int64 { return p.Peak })},
		{title: "DEVICES", width: 7, left: true, rank: 8, text: func(p P, _ int) string { return deviceList(p) }},
		{title: "HISTORY", width: 8, most: 60, left: true, rank: 2, text: func(p P, cells int) string { return render.Spark(p.History, cells) },
			style: func(p P) lipgloss.Style {
				if p.Exited {
					return faint
				}
				return accent
			}},
	}
	if devices {
		all = append(all, column[P]{title: "FULL IN", width: 8, rank: 3, text: func(p P, _ int) string { return forecast(p.Full) },
			// 0, never, is last
			style: growthOfProcess, order: func(a, b P) int { return cmp.Compare(uint64(a.Full)-1, uint64(b.Full)-1) }})
	}
	if places {
		all = append(all, column[P]{title: "WHERE", width: 12, most: wide, left: true, rank: 9, text: func(p P, _ int) string { return render.Clean(p.Place.String()) }})
	}
	return all
}

// nameIn names a process, in few cells by its script alone.
func nameIn(p *heap.Process, cells int) string {
	name := render.Clean(p.Name)
	if _, script, ok := strings.Cut(name, " "); ok && lipgloss.Width(name) > cells {
		return front(script, cells)
	}
	return name
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

// A row is a site and the process that it is of.
type row struct {
	*heap.Site
	process *heap.Process
}

// held returns what is live of a site, or was when its process exited.
func (r row) held() (bytes, objects int64) {
	if r.process.Exited {
		return r.AtExitBytes, r.AtExitObjects
	}
	return r.Live, r.Objects
}

func isSuspect(r row) bool { return len(r.Suspect) > 0 }

// siteColumns returns those of the lists of sites: of one process, or the suspects of all.
func (m *Model) siteColumns(p page) []column[row] {
	warn := func(r row) lipgloss.Style {
		if isSuspect(r) && !r.process.Exited {
			return warning
		}
		return siteStyle(r)
	}
	all := []column[row]{
		{title: " ", width: 1, style: warn, text: func(r row, _ int) string {
			if isSuspect(r) {
				return "!"
			}
			return " "
		}},
		{title: "LIVE", width: 10, order: func(a, b row) int { return 0 }, text: func(r row, _ int) string {
			n, _ := r.held()
			if r.Estimate {
				return "~" + m.live(r.process, n)
			}
			return m.live(r.process, n)
		}},
		{title: "GROWTH", width: 11, text: func(r row, _ int) string { return m.growth(r.Growth) },
			style: func(r row) lipgloss.Style { return growthStyle(r.Growth) }, order: most(func(r row) int64 { return r.Growth })},
		{title: "OBJECTS", width: 8, rank: 5, text: func(r row, _ int) string { _, n := r.held(); return fmt.Sprint(n) },
			order: most(func(r row) int64 { _, n := r.held(); return n })},
		{title: "ALLOCATED", width: 10, rank: 7, text: func(r row, _ int) string { return m.size(int64(r.AllocBytes)) },
			order: most(func(r row) uint64 { return r.AllocBytes })},
		{title: "CLASS", width: 12, left: true, rank: 6, text: func(r row, _ int) string {
			if r.Own {
				return r.Class
			}
			return "(" + r.Class + ")"
		}},
		{title: "OLDEST", width: 8, rank: 4, text: func(r row, _ int) string { return render.Age(r.Oldest) },
			order: most(func(r row) int64 { return r.Oldest })},
		{title: "HISTORY", width: 12, left: true, rank: 3, text: func(r row, cells int) string { return render.Spark(r.History, cells) },
			style: func(r row) lipgloss.Style {
				if r.process.Exited {
					return faint
				}
				return accent
			}},
	}
	if p == suspects {
		all = append(all, column[row]{title: "PID", width: 7, rank: 6, text: func(r row, _ int) string { return fmt.Sprint(r.process.PID) }})
		all = append(all, column[row]{title: "PROCESS", width: 12, most: 20, left: true, rank: 1, order: least(func(r row) string { return r.process.Name }),
			text: func(r row, cells int) string { return nameIn(r.process, cells) }})
	}
	all = append(all, column[row]{title: "SITE", width: 34, most: 60, left: true, style: warn, order: least(func(r row) string { return render.Title(r.Site) }),
		text: func(r row, cells int) string { return tail(render.TitleIn(r.Site, cells), cells) }})
	if p == suspects || m.process() != nil && suspected(m.process()) > 0 {
		all = append(all, column[row]{title: "WHY", width: 24, most: wide, left: true, rank: 2, style: warn,
			text: whyIn})
	}
	return all
}

// whyIn returns the reasons to take a site for a leak, in few cells only what kind of reason each is.
func whyIn(r row, cells int) string {
	whole := render.Clean(strings.Join(r.Suspect, "; "))
	if lipgloss.Width(whole) <= cells {
		return whole
	}
	var kinds []string
	for _, why := range r.Suspect {
		kind, _, _ := strings.Cut(why, ":")
		kinds = append(kinds, render.Clean(kind))
	}
	return front(strings.Join(kinds, "; "), cells)
}

// siteStyle is the style of a site's row.
func siteStyle(r row) lipgloss.Style {
	if r.process.Exited || !r.Counts {
		return faint
	}
	return plain
}
