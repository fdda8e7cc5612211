package tui

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/record"
)

// TestPictures holds the pictures in the manual to what the interface shows: every row
// that there is, and no empty lines. They are drawn anew with -update.
func TestPictures(t *testing.T) {
	for _, c := range []struct {
		file   string
		height int
		keys   []string
	}{
		{"memwatch-processes.svg", 10, nil},
		{"memwatch-sites.svg", 7, []string{"enter", "down"}},
		{"memwatch-site.svg", 17, []string{"enter", "down", "enter"}},
		{"memwatch-tree.svg", 9, []string{"t"}},
	} {
		m := New()
		m.Update(tea.WindowSizeMsg{Width: 112, Height: c.height})
		m.Update(at(t, 90))
		press(m, c.keys...)
		requireRows(t, m)
		requirePicture(t, c.file, m)
	}
}

// requirePicture holds a picture in the manual to the screen.
func requirePicture(t *testing.T, file string, m *Model) {
	got := picture(m.View().Content, m.width)
	path := filepath.Join("../../../../docs", file)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run: go test ./cmd/memwatch/internal/tui -update")
}

// TestWay goes the way from the first screen to the line that leaks, twenty seconds into a recording of
// two trainings of PyTorch on one H200 (testdata/gpu of memwatch), of which one has such a line: it is
// named on the first. To keep the file small it was made without blocks that lived for less than a tenth
// of a second.
func TestWay(t *testing.T) {
	r, err := record.Open("testdata/training.mwr")
	require.NoError(t, err)
	defer r.Close()
	require.Nil(t, r.Damage)
	h := heap.New(heap.Options{})
	for first := int64(0); ; {
		var e heap.Event
		require.NoError(t, r.Read(&e), "it goes on for longer")
		if first == 0 {
			first = e.Time
		}
		if e.Time-first > 20e9 {
			break
		}
		h.Apply(&e)
	}
	m := New()
	m.Update(tea.WindowSizeMsg{Width: 112, Height: 10})
	m.Update(Frame{Snapshot: h.Snapshot(heap.Query{Top: 200, Keep: true}), Status: Status{Source: "live", Rate: 81000}})
	const leak = "main /src/train/finetune.py:51"
	first := ansi.Strip(m.View().Content)
	require.Contains(t, first, "1 suspect: tab")
	require.Contains(t, first, leak)
	requirePicture(t, "memwatch-way-1.svg", m)
	m.Update(tea.WindowSizeMsg{Width: 112, Height: 14})
	press(m, "enter", "D")
	lines := strings.Split(ansi.Strip(m.View().Content), "\n")
	require.Regexp(t, `^! .*\+[0-9.]+ MiB/s .*main /src/train/finetune.py:51`, lines[2], "what grows most is first")
	requirePicture(t, "memwatch-way-2.svg", m)
	m.Update(tea.WindowSizeMsg{Width: 112, Height: 17})
	press(m, "enter")
	screen := ansi.Strip(m.View().Content)
	require.Contains(t, screen, "class block")
	require.Contains(t, screen, "freed       0 B in 0")
	requirePicture(t, "memwatch-way-3.svg", m)
}

// requireRows holds a screen that is just high enough to the rows that it is about.
func requireRows(t *testing.T, m *Model) {
	var rows []string // what each must show
	switch m.page {
	case processes:
		for _, p := range m.frame.Snapshot.Processes {
			rows = append(rows, fmt.Sprintf("%d %s", p.PID, p.Name))
		}
	case sites:
		for _, s := range m.process().Sites {
			rows = append(rows, m.size(s.Live))
		}
	case tree:
		for _, b := range m.branches() {
			rows = append(rows, m.size(b.live))
		}
	default:
		return
	}
	lines := strings.Split(ansi.Strip(m.View().Content), "\n")
	require.GreaterOrEqual(t, len(lines), 2+len(rows)+1, "two heads, the rows, and the foot")
	for i, row := range rows {
		require.Contains(t, lines[2+i], row)
	}
}

// picture draws a screen of this many columns.
func picture(screen string, columns int) string {
	const w, h, pad = 8.4, 18, 12
	lines := strings.Split(screen, "\n")
	width, height := float64(columns)*w+2*pad, len(lines)*h+2*pad
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="6" fill="#14181f"/>`+"\n")
	for y, line := range lines {
		x := 0
		style := map[string]bool{}
		fill := "#d7dce4"
		for _, part := range strings.Split("\x1b[m"+line, "\x1b[") {
			codes, text, _ := strings.Cut(part, "m")
			for _, code := range strings.Split(codes, ";") {
				switch n, _ := strconv.Atoi(code); n {
				case 0:
					style, fill = map[string]bool{}, "#d7dce4"
				case 1:
					style["bold"] = true
				case 2:
					fill = "#8791a1"
				case 7:
					style["reverse"] = true
				case 31:
					fill = "#e06c75"
				case 32:
					fill = "#98c379"
				case 33:
					fill = "#e5c07b"
				case 36:
					fill = "#56b6c2"
				}
			}
			n := ansi.StringWidth(text)
			left, top := pad+float64(x)*w, pad+y*h
			ink := fill
			if style["reverse"] && n > 0 {
				fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", left, top, float64(n)*w, h, fill)
				ink = "#14181f"
			}
			if strings.TrimSpace(text) != "" {
				weight := ""
				if style["bold"] {
					weight = ` font-weight="bold"`
				}
				fmt.Fprintf(&b, `<text x="%.1f" y="%d" fill="%s"%s textLength="%.1f" xml:space="preserve">%s</text>`+"\n",
					left, top+h-5, ink, weight, float64(n)*w, html.EscapeString(text))
			}
			x += n
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}
