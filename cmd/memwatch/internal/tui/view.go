package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// View draws the Model.
func (m *Model) View() tea.View {
	v := tea.NewView(m.content())
	v.AltScreen = true
	v.WindowTitle = "memwatch"
	return v
}

// content returns the lines of the screen.
func (m *Model) content() string {
	var lines []string
	switch {
	case m.help:
		lines = m.viewHelp()
	case m.frame.Snapshot == nil:
		lines = []string{m.head("memwatch"), "", "waiting for the first numbers"}
	case m.page == processes:
		lines = m.viewProcesses()
	case m.page == site:
		lines = m.viewSite()
	case m.page == tree:
		lines = m.viewTree()
	default:
		lines = m.viewSites()
	}
	if len(lines) > m.height-1 {
		lines = lines[:m.height-1]
	}
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	return strings.Join(append(lines, m.foot()), "\n")
}

// fit gives plain text exactly n cells.
func fit(s string, n int) string {
	s = ansi.Truncate(s, n, "")
	return s + strings.Repeat(" ", n-lipgloss.Width(s))
}

// clip gives a line at most n cells; it may have colours.
func clip(s string, n int) string { return ansi.Truncate(s, n, "") }

// front gives s at most n cells, of its beginning.
func front(s string, n int) string { return ansi.Truncate(s, n, "…") }

// tail gives s at most n cells, of its end.
func tail(s string, n int) string {
	if over := lipgloss.Width(s) - n; over > 0 {
		return ansi.TruncateLeft(s, over+1, "…")
	}
	return s
}

// head draws the first line: what is shown, and at the right where it is from and whether all of it came.
func (m *Model) head(title string) string {
	if m.paused {
		title += "   PAUSED"
	}
	if f := m.filter[m.page]; f != "" || m.typing {
		title += "   /" + f
		if m.typing {
			title += "▏"
		}
	}
	t := m.frame.Status
	lost, style := "0 lost", faint
	if t.Lost > 0 {
		lost, style = fmt.Sprintf("%d LOST", t.Lost), warning
	}
	parts := []string{lost, fmt.Sprintf("%.0f events/s", t.Rate), render.Clean(t.Source)}
	if t.Overhead > 0 {
		parts = append(parts, fmt.Sprintf("overhead %.2f%%", 100*t.Overhead))
	}
	if m.frame.Snapshot == nil {
		parts = nil
	}
	for ; len(parts) > 0; parts = parts[:len(parts)-1] { // what is least worth gives way first
		right := strings.Join(parts, "  ")
		room := m.width - lipgloss.Width(title) - lipgloss.Width(right)
		if room < 2 && len(parts) == 1 && t.Lost > 0 { // the title gives way
			title, room = front(title, max(m.width-lipgloss.Width(right)-2, 0)), 2
		}
		if room >= 2 {
			return bold.Render(title) + strings.Repeat(" ", max(m.width-lipgloss.Width(title)-lipgloss.Width(right), 0)) + style.Render(right)
		}
	}
	return bold.Render(fit(title, m.width))
}

// by says by what a list is ordered if no head of a column shows it.
func by(order string, shown []string) string {
	if slices.Contains(shown, order) {
		return ""
	}
	return "   by " + strings.ToLower(order)
}

