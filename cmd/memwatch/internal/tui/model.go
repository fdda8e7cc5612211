package tui

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// A Frame is what the interface shows at one time. Nothing of it changes afterwards.
type Frame struct {
	Snapshot *heap.Snapshot
	Status   Status
}

// Status is the last line.
type Status struct {
	Source   string  // "live", or what is replayed
	Rate     float64 // events in a second
	Lost     uint64
	Overhead float64 // estimated time that the probes take from the programs, seconds in a second
	Done     bool    // nothing more will come
	Note     string
}

// The pages.
type page int

const (
	processes page = iota
	sites          // of one process
	site           // one of them
	suspects       // of all processes
)

// The orders of a list.
var orders = map[page][]string{
	processes: {"live", "peak", "rate", "objects", "pid", "name"},
	sites:     {"live", "objects", "allocated", "oldest"},
	suspects:  {"live"},
}

// A Model is the state of the interface.
type Model struct {
	frame   Frame
	next    *Frame // newest, while paused
	width   int
	height  int
	page    page
	pid     uint32 // chosen process
	start   uint64
	stack   uint64 // chosen site
	class   string
	from    page // of page site: where it was chosen
	cursor  int
	scroll  int
	order   map[page]int
	filter  string
	typing  bool
	paused  bool
	help    bool
	exact   bool // sizes in bytes
	quitted bool
}

// New returns a Model that waits for its first Frame.
func New() *Model {
	return &Model{width: 80, height: 24, order: make(map[page]int)}
}

// Init asks for nothing.
func (m *Model) Init() tea.Cmd { return nil }

// Update takes a key, a size or a Frame.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(msg.Width, 20), max(msg.Height, 6)
	case Frame:
		if m.paused {
			m.next = &msg
		} else {
			m.frame = msg
		}
	case tea.KeyPressMsg:
		m.key(msg)
		if m.quitted {
			return m, tea.Quit
		}
	}
	m.bound()
	return m, nil
}

// key does what a key asks for.
func (m *Model) key(msg tea.KeyPressMsg) {
	k := msg.String()
	if m.typing {
		switch k {
		case "enter":
			m.typing = false
		case "esc":
			m.typing, m.filter = false, ""
		case "backspace":
			if r := []rune(m.filter); len(r) > 0 {
				m.filter = string(r[:len(r)-1])
			}
		case "ctrl+c":
			m.quitted = true
		default:
			if msg.Text != "" && len(m.filter) < 64 {
				m.filter += render.Clean(msg.Text)
			}
		}
		return
	}
	if m.help && k != "ctrl+c" && k != "q" {
		m.help = false
		return
	}
	switch k {
	case "q", "ctrl+c", "f10":
		m.quitted = true
	case "?", "h", "f1":
		m.help = true
	case "/", "f3", "f4":
		m.typing = true
	case "space", "p":
		m.paused = !m.paused
		if !m.paused && m.next != nil {
			m.frame, m.next = *m.next, nil
		}
	case "b":
		m.exact = !m.exact
	case "up", "k":
		m.cursor--
	case "down", "j":
		m.cursor++
	case "pgup":
		m.cursor -= m.rows()
	case "pgdown":
		m.cursor += m.rows()
	case "home", "g":
		m.cursor = 0
	case "end", "G":
		m.cursor = 1 << 30
	case ">", "f6", ".":
		m.turn(1)
	case "<", ",":
		m.turn(-1)
	case "enter", "right", "l":
		m.enter()
	case "esc", "backspace", "left":
		m.leave()
	case "tab":
		if m.page == suspects {
			m.show(processes)
		} else {
			m.show(suspects)
		}
	}
}

func (m *Model) show(p page) { m.page, m.cursor, m.scroll = p, 0, 0 }

func (m *Model) turn(by int) {
	if n := len(orders[m.page]); n > 0 {
		m.order[m.page] = (m.order[m.page] + by + n) % n
	}
}

