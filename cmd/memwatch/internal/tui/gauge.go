package tui

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// Shares of a device from which on its figures are marked.
const tight, full = 0.85, 0.95

// maxGauges is how many devices have a line.
const maxGauges = 4

// gauges draws what limits there are, and a line for each device, as far as there is room for lists below.
func (m *Model) gauges() (lines []string) {
	if m.frame.Snapshot == nil {
		return nil
	}
	all := m.frame.Snapshot.Devices
	n := min(len(all), maxGauges, max(m.height/4, 1))
	shown := n
	if n < len(all) {
		shown-- // the last line says how many more
	}
	if limits := m.frame.Snapshot.Limits; limits != "" {
		lines = append(lines, warning.Render(fit(render.Clean(limits), m.width)))
	}
	lines = append(lines, m.drawGauges(all[:shown])...)
	if shown < len(all) {
		lines = append(lines, faint.Render(fit("and "+render.Count(len(all)-shown, "more device", "more devices"), m.width)))
	}
	return lines
}

// drawGauges draws devices below one another: number, name, a bar, and figures. What gives way first is the
// load, then the name, then when it is full.
func (m *Model) drawGauges(all []heap.DeviceState) (lines []string) {
	const number, figures, load, filled, name = 0, 1, 2, 3, 4
	texts := make([][5]string, len(all))
	var widths [5]int
	for i := range all {
		d := &all[i]
		texts[i] = [5]string{fmt.Sprintf("%2d", d.Device), fmt.Sprintf("%9s of %s", m.size(d.Used), m.size(d.Total)), name: render.Clean(d.Name)}
		if d.Busy >= 0 {
			texts[i][load] = fmt.Sprintf("%3d%% busy", d.Busy)
		}
		if d.Full > 0 {
			texts[i][filled] = "full in " + forecast(d.Full)
		}
		for k, text := range texts[i] {
			widths[k] = max(widths[k], lipgloss.Width(text))
		}
	}
	const gap, least, best, shortest = 2, 10, 40, 8
	widths[name] = min(widths[name], 24)
	room := func() int {
		r := m.width + gap
		for _, w := range widths {
			if w > 0 {
				r -= w + gap
			}
		}
		return r - gap
	}
	if short := least - room(); short > 0 { // a short name says as much
		widths[name] = max(widths[name]-short, min(widths[name], shortest))
	}
	for _, k := range []int{load, name, filled} {
		if room() < least {
			widths[k] = 0
		}
	}
	widths[figures] = min(widths[figures], max(m.width-widths[number]-gap, 0))
	for i := range all {
		d, style := &all[i], urgency(&all[i])
		line := faint.Render(fit(texts[i][number], widths[number]))
		if widths[name] > 0 {
			line += "  " + fit(texts[i][name], widths[name])
		}
		if n := min(room(), best); n > 0 {
			line += "  " + m.bar(d, n)
		}
		for _, k := range []int{figures, load, filled} {
			if widths[k] > 0 {
				line += "  " + style.Render(fit(texts[i][k], widths[k]))
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// forecast returns a time to come for people: nobody knows the seconds of hours.
func forecast(ns int64) string {
	if d := time.Duration(ns); d >= time.Hour {
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return render.Age(ns)
}

// urgency returns how the figures of a device are marked.
func urgency(d *heap.DeviceState) lipgloss.Style {
	switch share := float64(d.Used) / float64(max(d.Total, 1)); {
	case share >= full || ending(d.Full):
		return danger
	case share >= tight:
		return warning
	}
	return lipgloss.NewStyle()
}

// bar draws what a device holds in n cells: live bytes, what the driver counts besides for the same
// processes, what it counts for others, and what is free.
func (m *Model) bar(d *heap.DeviceState, n int) string {
	cells := func(bytes int64) int {
		return int((float64(bytes)*float64(n) + float64(d.Total)/2) / float64(max(d.Total, 1)))
	}
	live, counted, used := cells(d.Live), cells(d.Counted), cells(d.Used)
	if used <= 1 && d.Used > 0 { // one cell is of whatever has most
		live, counted, used = 0, 0, 1
		switch besides, others := d.Counted-d.Live, d.Used-d.Counted; {
		case d.Live >= max(besides, others):
			live, counted = 1, 1
		case besides >= others:
			counted = 1
		}
	}
	return accent.Render(strings.Repeat("█", live)+strings.Repeat("▓", counted-live)) +
		strings.Repeat("▒", used-counted) + faint.Render(strings.Repeat("·", max(n-used, 0)))
}
