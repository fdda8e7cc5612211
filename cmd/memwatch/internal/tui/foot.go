package tui

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// hints are the keys that mean something on a page, the most useful first.
func (m *Model) hints() [][2]string {
	quit, back, list := [2]string{"q", "quit"}, [2]string{"esc", "back"}, [][2]string{{"/", "filter"}, {"< >", "sort"}, {"?", "help"}}
	switch {
	case m.help:
		return [][2]string{{"any key", "back"}, {"↑ ↓", "more"}}
	case m.typing:
		return [][2]string{{"enter", "keep"}, {"esc", "clear"}, {"!word", "without it"}}
	}
	switch m.page {
	case processes:
		return append([][2]string{quit, {"enter", "sites"}, {"tab", "suspects"}, {"t", "tree"}}, list...)
	case sites:
		return append([][2]string{quit, back, {"enter", "details"}, {"tab", "suspects"}, {"t", "tree"}}, list...)
	case suspects:
		return append([][2]string{quit, {"tab", "back"}, {"enter", "details"}}, list...)
	}
	if m.page == tree {
		return append([][2]string{quit, back, {"s", "save"}, {"e", "profile"}}, list[0], list[2])
	}
	return [][2]string{quit, back, {"t", "tree"}, {"s", "save"}, {"e", "profile"}, {"?", "help"}}
}

// foot draws the last line: what came of saving, or the keys, and what there is to say besides.
func (m *Model) foot() string {
	if m.said != "" {
		return accent.Render(fit(m.said, m.width))
	}
	keys := m.hints()
	draw := func() (line string) {
		for _, k := range keys {
			line += chosen.Render(" "+k[0]+" ") + faint.Render(" "+k[1]+"  ")
		}
		return line
	}
	line := draw()
	for ; len(keys) > 1 && lipgloss.Width(line) > m.width; line = draw() { // the last is the one for help
		keys = slices.Delete(keys, max(len(keys)-2, 0), max(len(keys)-1, 1))
	}
	line = clip(line, m.width)
	t := m.frame.Status
	var more []string
	if t.Note != "" {
		more = append(more, render.Clean(t.Note))
	}
	if t.NoDevices != "" {
		more = append(more, "devices not known: "+render.Clean(t.NoDevices))
	}
	room := m.width - lipgloss.Width(line)
	if len(more) > 0 && room > 12 {
		line += faint.Render(front(strings.Join(more, "  "), room))
	}
	return line
}

// help returns the lines of the help, as wide as a screen of 80 columns.
func help() []string {
	return strings.Split(`memwatch: the live foreign heap of running programs      any other key goes back

  ↑ ↓ j k        choose              enter → l     look into it
  home end g G   first, last         esc ← bksp    back (clears a filter first)
  pgup pgdn      a screen            tab           leak suspects, and back
  < > F6         order by another    t F5          call tree of the process
  M D P T N      by live, growth, rate or allocated, peak or age, pid or objects
  I R            order upside down   / F3          filter: words, !without
  space p        pause               b             sizes in bytes
  s              save as JSON        e             save as a profile for pprof
  ? h F1         this help           q F10         quit (ctrl-z stops)

  live           bytes got from the driver, or else in lastuse buffers
  growth         by how much its low points rise; full in: when memory ends so
  rate           bytes asked for in a second, freed again or not
  ! ‼            may be a leak: never frees, grows, keeps longer; no memory left
  (block)        what PyTorch handed out of memory that the driver gave it
  (class)        shown and not added: memory of others, or counted elsewhere
  joined         it ran before it was watched: its older memory is not known (?)
  ≈              events were lost; the number may be too low or too high
  █ ▓ ▒ ·        of a device: live, counted by the driver besides, others, free
  colours        yellow: look at it; red: no memory soon; green: it goes back`, "\n")
}

// viewHelp draws as much of the help as there is room for, from the line that it was scrolled to.
func (m *Model) viewHelp() []string {
	var lines []string
	for _, l := range help() {
		lines = append(lines, strings.Split(ansi.Wrap(l, m.width, ""), "\n")...)
	}
	m.helpAt = max(min(m.helpAt, len(lines)-m.height+1), 0)
	return lines[m.helpAt:]
}