// enter goes into what the cursor is on.
func (m *Model) enter() {
	switch m.page {
	case processes:
		if list := m.listProcesses(); m.cursor < len(list) {
			m.pid, m.start = list[m.cursor].PID, list[m.cursor].Start
			m.show(sites)
		}
	case sites, suspects:
		if list := m.listSites(); m.cursor < len(list) {
			s := list[m.cursor]
			m.pid, m.start, m.stack, m.class = s.process.PID, s.process.Start, s.Stack, s.Class
			m.from = m.page
			m.show(site)
		}
	}
}

// leave goes back.
func (m *Model) leave() {
	switch m.page {
	case site:
		m.show(m.from)
	case sites, suspects:
		m.show(processes)
	default:
		m.filter = ""
	}
}

// bound keeps the cursor on the list and the list around the cursor.
func (m *Model) bound() {
	n := 0
	switch m.page {
	case processes:
		n = len(m.listProcesses())
	case sites, suspects:
		n = len(m.listSites())
	}
	m.cursor = max(min(m.cursor, n-1), 0)
	m.scroll = max(min(m.scroll, m.cursor, n-1), m.cursor-m.rows()+1, 0)
}

// rows is how many lines a list has: all but the head, two titles, and the status.
func (m *Model) rows() int { return max(m.height-5, 1) }

// process returns the chosen process, or nil if it is not there any more.
func (m *Model) process() *heap.Process {
	if m.frame.Snapshot == nil {
		return nil
	}
	for i := range m.frame.Snapshot.Processes {
		if p := &m.frame.Snapshot.Processes[i]; p.PID == m.pid && p.Start == m.start {
			return p
		}
	}
	return nil
}

// listProcesses returns the processes that the filter leaves, in order.
func (m *Model) listProcesses() []*heap.Process {
	if m.frame.Snapshot == nil {
		return nil
	}
	var list []*heap.Process
	for i := range m.frame.Snapshot.Processes {
		p := &m.frame.Snapshot.Processes[i]
		if m.filter == "" || strings.Contains(strings.ToLower(p.Name), strings.ToLower(m.filter)) {
			list = append(list, p)
		}
	}
	by := orders[processes][m.order[processes]]
	slices.SortStableFunc(list, func(a, b *heap.Process) int {
		switch by {
		case "peak":
			return -cmp.Compare(a.Peak, b.Peak)
		case "rate":
			return -cmp.Compare(a.Rate, b.Rate)
		case "objects":
			return -cmp.Compare(a.Objects, b.Objects)
		case "pid":
			return cmp.Compare(a.PID, b.PID)
		case "name":
			return cmp.Compare(a.Name, b.Name)
		}
		return 0 // the snapshot's order: live, the exited last
	})
	return list
}

// A row is a site and the process that it is of.
type row struct {
	*heap.Site
	process *heap.Process
}

// listSites returns the sites of the page that the filter leaves, in order.
func (m *Model) listSites() []row {
	if m.frame.Snapshot == nil {
		return nil
	}
	var list []row
	add := func(p *heap.Process) {
		for i := range p.Sites {
			s := &p.Sites[i]
			if m.page == suspects && len(s.Suspect) == 0 {
				continue
			}
			if m.filter == "" || strings.Contains(strings.ToLower(render.Title(s)+" "+s.Class), strings.ToLower(m.filter)) {
				list = append(list, row{s, p})
			}
		}
	}
	if m.page == suspects {
		for i := range m.frame.Snapshot.Processes {
			add(&m.frame.Snapshot.Processes[i])
		}
		slices.SortStableFunc(list, func(a, b row) int { return -cmp.Compare(a.Live, b.Live) })
		return list
	}
	p := m.process()
	if p == nil {
		return nil
	}
	add(p)
	by := orders[sites][m.order[sites]]
	slices.SortStableFunc(list, func(a, b row) int {
		switch by {
		case "objects":
			return -cmp.Compare(a.Objects, b.Objects)
		case "allocated":
			return -cmp.Compare(a.AllocBytes, b.AllocBytes)
		case "oldest":
			return -cmp.Compare(a.Oldest, b.Oldest)
		}
		return 0
	})
	return list
}
