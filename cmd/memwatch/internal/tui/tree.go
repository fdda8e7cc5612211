package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// A node is a function on the way to allocations, and what is live below it.
type node struct {
	name     string
	live     int64
	children map[string]*node
}

// A branch is a line of the tree: functions that call only one another stand in one.
type branch struct {
	depth int
	name  string
	live  int64
}

// branches returns the own live bytes of the chosen process by stack, the outermost
// function first, largest first.
func (m *Model) branches() []branch {
	p := m.process()
	if p == nil {
		return nil
	}
	root := &node{name: render.Clean(p.Name)}
	for _, s := range m.listSitesOf(p) {
		live := s.Live
		if p.Exited {
			live = s.AtExitBytes
		}
		if s.Own && live > 0 {
			root.add(s.Site, live)
		}
	}
	var all []branch
	root.walk(0, &all)
	return all
}

// add adds a site's bytes along its stack.
func (n *node) add(s *heap.Site, live int64) {
	n.live += live
	for i := len(s.Frames) - 1; i >= 0; i-- {
		name := render.Clean(s.Frames[i].Func)
		if name == "" {
			name = fmt.Sprintf("%#x", s.Frames[i].PC)
		}
		n = n.child(name)
		n.live += live
	}
	last := "[" + s.Class + "]"
	if len(s.Frames) == 0 {
		last = render.Title(s) + " " + last
	}
	n.child(last).live += live
}

func (n *node) child(name string) *node {
	if n.children == nil {
		n.children = make(map[string]*node)
	}
	c := n.children[name]
	if c == nil {
		c = &node{name: name}
		n.children[name] = c
	}
	return c
}

// walk appends the lines of n and what is below it.
func (n *node) walk(depth int, to *[]branch) {
	chain := []string{n.name}
	for len(n.children) == 1 {
		for _, n = range n.children {
			chain = append(chain, n.name)
		}
	}
	*to = append(*to, branch{depth, strings.Join(chain, " › "), n.live})
	below := slices.SortedFunc(maps.Values(n.children), func(a, b *node) int {
		return cmp.Or(-cmp.Compare(a.live, b.live), cmp.Compare(a.name, b.name))
	})
	for _, c := range below {
		c.walk(depth+1, to)
	}
}

// viewTree draws the tree.
func (m *Model) viewTree() []string {
	p := m.process()
	if p == nil {
		return []string{m.head("memwatch"), "", "the process is gone"}
	}
	all := m.branches()
	total := int64(0)
	if len(all) > 0 {
		total = all[0].live
	}
	lines := []string{
		m.head(fmt.Sprintf("%s (%d)   %s by call stack", render.Clean(p.Name), p.PID, m.live(p, total))),
		faint.Render(fit(fmt.Sprintf("%10s %5s  %s", "LIVE", "SHARE", "CALLS"), m.width)),
	}
	if total == 0 {
		return append(lines, "", "nothing is live")
	}
	for i := m.scroll; i < min(len(all), m.scroll+m.rows()); i++ {
		b := all[i]
		front := fmt.Sprintf("%10s %4.0f%%  %s", m.size(b.live), 100*float64(b.live)/float64(total), strings.Repeat("  ", min(b.depth, 20)))
		lines = append(lines, m.line(i, front+tail(b.name, max(m.width-lipgloss.Width(front), 10)), lipgloss.NewStyle()))
	}
	return lines
}
