package alloctest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/lastuse/lastuse/alloc"
)

// Graphs of a Late. A launch gives each stream of the capture a queue of its own again, with the waits that
// were captured: so two streams of a graph run in any order that these leave open.

var _ alloc.Grapher = (*Late)(nil)

// A lateTaking is a capture. What was captured is its members' queues.
type lateTaking struct {
	members []*lateMember
	over    bool
}

// A lateMember is a stream's part in a capture.
type lateMember struct {
	taking *lateTaking
	stream *lateStream
	index  int
	queue  []*lateWork
	knows  []int // by member: how much of its queue comes before what this one is given now
}

// A latePlace is where an event was recorded in a capture.
type latePlace struct {
	member *lateMember
	count  int
	knows  []int
}

// lateExec is an executable.
type lateExec struct {
	taking *lateTaking
	last   *lateMark // behind the latest launch
}

// learn notes that what m is given from now on comes behind p.
func (m *lateMember) learn(p *latePlace) {
	for len(m.knows) < len(m.taking.members) {
		m.knows = append(m.knows, 0)
	}
	for i, n := range p.knows {
		m.knows[i] = max(m.knows[i], n)
	}
	m.knows[p.member.index] = max(m.knows[p.member.index], p.count)
	m.queue = append(m.queue, &lateWork{from: p})
}

// place returns what m has been given.
func (m *lateMember) place() *latePlace {
	return &latePlace{member: m, count: len(m.queue), knows: slices.Clone(m.knows)}
}

// joined reports whether the origin waits for all work of the others.
func (t *lateTaking) joined() bool {
	first := t.members[0]
	for i, m := range t.members[1:] {
		last := len(m.queue)
		for last > 0 && m.queue[last-1].run == nil {
			last--
		}
		if last > 0 && (i+1 >= len(first.knows) || first.knows[i+1] < last) {
			return false
		}
	}
	return true
}

// BeginCapture begins to note what a stream is given.
func (l *Late) BeginCapture(s uintptr) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	st, err := l.running(s)
	if err != nil || s == lateDefault {
		return errors.Join(err,
			fmt.Errorf("alloctest: late: begin capture of stream %d: %w", s, alloc.ErrCapturing))
	}
	t := new(lateTaking)
	st.member = &lateMember{taking: t, stream: st}
	t.members = []*lateMember{st.member}
	return nil
}

// JoinCapture makes s a part of a capture.
func (l *Late) JoinCapture(origin, s, e uintptr) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	st, err := l.running(s)
	if err != nil {
		return err
	}
	ev, err := l.event(e)
	if err != nil {
		return err
	}
	p := ev.place
	if p == nil || p.member.taking.over || s == lateDefault ||
		p.member.taking.members[0].stream.handle != origin {
		return fmt.Errorf("alloctest: late: join capture: event %d is not of it: %w", e, alloc.ErrCapturing)
	}
	t := p.member.taking
	st.member = &lateMember{taking: t, stream: st, index: len(t.members)}
	t.members = append(t.members, st.member)
	st.member.learn(p)
	return nil
}

// EndCapture ends a capture.
func (l *Late) EndCapture(origin uintptr) (uintptr, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	st, err := l.on(origin)
	if err != nil || st.member == nil || st.member.index != 0 {
		return 0, errors.Join(err, fmt.Errorf("alloctest: late: no capture began with stream %d", origin))
	}
	t := st.member.taking
	t.over = true
	for _, m := range t.members {
		m.stream.member = nil
	}
	if !t.joined() {
		return 0, errors.New("alloctest: late: end capture: a stream that joined is not waited for")
	}
	l.last++
	l.graphs[l.last] = t
	return l.last, nil
}

// DestroyGraph gives a graph up.
func (l *Late) DestroyGraph(g uintptr) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.graphs[g] == nil {
		return fmt.Errorf("%w: graph %d", errNoHandle, g)
	}
	delete(l.graphs, g)
	return nil
}

// Instantiate makes an executable.
func (l *Late) Instantiate(g uintptr) (uintptr, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.graphs[g]
	if t == nil {
		return 0, fmt.Errorf("%w: graph %d", errNoHandle, g)
	}
	l.last++
	l.execs[l.last] = &lateExec{taking: t}
	return l.last, nil
}

// UpdateExec takes a graph whose streams have as much work.
func (l *Late) UpdateExec(x, g uintptr) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	exec, t := l.execs[x], l.graphs[g]
	if exec == nil || t == nil {
		return false, fmt.Errorf("%w: executable %d or graph %d", errNoHandle, x, g)
	}
	same := slices.EqualFunc(exec.taking.members, t.members, func(a, b *lateMember) bool {
		return len(a.queue) == len(b.queue)
	})
	if same {
		exec.taking = t
	}
	return same, nil
}

// LaunchExec enqueues a launch.
func (l *Late) LaunchExec(x, s uintptr) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	st, err := l.running(s)
	if err != nil {
		return err
	}
	exec := l.execs[x]
	if exec == nil {
		return fmt.Errorf("%w: executable %d", errNoHandle, x)
	}
	l.branches = slices.DeleteFunc(l.branches, func(b *lateStream) bool { return len(b.queue) == 0 })
	before := []*lateWork{{after: &lateMark{st, st.end()}}, {after: exec.last}}
	branches := make([]*lateStream, len(exec.taking.members))
	for i := range branches {
		branches[i] = &lateStream{handle: s, queue: slices.Clone(before)}
	}
	for i, m := range exec.taking.members {
		for _, w := range m.queue {
			again := *w
			if w.lost != "" {
				again.run = nil
				l.faults = append(l.faults,
					fmt.Errorf("alloctest: late: launch of a %s of memory behind its %s", w.what, w.lost))
			}
			if p := w.from; p != nil {
				again.after = &lateMark{branches[p.member.index], uint64(len(before) + p.count)}
			}
			branches[i].queue = append(branches[i].queue, &again)
		}
	}
	l.branches = append(l.branches, branches...)
	st.queue = append(st.queue, &lateWork{after: &lateMark{branches[0], branches[0].end()}})
	exec.last = &lateMark{st, st.end()}
	return nil
}

// DestroyExec gives an executable up. It is a fault if a launch has not run.
func (l *Late) DestroyExec(x uintptr) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	exec := l.execs[x]
	if exec == nil {
		return fmt.Errorf("%w: executable %d", errNoHandle, x)
	}
	if m := exec.last; m != nil && m.stream.ran < m.number {
		l.faults = append(l.faults, fmt.Errorf("alloctest: late: executable %d goes before its launch", x))
	}
	delete(l.execs, x)
	return nil
}
