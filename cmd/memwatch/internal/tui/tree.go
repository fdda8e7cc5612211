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
	growth   int64
	suspect  bool // some of it may be a leak
	children map[string]*node
}

// A branch is a line of the tree: functions that call only one another stand in one.
type branch struct {
	depth   int
	name    string
	live    int64
	growth  int64
	suspect bool
}

// branches returns the live bytes of the chosen process that count by stack, the outermost
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
		if s.Counts && live > 0 {
			root.add(s.Site, live)
		}
	}
	var all []branch
	root.walk(0, &all)
	return all
}

// add adds a site's bytes along its stack.
func (n *node) add(s *heap.Site, live int64) {
	n.took(s, live)
	for i := len(s.Frames) - 1; i >= 0; i-- {
		name := render.Clean(s.Frames[i].Func)
		if name == "" {
			name = fmt.Sprintf("%#x", s.Frames[i].PC)
		}
		n = n.child(name)
		n.took(s, live)
	}
	last := "[" + s.Class + "]"
	if len(s.Frames) == 0 {
		last = render.Title(s) + " " + last
	}
	n.child(last).took(s, live)
}

// took adds a site to what is below n.
func (n *node) took(s *heap.Site, live int64) {
	n.live += live
	n.growth += s.Growth
	n.suspect = n.suspect || len(s.Suspect) > 0
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
	*to = append(*to, branch{depth, strings.Join(chain, " › "), n.live, n.growth, n.suspect})
	below := slices.SortedFunc(maps.Values(n.children), func(a, b *node) int {
		return cmp.Or(-cmp.Compare(a.live, b.live), cmp.Compare(a.name, b.name))
	})
	for _, c := range below {
		c.walk(depth+1, to)
	}
}

// treeColumns returns those of the tree, of which so much is live.
func (m *Model) treeColumns(total int64) []column[branch] {
	warn := func(b branch) lipgloss.Style {
		if b.suspect {
			return warning
		}
		return plain
	}
	return []column[branch]{
		{title: " ", width: 1, style: warn, text: func(b branch, _ int) string {
			if b.suspect {
				return "!"
			}
			return " "
		}},
		{title: "LIVE", width: 10, text: func(b branch, _ int) string { return m.size(b.live) }},
		{title: "SHARE", width: 5, text: func(b branch, _ int) string { return fmt.Sprintf("%.0f%%", 100*float64(b.live)/float64(max(total, 1))) }},
		{title: "GROWTH", width: 11, rank: 1, text: func(b branch, _ int) string { return m.growth(b.growth) },
			style: func(b branch) lipgloss.Style { return growthStyle(b.growth) }},
		{title: "CALLS", width: 20, most: wide, left: true, style: warn, text: func(b branch, cells int) string {
			indent := strings.Repeat("  ", min(b.depth, cells/4))
			return indent + tail(b.name, cells-len(indent))
		}},
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
	columns := layout(m.treeColumns(total), m.width)
	lines := []string{
		m.head(fmt.Sprintf("%s (%d)   %s by call stack", render.Clean(p.Name), p.PID, m.live(p, total))),
		heads(columns, "", false, m.width),
	}
	if total == 0 {
		return append(lines, "", "nothing is live")
	}
	for i := m.scroll; i < min(len(all), m.scroll+m.rows()); i++ {
		lines = append(lines, drawRow(columns, all[i], i == m.cursor, plain, m.width))
	}
	return lines
}
