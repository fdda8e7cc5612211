package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
	"github.com/lastuse/lastuse/internal/probe"
)

// schemaVersion is the version of the JSON output. Fields may be added under one
// version, never renamed or removed.
const schemaVersion = 1

// A report is what one look at the machine has found. Its JSON form is the output.
type report struct {
	Version   int           `json:"version"`
	Time      time.Time     `json:"time"`
	Processes []*processRow `json:"processes"`

	notes []string // for stderr
	least int64    // bytes that -fail-over compares: no less
	most  int64    // and no more
}

// A processRow is what the tables of one process say. Sizes are bytes. In the JSON output it is the Table of
// a process: fields may be added, never renamed or removed.
type processRow struct {
	PID        int          `json:"pid"`
	Command    string       `json:"command"`
	Tables     int          `json:"tables"`
	Rate       int64        `json:"rate"`        // bytes between samples; 1: exact; the largest of all tables
	LowerBound bool         `json:"lower_bound"` // a table had no room for all accounts or shards
	SitesLost  uint64       `json:"sites_lost"`  // samples whose site found no room
	Torn       int          `json:"torn"`        // shards that did not hold still
	Accounts   []accountRow `json:"accounts"`
	Sites      []siteRow    `json:"sites"`
	Markers    *markerRow   `json:"markers,omitempty"`
	totals

	snapshots []*probe.Snapshot
	all       []siteRow     // as they were before the command line chose some
	age       time.Duration // of the process, 0 if unknown
}

// totals are the numbers of an account or of all accounts of a process.
type totals struct {
	Live        int64  `json:"live"`
	Pending     int64  `json:"pending"`
	Idle        int64  `json:"idle"`
	Reserved    int64  `json:"reserved"` // live, pending and idle of pools; nothing of foreign memory
	Peak        int64  `json:"peak"`     // live never exceeded it
	LiveObjects int64  `json:"live_objects"`
	Made        uint64 `json:"made"`
	MadeBytes   uint64 `json:"made_bytes"`
	Freed       uint64 `json:"freed"` // by a call of Free
	Late        uint64 `json:"late"`  // by the collector
	LateBytes   uint64 `json:"late_bytes"`
	Repeated    uint64 `json:"repeated"`
}

// An accountRow is one pool, or memory made by somebody else.
type accountRow struct {
	Name    string `json:"name"`
	Foreign bool   `json:"foreign"`
	Closed  bool   `json:"closed"`
	Shards  int    `json:"shards"`
	totals
}

// A siteRow is one call stack, with what its samples stand for.
type siteRow struct {
	File        string    `json:"file"` // of the innermost call; "" if unknown
	Line        int       `json:"line"`
	Function    string    `json:"function"`
	Account     string    `json:"account"` // "" if it is gone or unknown
	Live        int64     `json:"live"`
	LiveObjects int64     `json:"live_objects"`
	Made        int64     `json:"made"`
	MadeBytes   int64     `json:"made_bytes"`
	Freed       int64     `json:"freed"` // by a call of Free
	Late        int64     `json:"late"`
	LateBytes   int64     `json:"late_bytes"`
	Samples     uint64    `json:"samples"`
	Exact       bool      `json:"exact"`       // every allocation was sampled
	Last        time.Time `json:"last"`        // the latest sampled allocation
	Old         int64     `json:"old"`         // of live, no less is as old as -older asks; without it all
	OldAtMost   int64     `json:"old_at_most"` // and no more
	Stack       []frame   `json:"stack"`

	hash uint64
}

// A frame is one call of a stack.
type frame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
}

// A markerRow is how often the marker functions were called while they were probed.
type markerRow struct {
	Alloc   uint64  `json:"alloc"`
	Free    uint64  `json:"free"`
	Seconds float64 `json:"seconds"`
}