func (m *Model) viewProcesses() []string {
	list := m.listProcesses()
	var total, growth int64
	found := 0
	for _, p := range list {
		total += p.Live
		growth += p.Growth
		found += suspected(p)
	}
	columns := layout(m.processColumns(), m.width)
	order := m.orderOf(processes)
	title := fmt.Sprintf("memwatch   %s, %s live", render.Count(len(list), "process", "processes"), m.size(total))
	if growth != 0 {
		title += ", " + m.growth(growth)
	}
	if found > 0 {
		title += "   " + render.Count(found, "suspect", "suspects") + ": tab"
	}
	title += by(order, sortable(columns))
	if lipgloss.Width(title) > m.width { // what it is called is known
		title = strings.TrimPrefix(title, "memwatch   ")
	}
	lines := append([]string{m.head(title)}, m.gauges()...)
	lines = append(lines, heads(columns, order, m.invert[processes], m.width))
	if len(list) == 0 {
		if f := m.filter[m.page]; f != "" {
			return append(lines, "", nothing(f))
		}
		if m.frame.Snapshot.Limits != "" {
			return append(lines, "", "no process that may be looked at has a table")
		}
		return append(lines, "", "no process uses a library that is probed")
	}
	for i := m.scroll; i < min(len(list), m.scroll+m.rows()); i++ {
		style := plain
		if list[i].Exited {
			style = faint
		}
		lines = append(lines, drawRow(columns, list[i], i == m.cursor, style, m.width))
	}
	return append(lines, m.suspectsBelow(list, m.height-1-len(lines))...)
}

// nothing says that a filter leaves nothing.
func nothing(filter string) string { return "nothing here matches /" + filter + "; esc clears it" }

// suspectsBelow draws the suspects of processes where the list of those leaves so many lines: the line that
// grows is seen on the first page.
func (m *Model) suspectsBelow(of []*heap.Process, room int) (lines []string) {
	var list []row
	for _, p := range of {
		for i := range p.Sites {
			list = append(list, row{&p.Sites[i], p})
		}
	}
	if list = suspectsOf(list); len(list) == 0 || room < 4 {
		return nil
	}
	columns := layout(m.siteColumns(suspects), m.width)
	sorted(list, columns, "GROWTH", false)
	lines = append(lines, "", warning.Render(clip("suspects: sites that may be leaks", m.width)), heads(columns, "GROWTH", false, m.width))
	for _, r := range list[:min(len(list), room-len(lines))] {
		lines = append(lines, drawRow(columns, r, false, siteStyle(r), m.width))
	}
	return lines
}

func (m *Model) viewSites() []string {
	list := m.listSites()
	columns := layout(m.siteColumns(m.page), m.width)
	order := m.orderOf(m.page)
	title := render.Count(len(list), "suspect: a site that may be a leak", "suspects: sites that may be leaks") + ", and why"
	if m.page == sites {
		p := m.process()
		if p == nil {
			return []string{m.head("memwatch"), "", "the process is gone"}
		}
		title = m.titleOf(p, render.Count(len(list), "site", "sites"))
	}
	title += by(order, sortable(columns))
	lines := append([]string{m.head(title)}, m.notes()...)
	lines = append(lines, heads(columns, order, m.invert[m.page], m.width))
	switch f := m.filter[m.page]; {
	case len(list) > 0:
	case f != "":
		return append(lines, "", nothing(f))
	case m.page == suspects:
		return append(lines, "", "nothing looks like a leak so far")
	}
	for i := m.scroll; i < min(len(list), m.scroll+m.rows()); i++ {
		lines = append(lines, drawRow(columns, list[i], i == m.cursor, siteStyle(list[i]), m.width))
	}
	if room := m.height - 1 - len(lines); room >= 4 && m.cursor < len(list) {
		r := list[m.cursor]
		lines = append(lines, "", faint.Render(clip("─── "+render.Function(r.Site)+", class "+r.Class, m.width)))
		lines = append(lines, m.why(r.Site)...)
		lines = append(lines, m.stackOf(r.Site)...)
	}
	return lines
}

// notes says of the process whose sites are shown what is not shown of it.
func (m *Model) notes() (lines []string) {
	if p := m.process(); p != nil && m.page == sites {
		for _, note := range p.Notes[:min(len(p.Notes), 2)] {
			lines = append(lines, warning.Render(front(render.Clean(note), m.width)))
		}
	}
	return lines
}

