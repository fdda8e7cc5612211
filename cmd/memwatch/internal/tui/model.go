package tui

import (
	"slices"

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
	Source    string  // "live", or what is replayed
	Rate      float64 // events in a second
	Lost      uint64
	NoDevices string  // why it is not known what devices hold; "" if it is
	Overhead  float64 // estimated time that the probes take from the programs, seconds in a second
	Done      bool    // nothing more will come
	Note      string
}

// The pages.
type page int

const (
	processes page = iota
	sites          // of one process
	site           // one of them
	suspects       // of all processes
	tree           // of one process, by call stack
)

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
	way     []place // the pages that led here
	cursor  int
	scroll  int
	order   map[page]string // the column; none: by what is live
	filter  map[page]string
	typing  bool
	paused  bool
	help    bool
	helpAt  int  // its first line that is shown
	exact   bool // sizes in bytes
	invert  map[page]bool
	quitted bool
	save    Save
	said    string // what came of saving, until the next key
}

// A place is a page that was left for another, with what was chosen and where the cursor was.
type place struct {
	page
	pid           uint32
	start, stack  uint64
	class         string
	cursor, depth int // depth: lines scrolled away
}

// Save keeps a snapshot in a file, whose name it returns: as JSON, or as a profile.
type Save func(s *heap.Snapshot, profile bool) (name string, err error)

// saved is the message that a Save is done.
type saved string

// New returns a Model that waits for its first Frame.
func New() *Model {
	return &Model{width: 80, height: 24, order: make(map[page]string), filter: make(map[page]string), invert: make(map[page]bool)}
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
	case saved:
		m.said = string(msg)
	case tea.KeyPressMsg:
		m.said = ""
		cmd := m.key(msg)
		m.bound()
		return m, cmd
	}
	m.bound()
	return m, nil
}

// key does what a key asks for.
func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	k := msg.String()
	if m.typing {
		switch k {
		case "enter":
			m.typing = false
		case "esc":
			m.typing, m.filter[m.page] = false, ""
		case "backspace":
			if r := []rune(m.filter[m.page]); len(r) > 0 {
				m.filter[m.page] = string(r[:len(r)-1])
			}
		case "ctrl+c":
			return m.quit()
		default:
			if msg.Text != "" && len(m.filter[m.page]) < 64 {
				m.filter[m.page] += render.Clean(msg.Text)
			}
		}
		return nil
	}
	if m.help && k != "ctrl+c" {
		switch k {
		case "down", "j", "pgdown":
			m.helpAt++
		case "up", "k", "pgup":
			m.helpAt--
		default:
			m.help, m.helpAt = false, 0
		}
		return nil
	}
	switch k {
	case "q", "ctrl+c", "f10":
		return m.quit()
	case "ctrl+z":
		return tea.Suspend
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
	case "I", "R":
		m.invert[m.page] = !m.invert[m.page]
	case "M":
		m.by("LIVE")
	case "D":
		m.by("GROWTH")
	case "P":
		m.by("RATE", "ALLOCATED")
	case "T":
		m.by("PEAK", "OLDEST")
	case "N":
		m.by("PID", "OBJECTS")
	case "t", "f5":
		m.tree()
	case "s":
		return m.keep(false)
	case "e":
		return m.keep(true)
	case "enter", "right", "l":
		m.enter()
	case "esc", "backspace", "left":
		m.leave()
	case "tab":
		if m.page == suspects {
			m.back()
		} else {
			m.show(suspects)
		}
	}
	return nil
}

func (m *Model) quit() tea.Cmd {
	m.quitted = true
	return tea.Quit
}

// orderOf returns the title of the column by which a page's list is ordered.
func (m *Model) orderOf(p page) string {
	if o := m.order[p]; o != "" {
		return o
	}
	return "LIVE"
}

// orders returns the columns by which the page's list may be ordered, of those that have so many cells.
func (m *Model) orders(width int) []string {
	switch m.page {
	case processes:
		return sortable(layout(m.processColumns(), width))
	case sites, suspects:
		return sortable(layout(m.siteColumns(m.page), width))
	}
	return nil
}

