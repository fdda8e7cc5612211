package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

var (
	bold    = lipgloss.NewStyle().Bold(true)
	faint   = lipgloss.NewStyle().Faint(true)
	chosen  = lipgloss.NewStyle().Reverse(true)
	warning = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	accent  = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
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
		lines = help()
	case m.frame.Snapshot == nil:
		lines = []string{m.head("memwatch"), "", "waiting for the first numbers"}
	case m.page == processes:
		lines = append(m.gauges(), m.viewProcesses()...)
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
	return strings.Join(append(lines, m.status()), "\n")
}

// fit gives s exactly n cells.
func fit(s string, n int) string {
	for lipgloss.Width(s) > n {
		r := []rune(s)
		s = string(r[:len(r)-1])
	}
	return s + strings.Repeat(" ", n-lipgloss.Width(s))
}

// tail gives s at most n cells, of its end.
func tail(s string, n int) string {
	if lipgloss.Width(s) <= n {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && lipgloss.Width(string(r))+1 > n {
		r = r[1:]
	}
	return "…" + string(r)
}

func (m *Model) head(title string) string {
	mark := ""
	if m.paused {
		mark = "  PAUSED"
	}
	if m.filter != "" || m.typing {
		mark += "  /" + m.filter
		if m.typing {
			mark += "▏"
		}
	}
	return bold.Render(fit(title+mark, m.width))
}

func (m *Model) size(n int64) string { return render.Options{Bytes: m.exact}.Size(n) }

func (m *Model) live(p *heap.Process, n int64) string {
	if p.Inexact {
		return "≈" + m.size(n)
	}
	return m.size(n)
}

// line draws a line of a list.
func (m *Model) line(i int, s string, style lipgloss.Style) string {
	s = fit(s, m.width)
	if i == m.cursor {
		return chosen.Render(s)
	}
	return style.Render(s)
}

func (m *Model) viewProcesses() []string {
	list := m.listProcesses()
	var total int64
	found := 0
	for _, p := range list {
		total += p.Live
		found += suspected(p)
	}
	title := fmt.Sprintf("memwatch   %s, %s live   by %s", render.Count(len(list), "process", "processes"),
		m.size(total), orders[processes][m.order[processes]])
	if found > 0 {
		title += "   " + render.Count(found, "suspect", "suspects") + ": tab"
	}
	if lipgloss.Width(title) > m.width { // what it is called is known
		title = strings.TrimPrefix(title, "memwatch   ")
	}
	columns := m.columns()
	row := func(text func(c *column) string) string {
		var cells []string
		for i := range columns {
			cells = append(cells, columns[i].cell(text(&columns[i])))
		}
		return strings.Join(cells, " ")
	}
	lines := []string{m.head(title), faint.Render(fit(row(func(c *column) string { return c.title }), m.width))}
	if len(list) == 0 {
		if m.frame.Snapshot.Limits != "" {
			return append(lines, "", "no process that may be looked at has a table")
		}
		return append(lines, "", "no process uses a library that is probed")
	}
	for i := m.scroll; i < min(len(list), m.scroll+m.rows()); i++ {
		p, style := list[i], lipgloss.NewStyle()
		switch {
		case p.Exited:
			style = faint
		case suspected(p) > 0:
			style = warning
		}
		lines = append(lines, m.line(i, row(func(c *column) string { return c.text(p) }), style))
	}
	return lines
}

// suspected returns how many sites of a process may be leaks.
func suspected(p *heap.Process) (n int) {
	for i := range p.Sites {
		if len(p.Sites[i].Suspect) > 0 {
			n++
		}
	}
	return n
}

// siteHistory is how many samples a list of sites shows of each.
const siteHistory = 12

func (m *Model) viewSites() []string {
	list := m.listSites()
	title := fmt.Sprintf("memwatch   %s, and why", render.Count(len(list), "suspect: a site that may be a leak", "suspects: sites that may be leaks"))
	if m.page == sites {
		p := m.process()
		if p == nil {
			return []string{m.head("memwatch"), "", "the process is gone"}
		}
		live := m.live(p, p.Live) + " live"
		if p.Exited {
			live = m.live(p, p.AtExit) + " at exit"
		}
		counted := ""
		if p.Used > 0 {
			counted = fmt.Sprintf(", the driver counts %s", m.size(p.Used))
		}
		title = fmt.Sprintf("%s (%d)   %s, %s peak%s, %s   by %s", render.Clean(p.Name), p.PID, live, m.live(p, p.Peak), counted, render.Count(len(list), "site", "sites"), orders[sites][m.order[sites]])
	}
	lines := []string{
		m.head(title),
		faint.Render(fit(fmt.Sprintf("%10s %7s %10s %-12s %7s  %-*s %s", "LIVE", "OBJECTS", "ALLOCATED", "CLASS", "OLDEST", siteHistory, "HISTORY", "SITE"), m.width)),
	}
	for i := m.scroll; i < min(len(list), m.scroll+m.rows()); i++ {
		s := list[i]
		live, objects := s.Live, s.Objects
		if s.process.Exited {
			live, objects = s.AtExitBytes, s.AtExitObjects
		}
		class := s.Class
		if !s.Own {
			class = "(" + class + ")"
		}
		style := lipgloss.NewStyle()
		text := render.Title(s.Site)
		if len(s.Suspect) > 0 {
			style = warning
			if m.page == suspects {
				text = fmt.Sprintf("%s: %s", render.Function(s.Site), render.Clean(strings.Join(s.Suspect, "; ")))
			}
		}
		about := m.live(s.process, live)
		if s.Estimate {
			about = "~" + about
		}
		front := fmt.Sprintf("%10s %7d %10s %-12s %7s  %s ", about, objects, m.size(int64(s.AllocBytes)), class, render.Age(s.Oldest), render.Spark(s.History, siteHistory))
		if m.page == sites {
			room := max(m.width-lipgloss.Width(front), 10)
			text = tail(render.TitleIn(s.Site, room), room) // characters may be wide
		}
		lines = append(lines, m.line(i, front+text, style))
	}
	return lines
}

func allocations(n int64) string { return render.Count(int(n), "allocation", "allocations") }

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
	held := m.live(p, s.Live)
	if p.Exited {
		held = m.live(p, s.AtExitBytes) + " at exit"
	}
	lines := []string{
		m.head(fmt.Sprintf("%s (%d)   %s, class %s", render.Clean(p.Name), p.PID, held, s.Class)),
		"",
		fmt.Sprintf("live        %s in %s, peak %s", m.live(p, s.Live), allocations(s.Objects), m.size(s.Peak)),
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
	for _, why := range s.Suspect {
		lines = append(lines, warning.Render("suspect     "+render.Clean(why)))
	}
	lines = append(lines, "", faint.Render("called from"))
	if len(s.Frames) == 0 {
		lines = append(lines, "  "+render.Title(s))
	}
	for _, f := range s.Frames {
		lines = append(lines, "  "+tail(render.FrameText(&f), m.width-2))
	}
	return lines
}

// status draws the last line.
func (m *Model) status() string {
	t := m.frame.Status
	parts := []string{render.Clean(t.Source), fmt.Sprintf("%.0f events/s", t.Rate)}
	if t.NoDevices != "" {
		parts = append(parts, "devices not known: "+render.Clean(t.NoDevices))
	}
	if t.Overhead > 0 {
		parts = append(parts, fmt.Sprintf("overhead %.2f%%", 100*t.Overhead))
	}
	if m.said != "" {
		parts = append(parts, m.said)
	}
	if t.Note != "" {
		parts = append(parts, render.Clean(t.Note))
	}
	parts = append(parts, "? help  q quit")
	line := strings.Join(parts, "   ")
	if t.Lost > 0 {
		return warning.Render(fit(fmt.Sprintf("%d LOST   %s", t.Lost, line), m.width))
	}
	return faint.Render(fit("0 lost   "+line, m.width))
}

func help() []string {
	return strings.Split(`memwatch: the live foreign heap of running processes          any key goes back

  ↑ ↓ j k        choose              enter → l     look into it
  home end g G   first, last         esc ← bksp    back
  pgup pgdn      a screen            tab           processes / leak suspects
  < > F6         order by another    t F5          call tree of the process
  M P T N        by live, rate or allocated, peak or age, pid or objects
  I R            order upside down   / F3          filter (esc clears)
  space p        pause               b             sizes in bytes
  s              save as JSON        e             save as a profile for pprof
  ? h F1         this help           q F10         quit (ctrl-z stops)

  live           bytes got from the driver, or if there are none in lastuse buffers
  (class)        memory that is shown and not added: of others, or counted elsewhere
  joined         it ran before it was watched: its older memory is unknown
  history        its shape, from the lowest to the highest of what is shown
  ≈              events were lost; the number may be too low or too high
  █ ▓ ▒ ·        of a device: live, counted by the driver besides, of others, free
  suspect        a site that never frees, grows, or keeps far longer than it used to`, "\n")
}
