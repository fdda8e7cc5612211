package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/live"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// render writes a report in the format that the command line asks for, in one Write.
func (c *config) render(w io.Writer, r *report) error {
	c.w = w
	var b strings.Builder
	switch c.format {
	case "json":
		return render.JSON(w, c.snapshot(r))
	case "jsonl":
		return render.JSONLine(w, c.snapshot(r))
	case "folded", "pprof":
		return c.profile(c.snapshot(r), r.Time.UnixNano())
	default:
		c.text(&b, r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// snapshot turns a report into the form of a session, which is that of everything that machines read. What a
// session does not know of is in the processes' Table.
func (c *config) snapshot(r *report) *heap.Snapshot {
	h := heap.New(heap.Options{})
	now := r.Time.UnixNano()
	rows := make(map[uint32]*processRow)
	for _, p := range r.Processes {
		pid := uint32(p.PID)
		rows[pid] = p
		h.Apply(&heap.Event{Op: heap.Start, PID: pid, Time: now, Text: p.Command, Size: 1})
		for _, e := range live.Told(pid, p.snapshots, now) {
			h.Apply(&e)
		}
	}
	snap := h.Snapshot(heap.Query{})
	for i := range snap.Processes {
		p := &snap.Processes[i]
		row := rows[p.PID]
		p.Table, p.Peak = row, row.Peak
		chosen := make(map[uint64]siteRow)
		for _, s := range row.Sites {
			chosen[max(s.hash, 1)] = s
		}
		p.Hidden = len(p.Sites)
		p.Sites = slices.DeleteFunc(p.Sites, func(s heap.Site) bool {
			_, ok := chosen[s.Stack]
			return !ok
		})
		p.Hidden -= len(p.Sites)
		for j := range p.Sites {
			s := &p.Sites[j]
			s.OldBytes, s.OldAtMost = chosen[s.Stack].Old, chosen[s.Stack].OldAtMost
		}
	}
	return snap
}

// text writes the report for people to read.
func (c *config) text(b *strings.Builder, r *report) {
	switch {
	case c.command != "":
		for _, p := range r.Processes {
			c.head(b, p)
			c.sites(b, p, r.Time)
		}
	case len(c.pids) == 0:
		c.list(b, r)
	default:
		for _, p := range r.Processes {
			c.head(b, p)
			c.accounts(b, p)
			if m := p.Markers; m != nil {
				fmt.Fprintf(b, "markers: %d alloc, %d free in %.1fs\n", m.Alloc, m.Free, m.Seconds)
			}
			fmt.Fprintln(b)
			c.sites(b, p, r.Time)
		}
	}
	if c.command != "" && len(r.Processes) == 0 {
		fmt.Fprintln(b, nothing)
	}
}

const nothing = "no process here has a table (programs that use lastuse have one)"

// list writes one line for each process.
func (c *config) list(b *strings.Builder, r *report) {
	if len(r.Processes) == 0 {
		fmt.Fprintln(b, nothing)
		return
	}
	fmt.Fprintf(b, "every process with a table: %d\n", len(r.Processes))
	t := table(b)
	fmt.Fprintln(t, "PID\tCOMMAND\tLIVE\tPENDING\tIDLE\tRESERVED\tOBJECTS\tLATE")
	for _, p := range r.Processes {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%d\t%d\n", p.PID, p.Command, p.bound(c.size(p.Live)),
			c.size(p.Pending), c.size(p.Idle), c.size(p.Reserved), p.LiveObjects, p.Late)
	}
	t.Flush()
}

// head writes the line above a process's tables, and what its reader should know.
func (c *config) head(b *strings.Builder, p *processRow) {
	fmt.Fprintf(b, "process %d %s: %s live in %d objects, %s reserved\n",
		p.PID, p.Command, p.bound(c.size(p.Live)), p.LiveObjects, c.size(p.Reserved))
	if p.LowerBound {
		fmt.Fprintln(b, "the table had no room for all pools or streams: figures are lower bounds")
	}
	if p.SitesLost > 0 {
		fmt.Fprintf(b, "%d samples found no room for their call site: they are under (other sites)\n", p.SitesLost)
	}
	if p.Torn > 0 {
		fmt.Fprintf(b, "%d streams did not hold still: figures may be off by one operation each\n", p.Torn)
	}
}

// accounts writes one line for each account of a process.
func (c *config) accounts(b *strings.Builder, p *processRow) {
	t := table(b)
	fmt.Fprint(t, "ACCOUNT\tLIVE\tPENDING\tIDLE\tRESERVED\tPEAK\tOBJECTS\tMADE\tFREED\tLATE\tREPEATED")
	if c.format == "wide" {
		fmt.Fprint(t, "\tMADE BYTES\tLATE BYTES\tSHARDS")
	}
	fmt.Fprintln(t)
	for _, a := range p.Accounts {
		name := a.Name
		if a.Closed {
			name += " (closed)"
		}
		reserved, idle := c.size(a.Reserved), c.size(a.Idle)
		if a.Foreign {
			reserved, idle = "-", "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d", name, c.size(a.Live), c.size(a.Pending), idle,
			reserved, c.size(a.Peak), a.LiveObjects, a.Made, a.Freed, a.Late, a.Repeated)
		if c.format == "wide" {
			fmt.Fprintf(t, "\t%s\t%s\t%d", c.size(int64(a.MadeBytes)), c.size(int64(a.LateBytes)), a.Shards)
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

// sites writes the call sites of a process, in the wide format with their stacks.
func (c *config) sites(b *strings.Builder, p *processRow, now time.Time) {
	if len(p.Sites) == 0 {
		fmt.Fprintln(b, "no call site to show")
		return
	}
	if p.Rate != 1 {
		fmt.Fprintf(b, "call sites (estimates: one sample for %s)\n", rate(p.Rate))
	} else {
		fmt.Fprintln(b, "call sites (exact)")
	}
	t := table(b)
	fmt.Fprintln(t, "LIVE\tOBJECTS\tMADE\tFREED\tLATE\tLATEST\tACCOUNT\tSITE")
	for _, s := range p.Sites {
		about := "~"
		if s.Exact {
			about = ""
		}
		if s.Old < s.OldAtMost {
			about = "≤" + about
		}
		fmt.Fprintf(t, "%s%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", about, c.size(min(s.Live, s.OldAtMost)), s.LiveObjects, s.Made, s.Freed, s.Late,
			age(now.Sub(s.Last)), s.Account, s.where(c.format == "wide"))
		if c.format == "wide" && len(s.Stack) > 1 {
			for _, f := range s.Stack[1:] {
				fmt.Fprintf(t, "\t\t\t\t\t\t\t%s\n", f.where(true))
			}
		}
	}
	t.Flush()
}

// where returns a site's innermost call.
func (s *siteRow) where(full bool) string {
	if len(s.Stack) == 0 {
		return "(unknown)"
	}
	return s.Stack[0].where(full)
}

// where returns "file:line function", with whole paths if full is set.
func (f *frame) where(full bool) string {
	if f.File == "" {
		return f.Function
	}
	file, function := f.File, f.Function
	if !full {
		file = filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))
		function = function[strings.LastIndexByte(function, '/')+1:]
	}
	return file + ":" + strconv.Itoa(f.Line) + " " + function
}

// table returns a writer that aligns columns.
func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// bound marks a figure of p that is only a lower bound.
func (p *processRow) bound(s string) string {
	if p.LowerBound {
		return "≥" + s
	}
	return s
}

// size returns bytes in human units, or as a number with -bytes.
func (c *config) size(n int64) string {
	switch {
	case c.bytes:
		return strconv.FormatInt(n, 10)
	case n < 0:
		return "-" + humanize.IBytes(uint64(-n))
	}
	return humanize.IBytes(uint64(n))
}

// rate returns a sampling rate in words.
func rate(n int64) string {
	if n < 0 {
		return "nothing"
	}
	return humanize.IBytes(uint64(n))
}

// age returns how long ago something was, in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