// by orders the list by the first of names that it can be ordered by.
func (m *Model) by(names ...string) {
	for _, name := range names {
		if slices.Contains(m.orders(wide), name) {
			m.order[m.page] = name
			return
		}
	}
}

// turn orders the list by the next of the columns that are shown.
func (m *Model) turn(by int) {
	if all := m.orders(m.width); len(all) > 0 {
		m.order[m.page] = all[(slices.Index(all, m.orderOf(m.page))+by+len(all))%len(all)]
	}
}

// tree shows the call stacks of the chosen process, or goes back.
func (m *Model) tree() {
	switch m.page {
	case tree:
		m.back()
	case processes:
		if list := m.listProcesses(); m.cursor < len(list) {
			p := list[m.cursor]
			m.show(tree)
			m.pid, m.start = p.PID, p.Start
		}
	case sites, site:
		m.show(tree)
	}
}

// keep saves what is shown: everything, or where one process was chosen only that.
func (m *Model) keep(profile bool) tea.Cmd {
	if m.save == nil || m.frame.Snapshot == nil {
		return nil
	}
	snap := *m.frame.Snapshot
	if p := m.process(); p != nil && m.page != processes && m.page != suspects {
		snap.Processes = []heap.Process{*p}
	}
	return func() tea.Msg {
		name, err := m.save(&snap, profile)
		if err != nil {
			return saved("not saved: " + render.Clean(err.Error()))
		}
		return saved("saved " + render.Clean(name))
	}
}

// show goes on to a page.
func (m *Model) show(p page) {
	m.way = append(m.way, place{m.page, m.pid, m.start, m.stack, m.class, m.cursor, m.scroll})
	m.page, m.cursor, m.scroll = p, 0, 0
}

// enter goes into what the cursor is on.
func (m *Model) enter() {
	switch m.page {
	case processes:
		if list := m.listProcesses(); m.cursor < len(list) {
			p := list[m.cursor]
			m.show(sites)
			m.pid, m.start = p.PID, p.Start
		}
	case sites, suspects:
		if list := m.listSites(); m.cursor < len(list) {
			s := list[m.cursor]
			m.show(site)
			m.pid, m.start, m.stack, m.class = s.process.PID, s.process.Start, s.Stack, s.Class
		}
	}
}

// leave clears the page's filter, and goes back if there is none.
func (m *Model) leave() {
	if m.filter[m.page] != "" && m.page != site {
		m.filter[m.page] = ""
		return
	}
	m.back()
}

// back goes to where the page was shown from, and to what was chosen there: lists may be in another order
// now.
func (m *Model) back() {
	if len(m.way) == 0 {
		return
	}
	left, to := *m, m.way[len(m.way)-1]
	m.way = m.way[:len(m.way)-1]
	m.page, m.pid, m.start, m.stack, m.class, m.cursor, m.scroll = to.page, to.pid, to.start, to.stack, to.class, to.cursor, to.depth
	switch m.page {
	case processes:
		if i := slices.IndexFunc(m.listProcesses(), func(p *heap.Process) bool { return p.PID == left.pid && p.Start == left.start }); i >= 0 && left.page != suspects {
			m.cursor = i
		}
	case sites, suspects:
		if i := slices.IndexFunc(m.listSites(), func(r row) bool {
			return r.process.PID == left.pid && r.process.Start == left.start && r.Stack == left.stack && r.Class == left.class
		}); i >= 0 && left.page == site {
			m.cursor = i
		}
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
	case tree:
		n = len(m.branches())
	}
	m.cursor = max(min(m.cursor, n-1), 0)
	m.scroll = max(min(m.scroll, m.cursor, n-1), m.cursor-m.rows()+1, 0)
}

// rows is how many lines a list has: all but those of devices or notes, two heads and the status.
func (m *Model) rows() int {
	if m.page == processes {
		return max(m.height-3-len(m.gauges()), 1)
	}
	return max(m.height-3-len(m.notes()), 1)
}

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