// newProcessRow returns the row of a process with these tables.
func newProcessRow(pid int, command string, tables []*probe.Snapshot) *processRow {
	p := &processRow{PID: pid, Command: clean(command), Tables: len(tables), Accounts: []accountRow{}, Sites: []siteRow{}, snapshots: tables}
	for _, s := range tables {
		if s.Rate != 1 && (p.Rate == 0 || s.Rate > p.Rate || s.Rate < 0) {
			p.Rate = s.Rate
		}
		p.SitesLost += s.LostSites
		p.Torn += s.Torn
		p.LowerBound = p.LowerBound || s.LostAccounts+s.LostShards > 0
		for i := range s.Accounts {
			a := newAccountRow(&s.Accounts[i])
			p.Accounts = append(p.Accounts, a)
			p.totals.add(&a.totals)
		}
		for i := range s.Sites {
			p.Sites = append(p.Sites, newSiteRow(&s.Sites[i]))
		}
	}
	if p.Rate == 0 {
		p.Rate = 1
	}
	p.all = slices.Clone(p.Sites)
	slices.SortStableFunc(p.Sites, func(a, b siteRow) int {
		return cmp.Or(cmp.Compare(b.Live, a.Live), cmp.Compare(b.MadeBytes, a.MadeBytes),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return p
}

func newAccountRow(a *probe.AccountTotals) accountRow {
	return accountRow{
		Name: clean(a.Name), Foreign: a.Foreign, Closed: a.Closed, Shards: a.Shards,
		totals: totals{
			Live: a.Live(), Pending: a.Pending, Idle: a.Idle(), Reserved: a.Reserved, Peak: a.PeakBound,
			LiveObjects: a.LiveObjects(), Made: a.MadeObjects, MadeBytes: a.MadeBytes,
			Freed: a.FreedObjects - a.LateObjects, Late: a.LateObjects, LateBytes: a.LateBytes, Repeated: a.Repeated,
		},
	}
}

// add adds u to t. The sum of peaks is a bound on the peak of the sum.
func (t *totals) add(u *totals) {
	t.Live += u.Live
	t.Pending += u.Pending
	t.Idle += u.Idle
	t.Reserved += u.Reserved
	t.Peak += u.Peak
	t.LiveObjects += u.LiveObjects
	t.Made += u.Made
	t.MadeBytes += u.MadeBytes
	t.Freed += u.Freed
	t.Late += u.Late
	t.LateBytes += u.LateBytes
	t.Repeated += u.Repeated
}

func newSiteRow(s *probe.SiteTotals) siteRow {
	r := siteRow{
		Account: clean(s.Account), Live: s.Live(), LiveObjects: whole(s.AllocObjects - s.FreeObjects),
		Made: whole(s.AllocObjects), MadeBytes: int64(s.AllocBytes),
		Freed: whole(s.FreeObjects - s.LateObjects), Late: whole(s.LateObjects), LateBytes: int64(s.LateBytes),
		hash: s.Hash, Samples: s.Samples, Exact: s.Exact, Last: s.Last, Stack: parseStack(s.Stack),
	}
	if len(r.Stack) > 0 {
		r.Function, r.File, r.Line = r.Stack[0].Function, r.Stack[0].File, r.Stack[0].Line
	}
	return r
}

// whole returns objects in units of 1/[probe.ObjectUnit] as a whole number. A frame that
// was read while it moved may come out below zero: then nothing is live.
func whole(n uint64) int64 {
	if int64(n) < 0 {
		return 0
	}
	return int64((n + probe.ObjectUnit/2) / probe.ObjectUnit)
}

// parseStack reads a stack as the table keeps it: "function\tfile:line\n" for each call.
func parseStack(text string) []frame {
	stack := []frame{}
	for line := range strings.Lines(text) {
		f, at, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		file, num := at, ""
		if i := strings.LastIndexByte(at, ':'); i >= 0 {
			file, num = at[:i], at[i+1:]
		}
		n, _ := strconv.Atoi(num) // 0 if it is no number
		stack = append(stack, frame{Function: clean(f), File: clean(file), Line: n})
	}
	return stack
}

// longCount is how long a count is said to run before it ends.
const longCount = 5 * time.Second

// look reads the processes that the command line names, or all that have a table.
// Before is an earlier look, or nil.
func (c *config) look(ctx context.Context, before *report) (*report, error) {
	r := &report{Time: time.Now(), Processes: []*processRow{}}
	if len(c.pids) == 0 {
		if err := r.lookAtAll(ctx); err != nil {
			return nil, err
		}
	}
	for _, pid := range c.pids {
		p, err := inspect(ctx, pid)
		if err != nil {
			return nil, fmt.Errorf("process %d: %w", pid, err)
		}
		if c.markers > 0 {
			counting := func() {
				if c.once && c.markers >= longCount {
					fmt.Fprintf(c.wErr, "memwatch: counting for %v; Ctrl-C ends it and shows what there is\n", c.markers)
				}
			}
			if p.Markers, err = countMarkers(ctx, pid, p.snapshots, c.markers, counting); err != nil {
				return nil, fmt.Errorf("process %d: count: %w", pid, err)
			}
		}
		r.Processes = append(r.Processes, p)
	}
	for _, p := range r.Processes {
		c.choose(p, r, before)
	}
	return r, nil
}

// lookAtAll reads every process that has a table.
func (r *report) lookAtAll(ctx context.Context) error {
	all, err := pids()
	if err != nil {
		return err
	}
	refused := 0
	var others []string
	for _, pid := range all {
		switch p, err := inspect(ctx, pid); {
		case err == nil:
			r.Processes = append(r.Processes, p)
		case errors.Is(err, procfs.ErrRights):
			refused++
		case errors.Is(err, procfs.ErrNoTable):
			if usesDriver(pid) != "" {
				others = append(others, strconv.Itoa(pid))
			}
		case errors.Is(err, procfs.ErrGone):
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			r.notes = append(r.notes, fmt.Sprintf("process %d: %v", pid, err))
		}
	}
	if len(others) > 0 {
		r.notes = append(r.notes, fmt.Sprintf("using a driver, and without a table: %s; memwatch -driver watches their calls", strings.Join(others, ", ")))
	}
	if refused > 0 {
		why := "run as root to see them"
		if isRoot() {
			why = "root needs CAP_SYS_PTRACE for that, and here it is missing or not enough"
		}
		r.notes = append(r.notes, fmt.Sprintf("of other users, not looked at: %s; %s", render.Count(refused, "process", "processes"), why))
	}
	return nil
}

// choose keeps the sites that the command line asks for, and adds to r what is live: everything, or with
// -older what is so old. Before is an earlier look, or nil.
func (c *config) choose(p *processRow, r, before *report) {
	for i := range p.Sites {
		c.age(&p.Sites[i], p, r, before)
	}
	if c.older > 0 {
		p.Sites = slices.DeleteFunc(p.Sites, func(s siteRow) bool { return s.OldAtMost <= 0 && (s.Live > 0 || r.Time.Sub(s.Last) < c.older) })
		for _, s := range p.Sites {
			r.least, r.most = r.least+s.Old, r.most+s.OldAtMost
		}
	} else {
		r.least, r.most = r.least+p.Live, r.most+p.Live
	}
	if c.command == "leaks" {
		p.Sites = slices.DeleteFunc(p.Sites, func(s siteRow) bool { return s.Live <= 0 })
	}
	if c.top > 0 && len(p.Sites) > c.top {
		p.Sites = p.Sites[:c.top]
	}
}

// age says how much of a site is as old as the command line asks. The table knows when a site allocated last,
// and not which of its allocations were freed.
func (c *config) age(s *siteRow, p *processRow, r, before *report) {
	s.Old, s.OldAtMost = s.Live, s.Live
	if c.older == 0 || r.Time.Sub(s.Last) >= c.older {
		return
	}
	s.Old = 0
	if p.age > 0 && p.age < c.older {
		s.OldAtMost = 0
		return
	}
	if before == nil || r.Time.Sub(before.Time) < c.older {
		return
	}
	was := siteRow{} // it was not there
	for _, q := range before.Processes {
		for i := range q.all {
			if q.PID == p.PID && q.all[i].hash == s.hash && q.all[i].Account == s.Account {
				was = q.all[i]
			}
		}
	}
	least, most := heap.Held(uint64(max(s.Live, 0)), uint64(max(s.MadeBytes-was.MadeBytes, 0)), uint64(max(was.Live, 0)))
	s.Old, s.OldAtMost = int64(least), int64(most)
}
