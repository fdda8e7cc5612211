package tui

import (
	"errors"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// special are the keys that are no letter.
var special = map[string]rune{
	"↑": tea.KeyUp, "↓": tea.KeyDown, "→": tea.KeyRight, "←": tea.KeyLeft, "enter": tea.KeyEnter, "esc": tea.KeyEscape, "bksp": tea.KeyBackspace,
	"tab": tea.KeyTab, "home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdn": tea.KeyPgDown, "space": tea.KeySpace,
	"F1": tea.KeyF1, "F3": tea.KeyF3, "F5": tea.KeyF5, "F6": tea.KeyF6, "F10": tea.KeyF10,
}

func keyOf(name string) tea.KeyPressMsg {
	if code, ok := special[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// TestEveryKey presses each key that the help names where it means something: the
// screen changes, or the program is asked to do something.
func TestEveryKey(t *testing.T) {
	var keys []string
	for _, line := range help()[2:] {
		if line == "" {
			break
		}
		cells := []rune(line + strings.Repeat(" ", 60))
		columns := [][]rune{cells[2:17], cells[37:51]}
		if string(cells[35:37]) != "  " { // a long description
			columns = columns[:1]
		}
		for _, column := range columns {
			for _, word := range strings.Fields(string(column)) {
				if special[word] != 0 || len([]rune(word)) == 1 {
					keys = append(keys, word)
				}
			}
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	require.Greater(t, len(keys), 39, "%v", keys)
	for _, key := range keys {
		changed := false
		// Some place where the key means something: a page, and where the cursor is on it.
		for _, before := range [][]string{nil, {"↓"}, {"enter"}, {"enter", "↓"}, {"enter", ">"}, {"tab"}, {"t"}, {"t", "end"}, {"end"}, {"/", "w", "enter"}} {
			m := New()
			m.save = func(*heap.Snapshot, bool) (string, error) { return "", nil }
			m.Update(tea.WindowSizeMsg{Width: 110, Height: 9})
			m.Update(at(t, 90))
			for _, k := range before {
				m.Update(keyOf(k))
			}
			was := m.View().Content
			_, cmd := m.Update(keyOf(key))
			changed = changed || cmd != nil || m.View().Content != was
		}
		require.True(t, changed, "%s is in the help and does nothing", key)
	}
}

// TestSuspectsAreMarked finds the way to a leak on the first page: the process that has one is marked, and
// the key named.
func TestSuspectsAreMarked(t *testing.T) {
	m := New()
	m.Update(tea.WindowSizeMsg{Width: 110, Height: 16})
	m.Update(at(t, 120))
	m.cursor = 2 // on another
	lines := strings.Split(m.View().Content, "\n")
	require.Contains(t, lines[0], "1 suspect: tab")
	var marked []string
	for _, l := range lines {
		if strings.HasPrefix(l, warning.Render("!")) || strings.HasPrefix(l, danger.Render("‼")) {
			marked = append(marked, ansi.Strip(l))
		}
	}
	require.Len(t, marked, 2, "the process, and below the list its line")
	require.Contains(t, marked[0], "trainer")
	require.Contains(t, marked[1], "main.(*Cache).put")
	for _, keys := range [][]string{{"enter"}, {"tab"}, {"t"}} {
		m.show(processes)
		press(m, keys...)
		found := 0
		for _, l := range strings.Split(screen(t, m), "\n") {
			if strings.HasPrefix(l, "!") && strings.Contains(l, "(*Cache).put") {
				found++
			}
		}
		require.Equal(t, 1, found, "%v: also where the cursor is on it", keys)
	}
}

// TestFilterOfPage: what chose a process is not asked of its sites.
func TestFilterOfPage(t *testing.T) {
	m := New()
	m.Update(at(t, 90))
	press(m, "/", "t", "r", "a", "i", "n", "enter")
	require.NotContains(t, screen(t, m), "inference")
	press(m, "enter")
	require.Contains(t, screen(t, m), "loadWeights")
	press(m, "esc")
	require.NotContains(t, screen(t, m), "inference", "it is still there")
}

// TestColours holds colours to their meaning.
func TestColours(t *testing.T) {
	f := at(t, 120)
	m := New()
	m.Update(tea.WindowSizeMsg{Width: 110, Height: 16})
	p := &f.Snapshot.Processes[0]
	draw := func() string {
		m.Update(f)
		m.cursor = 1
		return m.View().Content
	}
	p.Growth = 3 << 20
	require.Contains(t, draw(), warning.Render(" +3.0 MiB/s"))
	p.Growth = -3 << 20
	require.Contains(t, draw(), good.Render(" -3.0 MiB/s"))
	p.Growth, p.Full = 3<<20, int64(soon)-1
	require.Contains(t, draw(), danger.Render(" +3.0 MiB/s"))
	p.OOM = &heap.OutOfMemory{}
	require.Contains(t, draw(), danger.Render("‼"))
}

// TestSuspend stops as every program at a terminal does.
func TestSuspend(t *testing.T) {
	m := New()
	m.Update(at(t, 90))
	was := m.View().Content
	_, cmd := m.Update(tea.KeyPressMsg{Code: 'z', Mod: tea.ModCtrl})
	require.NotNil(t, cmd)
	require.IsType(t, tea.SuspendMsg{}, cmd())
	require.Equal(t, was, m.View().Content)
}

// TestHelpGoesBack leaves the help by the key that elsewhere quits, as it says.
func TestHelpGoesBack(t *testing.T) {
	for _, key := range []string{"q", "F10", "esc", "?", "x"} {
		m := New()
		m.Update(at(t, 90))
		was := m.View().Content
		m.Update(keyOf("?"))
		require.Contains(t, m.View().Content, "any other key goes back")
		_, cmd := m.Update(keyOf(key))
		require.Nil(t, cmd, key)
		require.Equal(t, was, m.View().Content, key)
	}
}

// TestSave saves what is shown, and tells what came of it.
func TestSave(t *testing.T) {
	var got *heap.Snapshot
	var profile bool
	var err error
	m := New()
	m.Update(tea.WindowSizeMsg{Width: 110, Height: 16})
	_, cmd := m.Update(keyOf("s"))
	require.Nil(t, cmd, "there is nothing to save, and nowhere")
	m.save = func(s *heap.Snapshot, p bool) (string, error) { got, profile = s, p; return "a\x1bfile", err }
	m.Update(at(t, 90))
	do := func(key string) string {
		_, cmd := m.Update(keyOf(key))
		require.NotNil(t, cmd)
		m.Update(cmd())
		return screen(t, m)
	}
	require.Contains(t, do("s"), "saved a?file")
	require.Len(t, got.Processes, 3)
	require.False(t, profile)
	m.Update(keyOf("↓"))
	require.NotContains(t, screen(t, m), "saved", "until the next key")
	m.Update(keyOf("enter"))
	require.Contains(t, do("e"), "saved")
	require.Len(t, got.Processes, 1, "only the process that was chosen")
	require.True(t, profile)
	err = errors.New("no room\nleft")
	require.Contains(t, do("e"), "not saved: no room?left")
}

// TestTree holds the tree to the sites: every level adds up.
func TestTree(t *testing.T) {
	m := New()
	m.Update(tea.WindowSizeMsg{Width: 110, Height: 40})
	m.Update(at(t, 90))
	press(m, "t")
	all := m.branches()
	require.Equal(t, m.process().Live, all[0].live)
	for i, b := range all {
		var below int64
		for _, c := range all[i+1:] {
			if c.depth <= b.depth {
				break
			}
			if c.depth == b.depth+1 {
				below += c.live
			}
		}
		if below != 0 {
			require.Equal(t, b.live, below, b.name)
		}
	}
	press(m, "/", "c", "a", "c", "h", "e", "enter")
	require.Contains(t, screen(t, m), "put")
	require.NotContains(t, screen(t, m), "loadWeights")
	m.Update(Frame{Snapshot: &heap.Snapshot{}})
	require.Contains(t, screen(t, m), "the process is gone")
}
