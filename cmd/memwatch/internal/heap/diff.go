package heap

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Difference is what became of memory between two snapshots: of one session, or of two runs of a program.
type Difference struct {
	Before    int64           `json:"before"` // own bytes of all processes
	After     int64           `json:"after"`
	Grown     int64           `json:"grown"`   // by which processes grew that did
	Inexact   bool            `json:"inexact"` // in one of them events were lost
	Processes []ProcessChange `json:"processes"`
}

// A ProcessChange is what became of a process, or of all of a name where the two are not of the same run.
type ProcessChange struct {
	Name   string       `json:"name"`
	PIDs   []uint32     `json:"pids"`
	Before Level        `json:"before"`
	After  Level        `json:"after"`
	Sites  []SiteChange `json:"sites"`  // that changed, what grew most first
	Hidden int          `json:"hidden"` // sites that a snapshot left out: some may have grown
}

// A SiteChange is what became of a site.
type SiteChange struct {
	Site   `json:"site"`
	Before Level `json:"before"`
	After  Level `json:"after"`
}

// A Level is what is live at one time, or was when the process exited.
type Level struct {
	Bytes   int64 `json:"bytes"`
	Objects int64 `json:"objects"`
}

func (l *Level) add(bytes, objects int64) { l.Bytes, l.Objects = l.Bytes+bytes, l.Objects+objects }

// Grown returns by how many bytes a site grew.
func (c *SiteChange) Grown() int64 { return c.After.Bytes - c.Before.Bytes }

// Grown returns by how many bytes a process grew.
func (c *ProcessChange) Grown() int64 { return c.After.Bytes - c.Before.Bytes }

// Diff compares two snapshots. A process that is in both is compared with itself, other processes by their
// names; sites by their class and their calls.
func Diff(before, after *Snapshot) *Difference {
	same := make(map[processID]int)
	for _, s := range []*Snapshot{before, after} {
		for i := range s.Processes {
			same[idOf(&s.Processes[i])]++
		}
	}
	d := &Difference{}
	changes := make(map[string]*change)
	for i, s := range []*Snapshot{before, after} {
		for j := range s.Processes {
			p := &s.Processes[j]
			key := p.Name
			if id := idOf(p); same[id] == 2 {
				key = fmt.Sprintf("%s %d %d", p.Name, p.PID, p.Start)
			}
			c := changes[key]
			if c == nil {
				c = &change{ProcessChange: ProcessChange{Name: p.Name}, sites: make(map[string]*SiteChange)}
				changes[key] = c
			}
			c.take(p, i == 1)
			d.Inexact = d.Inexact || p.Inexact
		}
	}
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		c := changes[key].finish()
		d.Before, d.After = d.Before+c.Before.Bytes, d.After+c.After.Bytes
		d.Grown += max(c.Grown(), 0)
		d.Processes = append(d.Processes, c)
	}
	slices.SortStableFunc(d.Processes, func(a, b ProcessChange) int { return cmp.Compare(b.Grown(), a.Grown()) })
	return d
}

type processID struct {
	pid   uint32
	start uint64
	name  string
}

func idOf(p *Process) processID { return processID{p.PID, p.Start, p.Name} }

// A change is a ProcessChange in the making.
type change struct {
	ProcessChange
	sites map[string]*SiteChange
}

// take adds a process of one of the snapshots.
func (c *change) take(p *Process, after bool) {
	pick := func(before, now *Level) *Level {
		if after {
			return now
		}
		return before
	}
	if !slices.Contains(c.PIDs, p.PID) {
		c.PIDs = append(c.PIDs, p.PID)
	}
	c.Hidden += p.Hidden
	level := pick(&c.Before, &c.After)
	if p.Exited {
		level.add(p.AtExit, p.AtExitObjects)
	} else {
		level.add(p.Live, p.Objects)
	}
	for i := range p.Sites {
		s := &p.Sites[i]
		key := s.calls()
		of := c.sites[key]
		if of == nil {
			of = &SiteChange{}
			c.sites[key] = of
		}
		if of.Site.Class == "" || after { // what it looks like now
			of.Site = *s
		}
		level := pick(&of.Before, &of.After)
		if p.Exited {
			level.add(s.AtExitBytes, s.AtExitObjects)
		} else {
			level.add(s.Live, s.Objects)
		}
	}
}

// finish returns the sites that changed in order.
func (c *change) finish() ProcessChange {
	for _, key := range slices.Sorted(maps.Keys(c.sites)) {
		if s := c.sites[key]; s.Before != s.After {
			c.Sites = append(c.Sites, *s)
		}
	}
	slices.SortStableFunc(c.Sites, func(a, b SiteChange) int {
		return cmp.Or(cmp.Compare(b.Grown(), a.Grown()), cmp.Compare(b.After.Objects-b.Before.Objects, a.After.Objects-a.Before.Objects))
	})
	return c.ProcessChange
}

// calls returns what is the same of a site in two runs of a program: its class and its calls. Addresses and
// numbers of stacks are not.
func (s *Site) calls() string {
	var b strings.Builder
	b.WriteString(s.Class)
	for i := range s.Frames {
		f := &s.Frames[i]
		if f.Func == "" {
			fmt.Fprintf(&b, "\x00%#x", f.PC)
			continue
		}
		fmt.Fprintf(&b, "\x00%s\x01%s\x01%d\x01%s", f.Func, f.File, f.Line, f.Module)
	}
	if len(s.Frames) == 0 {
		fmt.Fprintf(&b, "\x00%d", s.Stack)
	}
	return b.String()
}
