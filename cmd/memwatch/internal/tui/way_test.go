package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// TestBack goes back where each page was shown from, to what was chosen there, though the list is in
// another order by then.
func TestBack(t *testing.T) {
	for _, c := range []struct{ there, back string }{
		{"enter", "esc"},
		{"t", "t"},
		{"t", "esc"},
		{"tab", "tab"},
		{"tab", "esc"},
		{"enter t", "esc esc"},
		{"enter tab", "tab esc"},
		{"enter enter t", "esc esc esc"},
		{"tab enter t", "esc esc esc"},
	} {
		m := New()
		m.Update(tea.WindowSizeMsg{Width: 110, Height: 16})
		m.Update(at(t, 90))
		press(m, "down")
		chosen := m.listProcesses()[1].PID
		press(m, strings.Fields(c.there)...)
		m.invert[processes] = true
		press(m, strings.Fields(c.back)...)
		require.Equal(t, processes, m.page, "%v", c)
		if c.there != "tab" && !strings.HasPrefix(c.there, "tab ") { // else nobody was chosen
			require.Equal(t, chosen, m.listProcesses()[m.cursor].PID, "%v", c)
		}
		require.Empty(t, m.way)
	}
}

// TestFilterSaysSo tells a filter that leaves nothing from a list that is empty, finds the reasons of
// suspects, and is cleared before the page is left.
func TestFilterSaysSo(t *testing.T) {
	m := New()
	m.Update(tea.WindowSizeMsg{Width: 110, Height: 16})
	m.Update(at(t, 120))
	filter := func(word string) string {
		press(m, append(append([]string{"/"}, strings.Split(word, "")...), "enter")...)
		return screen(t, m)
	}
	require.Contains(t, filter("zz"), "nothing here matches /zz")
	press(m, "esc", "tab")
	require.Contains(t, filter("never"), "(*Cache).put")
	press(m, "esc")
	require.Contains(t, filter("zz"), "nothing here matches /zz")
	press(m, "esc")
	require.Equal(t, suspects, m.page)
	require.Contains(t, screen(t, m), "(*Cache).put")
	filter("zz")
	press(m, "tab")
	require.Equal(t, processes, m.page, "the key that came here goes back at once")
}

// TestNarrow keeps the key for help on every page, and all of the help within reach.
func TestNarrow(t *testing.T) {
	for _, keys := range []string{"", "enter", "enter enter", "tab", "t"} {
		m := New()
		m.Update(tea.WindowSizeMsg{Width: 60, Height: 20})
		m.Update(at(t, 90))
		press(m, strings.Fields(keys)...)
		lines := strings.Split(strings.TrimSpace(screen(t, m)), "\n")
		require.Contains(t, lines[len(lines)-1], "help", "%s", keys)
		press(m, "?")
		seen := screen(t, m)
		require.NotContains(t, seen, "colours")
		for range 40 {
			press(m, "down")
		}
		require.Contains(t, screen(t, m), "colours")
		require.True(t, m.help)
	}
}

// TestOneCell shows a device that is nearly empty by what most of it is, however long its bar.
func TestOneCell(t *testing.T) {
	const gib = 1 << 30
	m := New()
	for _, c := range []struct {
		live, counted, used int64
		want                string
	}{{2, 3, 4, "█"}, {1, 3, 4, "▓"}, {1, 2, 5, "▒"}, {0, 0, 0, "·"}} {
		for _, n := range []int{8, 20, 34} {
			d := &heap.DeviceState{Total: 140 * gib, Live: c.live * gib, Counted: c.counted * gib, Used: c.used * gib}
			require.Equal(t, c.want+strings.Repeat("·", n-1), ansi.Strip(m.bar(d, n)), "%v %d", c, n)
		}
	}
}

// TestWhyIn says of each reason at least its kind.
func TestWhyIn(t *testing.T) {
	r := row{Site: &heap.Site{Suspect: []string{"never freed: 420 allocations in 47s", "grows: its low points rose"}}}
	require.Equal(t, "never freed: 420 allocations in 47s; grows: its low points rose", whyIn(r, 80))
	require.Equal(t, "never freed; grows", whyIn(r, 24))
	require.Equal(t, "never freed…", whyIn(r, 12))
}

// TestNameIn keeps what tells two programs of Python apart.
func TestNameIn(t *testing.T) {
	p := &heap.Process{Name: "python3 finetune.py"}
	require.Equal(t, "python3 finetune.py", nameIn(p, 19))
	require.Equal(t, "finetune.py", nameIn(p, 18))
	require.Equal(t, "finet…", nameIn(p, 6))
	require.Equal(t, "trainer", nameIn(&heap.Process{Name: "trainer"}, 4), "the column cuts it")
}

func TestForecast(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "-", 90 * time.Second: "1m30s", 3 * time.Hour: "3h0m", 67*time.Minute + 25*time.Second: "1h7m"} {
		require.Equal(t, want, forecast(int64(d)))
	}
}
