package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// passes reports whether a text has every word of the page's filter, and none that stands after a "!".
func (m *Model) passes(text string) bool {
	text = strings.ToLower(text)
	for word := range strings.FieldsSeq(strings.ToLower(m.filter[m.page])) {
		without, not := strings.CutPrefix(word, "!")
		if not && without == "" { // it is being typed
			continue
		}
		if strings.Contains(text, without) == not {
			return false
		}
	}
	return true
}

// listProcesses returns the processes that the filter leaves, in order.
func (m *Model) listProcesses() []*heap.Process {
	if m.frame.Snapshot == nil {
		return nil
	}
	var list []*heap.Process
	for i := range m.frame.Snapshot.Processes {
		p := &m.frame.Snapshot.Processes[i]
		if m.passes(fmt.Sprint(p.Name, " ", p.PID, " ", render.State(p), " ", p.Place)) {
			list = append(list, p)
		}
	}
	sorted(list, m.processColumns(), m.orderOf(processes), m.invert[processes])
	return list
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
		list = suspectsOf(list)
	} else if p := m.process(); p != nil {
		list = m.listSitesOf(p)
	}
	sorted(list, m.siteColumns(m.page), m.orderOf(m.page), m.invert[m.page])
	return list
}

// suspectsOf leaves those that may be leaks, the largest first.
func suspectsOf(list []row) []row {
	list = slices.DeleteFunc(list, func(r row) bool { return !isSuspect(r) })
	slices.SortStableFunc(list, most(func(r row) int64 { n, _ := r.held(); return n }))
	return list
}

// listSitesOf returns the sites of a process that the filter leaves.
func (m *Model) listSitesOf(p *heap.Process) (list []row) {
	for i := range p.Sites {
		s := &p.Sites[i]
		text := render.Title(s) + " " + s.Class
		if m.page == suspects {
			text += fmt.Sprint(" ", p.Name, " ", p.PID, " ", s.Suspect)
		}
		if m.passes(text) {
			list = append(list, row{s, p})
		}
	}
	return list
}
