package tui

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// hints are the keys that mean something on a page, the most useful first.
func (m *Model) hints() [][2]string {
	quit, back, list := [2]string{"q", "quit"}, [2]string{"esc", "back"}, [][2]string{{"/", "filter"}, {"< >", "sort"}, {"?", "help"}}
	switch {
	case m.help:
		return [][2]string{{"any key", "back"}}
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
	return [][2]string{quit, back, {"t", "tree"}, {"s", "save"}, {"e", "profile"}, {"?", "help"}}
}

// foot draws the last line: what came of saving, or the keys, and what there is to say besides.
func (m *Model) foot() string {
	if m.said != "" {
		return accent.Render(fit(m.said, m.width))
	}
	var line string
	for _, k := range m.hints() {
		part := chosen.Render(" "+k[0]+" ") + faint.Render(" "+k[1]+"  ")
		if lipgloss.Width(line)+lipgloss.Width(part) > m.width {
			break
		}
		line += part
	}
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

func help() []string {
	return strings.Split(`memwatch: the live foreign heap of running processes          any key goes back

  ↑ ↓ j k        choose              enter → l     look into it
  home end g G   first, last         esc ← bksp    back
  pgup pgdn      a screen            tab           processes / leak suspects
  < > F6         order by another    t F5          call tree of the process
  M D P T N      by live, growth, rate or allocated, peak or age, pid or objects
  I R            order upside down   / F3          filter: words, !without (esc clears)
  space p        pause               b             sizes in bytes
  s              save as JSON        e             save as a profile for pprof
  ? h F1         this help           q F10         quit (ctrl-z stops)

  live           bytes got from the driver, or if there are none in lastuse buffers
  growth         by how much its low points rise now; full in: when memory ends so
  ! ‼            may be a leak: never frees, grows, or keeps far longer; out of memory
  (class)        memory that is shown and not added: of others, or counted elsewhere
  joined         it ran before it was watched: its older memory is unknown
  ≈              events were lost; the number may be too low or too high
  █ ▓ ▒ ·        of a device: live, counted by the driver besides, of others, free
  colours        yellow: look at it; red: no memory soon; green: it goes back`, "\n")
}