// titleOf says in a line how a process is, and what of it is shown. What is least worth gives way first.
func (m *Model) titleOf(p *heap.Process, shown string) string {
	bytes, _ := held(p)
	text := fmt.Sprintf("%s (%d)   %s ", render.Clean(p.Name), p.PID, m.live(p, bytes))
	if p.Exited {
		text += "at exit"
	} else {
		text += "live"
		if p.Growth != 0 {
			text += " " + m.growth(p.Growth)
		}
	}
	type part struct {
		text string
		rank int // the highest gives way first
	}
	parts := []part{{m.live(p, p.Peak) + " peak", 3}, {shown, 2}}
	if p.Full > 0 {
		parts = slices.Insert(parts, 0, part{"full in " + forecast(p.Full), 0})
	}
	if p.Used > 0 {
		parts = append(parts, part{"the driver counts " + m.size(p.Used), 4})
	}
	if p.OOM != nil {
		parts = append(parts, part{fmt.Sprintf("%s found no memory for %s", render.Clean(p.OOM.Function), m.size(int64(p.OOM.Asked))), 1})
	}
	for {
		whole, least := text, 0
		for i := range parts {
			whole += ", " + parts[i].text
			if parts[i].rank > parts[least].rank {
				least = i
			}
		}
		if len(parts) == 0 || lipgloss.Width(whole)+len("  0 lost") <= m.width {
			return whole
		}
		parts = slices.Delete(parts, least, least+1)
	}
}

func allocations(n int64) string { return render.Count(int(n), "allocation", "allocations") }

// why draws the reasons to take a site for a leak.
func (m *Model) why(s *heap.Site) (lines []string) {
	for _, why := range s.Suspect {
		lines = append(lines, warning.Render(clip("suspect     "+render.Clean(why), m.width)))
	}
	return lines
}

// stackOf draws what called a site.
func (m *Model) stackOf(s *heap.Site) []string {
	lines := []string{faint.Render("called from")}
	if len(s.Frames) == 0 {
		lines = append(lines, "  "+render.Title(s))
	}
	for _, f := range s.Frames {
		lines = append(lines, "  "+tail(render.FrameText(&f), m.width-2))
	}
	return lines
}

func (m *Model) viewSite() []string {
	p := m.process()
	var s *heap.Site
	if p != nil {
		for i := range p.Sites {
			if p.Sites[i].Stack == m.stack && p.Sites[i].Class == m.class {
				s = &p.Sites[i]
			}
		}
	}
	if s == nil {
		return []string{m.head("memwatch"), "", "the site is gone"}
	}
	bytes, _ := row{s, p}.held()
	held := m.live(p, bytes)
	if p.Exited {
		held += " at exit"
	}
	lines := []string{
		m.head(fmt.Sprintf("%s (%d)   %s, class %s", render.Clean(p.Name), p.PID, held, s.Class)),
		"",
		fmt.Sprintf("live        %s in %s, peak %s", m.live(p, s.Live), allocations(s.Objects), m.size(s.Peak)),
		"growth      " + growthStyle(s.Growth).Render(m.growth(s.Growth)),
		fmt.Sprintf("allocated   %s in %d", m.size(int64(s.AllocBytes)), s.AllocObjects),
		fmt.Sprintf("freed       %s in %d; late by the collector %d", m.size(int64(s.FreedBytes)), s.FreedObjects, s.ByNet.Objects),
		"age         oldest " + render.Age(s.Oldest),
	}
	if s.Median > 0 {
		lines[len(lines)-1] += "; half of the freed lived less than " + render.Age(s.Median)
	}
	if p.Exited {
		lines = append(lines, fmt.Sprintf("at exit     %s in %s", m.size(s.AtExitBytes), allocations(s.AtExitObjects)))
	}
	var sizes []string
	for _, z := range s.Sizes {
		sizes = append(sizes, fmt.Sprintf("%d ≤ %s", z.Count, m.size(int64(z.Max))))
	}
	lines = append(lines, "sizes       "+strings.Join(sizes, ", "), "history     "+accent.Render(render.Spark(s.History, min(60, m.width-12))))
	lines = append(lines, m.why(s)...)
	lines = append(lines, "")
	lines = append(lines, m.stackOf(s)...)
	for i := range lines[1:] {
		lines[i+1] = clip(lines[i+1], m.width)
	}
	return lines
}
