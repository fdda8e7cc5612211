package tui

import (
	"time"

	"charm.land/lipgloss/v2"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// What colours mean. What a colour says a sign or a number beside it says too, for terminals and eyes
// without.
var (
	plain   = lipgloss.NewStyle()
	bold    = lipgloss.NewStyle().Bold(true)
	faint   = lipgloss.NewStyle().Faint(true) // what has ended, stands still, or only explains
	chosen  = lipgloss.NewStyle().Reverse(true)
	accent  = lipgloss.NewStyle().Foreground(lipgloss.Cyan)   // what is live, and what a list is ordered by
	good    = lipgloss.NewStyle().Foreground(lipgloss.Green)  // what goes back
	warning = lipgloss.NewStyle().Foreground(lipgloss.Yellow) // suspects, growth, losses
	danger  = lipgloss.NewStyle().Foreground(lipgloss.Red)    // no memory soon, or already
)

// soon is how near the end of a device's memory must be to be marked as danger.
const soon = 5 * time.Minute

// ending reports whether memory is full so soon, in nanoseconds; 0 is never.
func ending(full int64) bool { return full > 0 && time.Duration(full) < soon }

// growth writes by how much something grows in a second.
func (m *Model) growth(n int64) string {
	switch {
	case n == 0:
		return "·"
	case n > 0:
		return "+" + m.size(n) + "/s"
	}
	return m.size(n) + "/s"
}

func growthStyle(n int64) lipgloss.Style {
	switch {
	case n > 0:
		return warning
	case n < 0:
		return good
	}
	return faint
}

// mark is the sign of a process: what is worst of it.
func mark(p *heap.Process) (string, lipgloss.Style) {
	switch {
	case p.OOM != nil:
		return "‼", danger
	case suspected(p) > 0:
		return "!", warning
	}
	return " ", plain
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

func (m *Model) size(n int64) string { return render.Options{Bytes: m.exact}.Size(n) }

// live writes bytes of a process, which may be inexact.
func (m *Model) live(p *heap.Process, n int64) string {
	if p.Inexact {
		return "≈" + m.size(n)
	}
	return m.size(n)
}
