package tui

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/demo"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// at returns the demo session at a time.
func at(t *testing.T, seconds int64) Frame {
	r, err := demo.Open()
	require.NoError(t, err)
	h := heap.New(heap.Options{})
	for {
		var e heap.Event
		if err := r.Read(&e); err == io.EOF {
			break
		}
		if e.Time > seconds*1e9 {
			break
		}
		h.Apply(&e)
	}
	h.Advance(seconds * 1e9)
	return Frame{Snapshot: h.Snapshot(heap.Query{}), Status: Status{Source: "demo", Rate: 12}}
}

func press(m *Model, keys ...string) {
	for _, k := range keys {
		msg := tea.KeyPressMsg{}
		switch k {
		case "enter":
			msg.Code = tea.KeyEnter
		case "esc":
			msg.Code = tea.KeyEscape
		case "tab":
			msg.Code = tea.KeyTab
		case "down":
			msg.Code = tea.KeyDown
		case "end":
			msg.Code = tea.KeyEnd
		case "backspace":
			msg.Code = tea.KeyBackspace
		case "space":
			msg.Code, msg.Text = tea.KeySpace, " "
		default:
			msg.Code, msg.Text = []rune(k)[0], k
		}
		m.Update(msg)
	}
}

// TestGolden gives keys and compares the screen.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		name    string
		seconds int64
		keys    []string
	}{
		{"processes", 90, nil},
		{"processes-end", 120, []string{"end"}},
		{"by-name", 90, []string{"<", "<"}},
		{"by-growth", 120, []string{"D"}},
		{"without", 90, []string{"/", "!", "w", "o", "r"}},
		{"sites", 90, []string{"enter"}},
		{"site", 90, []string{"enter", "down", "enter"}},
		{"suspects", 120, []string{"tab"}},
		{"suspect", 120, []string{"tab", "enter"}},
		{"filter", 90, []string{"/", "w", "o", "r"}},
		{"exact", 90, []string{"b", "enter"}},
		{"help", 90, []string{"?"}},
		{"exited", 120, []string{"end", "enter"}},
		{"tree", 90, []string{"t"}},
		{"by-allocated", 90, []string{"enter", "P"}},
		{"upside-down", 90, []string{"I"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := New()
			m.Update(tea.WindowSizeMsg{Width: 110, Height: 20})
			m.Update(at(t, c.seconds))
			press(m, c.keys...)
			got := screen(t, m)
			path := filepath.Join("testdata", c.name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
				return
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

// TestGauges draws devices on screens of three widths: the name gives way first, then the load, and the bar
// stays.
func TestGauges(t *testing.T) {
	f := at(t, 90)
	f.Snapshot.Devices = []heap.DeviceState{
		{Device: 0, Name: "NVIDIA H200", Total: 139 << 30, Used: 52 << 30, Live: 30 << 30, Counted: 31 << 30, Busy: 87},
		{Device: 1, Name: "NVIDIA H200", Total: 139 << 30, Used: 136 << 30, Live: 100 << 30, Counted: 120 << 30, Busy: 100, Full: int64(95 * time.Second)},
		{Device: 2, Name: "a\x1b[2J name that is far too long to be shown", Total: 139 << 30, Busy: -1},
		{Device: 3, Name: "NVIDIA H200", Total: 139 << 30, Used: 120 << 30, Counted: 120 << 30, Busy: 0, Full: int64(3 * time.Hour)},
		{Device: 4, Total: 0, Busy: -1}, {Device: 5, Name: "another", Total: 1, Busy: -1},
	}
	for _, width := range []int{20, 60, 80, 110, 200} {
		m := New()
		m.Update(tea.WindowSizeMsg{Width: width, Height: 20})
		m.Update(f)
		for _, line := range m.gauges() {
			require.LessOrEqual(t, lipgloss.Width(line), width, line)
		}
		press(m, "end")
		got := ansi.Strip(m.View().Content)
		require.Len(t, strings.Split(got, "\n"), 20)
		require.Contains(t, got, "and 3 more devices")
		if width == 20 {
			continue
		}
		var lines []string
		for l := range strings.Lines(got) {
			lines = append(lines, strings.TrimRight(l, " \n"))
		}
		got = strings.Join(lines, "\n") + "\n"
		path := filepath.Join("testdata", fmt.Sprintf("gauges-%d.txt", width))
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
			continue
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), got)
	}
}

// screen returns what is seen: it fits, whatever is shown.
func screen(t *testing.T, m *Model) string {
	view := m.View()
	require.True(t, view.AltScreen)
	text := ansi.Strip(view.Content)
	lines := strings.Split(text, "\n")
	require.Len(t, lines, m.height)
	for i, l := range lines {
		require.LessOrEqual(t, lipgloss.Width(l), m.width, l)
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestKeys(t *testing.T) {
	m := New()
	require.Contains(t, screen(t, m), "waiting for the first numbers")
	press(m, "enter", "tab", "enter", "esc", "down", "j", "k", "G", "g", ">", "<")
	m.Update(at(t, 90))
	press(m, "space")
	before := screen(t, m)
	require.Contains(t, before, "PAUSED")
	m.Update(at(t, 110))
	require.Equal(t, before, screen(t, m), "a pause shows nothing new")
	press(m, "space")
	require.NotContains(t, screen(t, m), "PAUSED")
	require.Contains(t, screen(t, m), "exited", "and then the newest at once")
	press(m, "/", "x", "y", "z")
	require.Contains(t, screen(t, m), "nothing here matches /xyz")
	press(m, "backspace", "q")
	require.False(t, m.quitted, "a q in the filter is a letter")
	press(m, "esc")
	require.Contains(t, screen(t, m), "trainer")
	press(m, "enter")
	m.Update(Frame{Snapshot: &heap.Snapshot{}})
	require.Contains(t, screen(t, m), "the process is gone")
	press(m, "esc", "enter", "enter")
	_, cmd := m.Update(tea.KeyPressMsg{Code: 'q', Text: "q"})
	require.NotNil(t, cmd)
}

// TestSizes draws every page at odd sizes, with hostile names.
func TestSizes(t *testing.T) {
	f := at(t, 120)
	f.Status.Lost = 3
	for i := range f.Snapshot.Processes {
		p := &f.Snapshot.Processes[i]
		p.Name = "\x1b[2J世界世界世界世界世界\u202e\n"
		p.Inexact = true
		for j := range p.Sites {
			for k := range p.Sites[j].Frames {
				p.Sites[j].Frames[k].Func = "\x1b]0;x\a" + strings.Repeat("世", 100)
			}
		}
	}
	for _, size := range [][2]int{{1, 1}, {20, 6}, {40, 10}, {80, 24}, {300, 100}} {
		for _, keys := range [][]string{nil, {"enter"}, {"enter", "enter"}, {"tab"}, {"?"}} {
			m := New()
			m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			m.Update(f)
			press(m, keys...)
			text := ansi.Strip(m.View().Content)
			require.Len(t, strings.Split(text, "\n"), m.height)
			require.NotContains(t, text, "\x1b")
			require.NotContains(t, text, "\u202e")
		}
	}
}

// TestLimits shows in a line of its own, on a narrow terminal too, what cannot be seen.
func TestLimits(t *testing.T) {
	const limits = "tables only"
	for _, width := range []int{20, 80} {
		m := New()
		m.Update(tea.WindowSizeMsg{Width: width, Height: 7})
		f := at(t, 90)
		require.NotEmpty(t, f.Snapshot.Processes)
		f.Snapshot.Limits = limits
		m.Update(f)
		require.Equal(t, limits, strings.Split(screen(t, m), "\n")[1])
		press(m, "end")
		got := screen(t, m)
		require.Equal(t, limits, strings.Split(got, "\n")[1], "the list scrolls below it")
		list := m.listProcesses()
		require.Contains(t, got, fmt.Sprint(list[len(list)-1].PID))
	}
	m := New()
	m.Update(Frame{Snapshot: &heap.Snapshot{Limits: limits}})
	require.Contains(t, screen(t, m), "no process that may be looked at has a table")
}

// TestNotes says above a process's sites what is not shown of it, in lines that fit, and of it alone.
func TestNotes(t *testing.T) {
	for _, width := range []int{20, 80} {
		m := New()
		m.Update(tea.WindowSizeMsg{Width: width, Height: 6})
		f := at(t, 90)
		for i := range f.Snapshot.Processes {
			f.Snapshot.Processes[i].Notes = []string{fmt.Sprint("of ", f.Snapshot.Processes[i].PID, "\x1b[2J: left out"), "more"}
		}
		m.Update(f)
		require.NotContains(t, screen(t, m), "left out")
		press(m, "enter", "end")
		lines := strings.Split(screen(t, m), "\n")
		require.True(t, strings.HasPrefix(lines[1], fmt.Sprint("of ", m.pid, "?[2J")), lines[1])
		require.Equal(t, "more", strings.TrimSpace(lines[2]))
		list := m.listSites()
		require.Greater(t, len(list), m.rows())
		last := drawRow(layout(m.siteColumns(sites), width), list[len(list)-1], true, plain, width)
		require.Equal(t, strings.TrimRight(ansi.Strip(last), " "), lines[4], "the list scrolls below them")
	}
}

// TestTitleGivesWay shows a process's sites on screens of three widths: no word of the title is cut, and what
// matters most stays, with what was lost.
func TestTitleGivesWay(t *testing.T) {
	for width, want := range map[int]string{
		48:  "trainer (4101)   1.6 GiB live +4.0 MiB/s",
		60:  "trainer (4101)   1.6 GiB live +4.0 MiB/s, 4 sites",
		110: "trainer (4101)   1.6 GiB live +4.0 MiB/s, 1.6 GiB peak, 4 sites",
	} {
		m := New()
		m.Update(tea.WindowSizeMsg{Width: width, Height: 20})
		f := at(t, 120)
		f.Snapshot.Processes[0].OOM = nil
		m.Update(f)
		press(m, "enter")
		line, _, _ := strings.Cut(ansi.Strip(m.View().Content), "\n")
		title, right, ok := strings.Cut(line, "  0 lost")
		require.True(t, ok, line)
		require.Equal(t, want, strings.TrimRight(title, " "), right)
	}
}
