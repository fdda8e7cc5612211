package tui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// listProcesses returns the processes that the filter leaves, in order.
func (m *Model) listProcesses() []*heap.Process {
	if m.frame.Snapshot == nil {
		return nil
	}
	var list []*heap.Process
	for i := range m.frame.Snapshot.Processes {
		p := &m.frame.Snapshot.Processes[i]
		if m.filter == "" || strings.Contains(strings.ToLower(p.Name), strings.ToLower(m.filter)) {
			list = append(list, p)
		}
	}
	by := orders[processes][m.order[processes]]
	slices.SortStableFunc(list, func(a, b *heap.Process) int {
		switch by {
		case "peak":
			return -cmp.Compare(a.Peak, b.Peak)
		case "rate":
			return -cmp.Compare(a.Rate, b.Rate)
		case "objects":
			return -cmp.Compare(a.Objects, b.Objects)
		case "pid":
			return cmp.Compare(a.PID, b.PID)
		case "name":
			return cmp.Compare(a.Name, b.Name)
		}
		return 0 // the snapshot's order: live, the exited last
	})
	if m.invert[processes] {
		slices.Reverse(list)
	}
	return list
}

// A row is a site and the process that it is of.
type row struct {
	*heap.Site
	process *heap.Process
}

// listSites returns the sites of the page that the filter leaves, in order.
func (m *Model) listSites() []row {
	if m.frame.Snapshot == nil {
		return nil
	}
	var list []row
	if m.page == suspects {
		for i := range m.frame.Snapshot.Processes {
			list = append(list, m.listSitesOf(&m.frame.Snapshot.Processes[i])...)
		}
		list = slices.DeleteFunc(list, func(r row) bool { return len(r.Suspect) == 0 })
		slices.SortStableFunc(list, func(a, b row) int { return -cmp.Compare(a.Live, b.Live) })
		if m.invert[suspects] {
			slices.Reverse(list)
		}
		return list
	}
	p := m.process()
	if p == nil {
		return nil
	}
	list = m.listSitesOf(p)
	by := orders[sites][m.order[sites]]
	slices.SortStableFunc(list, func(a, b row) int {
		switch by {
		case "objects":
			return -cmp.Compare(a.Objects, b.Objects)
		case "allocated":
			return -cmp.Compare(a.AllocBytes, b.AllocBytes)
		case "oldest":
			return -cmp.Compare(a.Oldest, b.Oldest)
		}
		return 0
	})
	if m.invert[sites] {
		slices.Reverse(list)
	}
	return list
}

// listSitesOf returns the sites of a process that the filter leaves.
func (m *Model) listSitesOf(p *heap.Process) (list []row) {
	for i := range p.Sites {
		s := &p.Sites[i]
		if m.filter == "" || strings.Contains(strings.ToLower(render.Title(s)+" "+s.Class), strings.ToLower(m.filter)) {
			list = append(list, row{s, p})
		}
	}
	return list
}
