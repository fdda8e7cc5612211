package render

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// Options say how a table looks.
type Options struct {
	Wide     bool // more columns, whole stacks
	Bytes    bool // sizes in bytes
	Suspects bool // sites that may leak, with the reasons
}

// Size returns a size for people: 2.0 MiB, or the bytes alone.
func (o Options) Size(n int64) string {
	if o.Bytes {
		return fmt.Sprint(n)
	}
	if n < 0 {
		return "-" + humanize.IBytes(uint64(-n))
	}
	return humanize.IBytes(uint64(n))
}

// Count returns a number of things: 1 process, 2 processes.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// about marks what may be too low or too high: an allocation that was lost is missing, a free that was lost
// leaves its memory live.
func about(p *heap.Process, s string) string {
	if p.Inexact {
		return "≈" + s
	}
	return s
}

// Table writes processes, their classes of memory, and their call sites.
func Table(w io.Writer, s *heap.Snapshot, o Options) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if len(s.Processes) == 0 {
		fmt.Fprintln(tw, "no process has called a library that is probed")
	}
	for i := range s.Processes {
		p := &s.Processes[i]
		if i == 0 || o.Suspects || len(p.Sites) > 0 {
			if i > 0 {
				fmt.Fprintln(tw)
			}
			fmt.Fprint(tw, "PID\tPROCESS\tSTATE\tLIVE\tPEAK\tOBJECTS\tRATE")
			if o.Wide {
				fmt.Fprint(tw, "\tDEVICES\tMAPPED\tFREED\tLATE\tCONTEXT\tFAILED\tUNKNOWN FREES\tLOST")
			}
			fmt.Fprintln(tw)
		}
		o.process(tw, p)
		o.sites(tw, p)
	}
	return tw.Flush()
}

func (o Options) process(tw io.Writer, p *heap.Process) {
	live, objects := about(p, o.Size(p.Live)), p.Objects
	if p.Exited {
		live, objects = about(p, o.Size(p.AtExit))+" at exit", p.AtExitObjects
	}
	fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\t%d\t%s/s", p.PID, cut(Clean(p.Name), 24, false), State(p), live, about(p, o.Size(p.Peak)), objects, o.Size(p.Rate))
	if o.Wide {
		var devices []string
		for _, d := range p.Devices {
			name := fmt.Sprint(d.Device)
			if d.Device == heap.NoDevice {
				name = "?"
			}
			devices = append(devices, name+"="+o.Size(d.Live))
		}
		var failed, lost uint64
		for _, f := range p.Failures {
			failed += f.Count
		}
		for _, l := range p.Lost {
			lost += l.Count
		}
		fmt.Fprintf(tw, "\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d", strings.Join(devices, " "), o.Size(p.Mapped),
			p.Explicit.Objects, p.ByNet.Objects, p.Context.Objects, failed, p.Unknown.Frees, lost)
	}
	fmt.Fprintln(tw)
	if o.Wide && p.Place != (heap.Place{}) {
		fmt.Fprintf(tw, "\t%s\n", Clean(p.Place.String()))
	}
	if o.Wide && p.Used > 0 {
		fmt.Fprintf(tw, "\tthe driver counts %s: contexts, code, and whatever else no call shows\n", o.Size(p.Used))
	}
	for _, note := range p.Notes {
		if o.Wide {
			fmt.Fprintf(tw, "\t%s\n", Clean(note))
		}
	}
	if p.Joined && !p.ByTable {
		fmt.Fprintf(tw, "\tmemory from before memwatch: unknown; frees of it: %d\n", p.Unknown.Frees)
	}
	if p.OOM != nil {
		fmt.Fprintf(tw, "\tout of memory: %s asked for %s with %s live\n", Clean(p.OOM.Function), o.Size(int64(p.OOM.Asked)), o.Size(p.OOM.Live))
	}
}

// State says in a word how a process is.
func State(p *heap.Process) string {
	switch {
	case p.Exited:
		return "exited"
	case p.Joined && !p.ByTable:
		return "joined"
	}
	return "running"
}

func (o Options) sites(tw io.Writer, p *heap.Process) {
	if len(p.Sites) == 0 {
		return
	}
	fmt.Fprint(tw, "\n  LIVE\tOBJECTS\tPEAK\tALLOCATED\tCLASS\tOLDEST")
	if o.Wide {
		fmt.Fprint(tw, "\tFREED\tLATE\tMEDIAN LIFE")
	}
	fmt.Fprintln(tw, "\tSITE")
	under := "  " + strings.Repeat("\t", 6) // the column of the site
	if o.Wide {
		under += "\t\t\t"
	}
	for i := range p.Sites {
		s := &p.Sites[i]
		live, objects := s.Live, s.Objects
		if p.Exited {
			live, objects = s.AtExitBytes, s.AtExitObjects
		}
		class := s.Class
		if !s.Own {
			class = "(" + class + ")"
		}
		estimate := ""
		if s.Estimate {
			estimate = "~"
		}
		fmt.Fprintf(tw, "  %s\t%d\t%s\t%s\t%s\t%s", estimate+about(p, o.Size(live)), objects, o.Size(s.Peak), o.Size(int64(s.AllocBytes)), class, Age(s.Oldest))
		if o.Wide {
			fmt.Fprintf(tw, "\t%d\t%d\t%s", s.Explicit.Objects, s.ByNet.Objects, Age(s.Median))
		}
		fmt.Fprintf(tw, "\t%s\n", TitleIn(s, 80))
		for _, why := range s.Suspect {
			if o.Suspects || o.Wide {
				fmt.Fprintf(tw, "%s  %s\n", under, Clean(why))
			}
		}
		if o.Wide {
			for _, f := range s.Frames {
				fmt.Fprintf(tw, "%s    %s\n", under, cut(FrameText(&f), 120, true))
			}
		}
	}
	if p.Hidden > 0 {
		fmt.Fprintf(tw, "  and %s\n", Count(p.Hidden, "more site", "more sites"))
	}
}

// Age returns a time for people, "" for none.
func Age(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d <= 0:
		return "-"
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Title names a site: a function that is the program's own, as far as that can be told, and its line (see
// heap.Name).
func Title(s *heap.Site) string {
	if len(s.Frames) == 0 {
		if s.Stack == 0 {
			return "(stacks were not taken)"
		}
		return fmt.Sprintf("(unresolved stack %#x)", s.Stack)
	}
	return FrameText(named(s))
}

// TitleIn is Title in at most n characters. What gives way first are folders, from the front, then the front
// of the function: the file's name and the line stay, for they say where.
func TitleIn(s *heap.Site, n int) string {
	const shortest = 8 // of a function's name that still says something
	whole, function := Title(s), Function(s)
	place, ok := strings.CutPrefix(whole, function+" ")
	if utf8.RuneCountInString(whole) <= n || !ok {
		return cut(whole, n, true)
	}
	for rest := place; ; {
		_, after, more := strings.Cut(rest, "/")
		if !more {
			place = rest
			break
		}
		if short := function + " …/" + after; utf8.RuneCountInString(short) <= n {
			return short
		}
		rest = after
	}
	if room := n - utf8.RuneCountInString(place) - 1; room >= min(shortest, utf8.RuneCountInString(function)) {
		return cut(function, room, true) + " " + place
	}
	return cut(whole, n, true)
}

// Function names a site as Title does, without its place.
func Function(s *heap.Site) string {
	if len(s.Frames) == 0 || named(s).Func == "" {
		return Title(s)
	}
	return Clean(named(s).Func)
}

// named returns the frame that names a site.
func named(s *heap.Site) *heap.Frame {
	return &s.Frames[min(max(s.Named, 0), len(s.Frames)-1)] // it may be from a file
}

// FrameText writes a frame as function and place, clean.
func FrameText(f *heap.Frame) string {
	name := f.Func
	if name == "" {
		name = fmt.Sprintf("%#x", f.PC)
	}
	switch {
	case f.File != "":
		return fmt.Sprintf("%s %s:%d", Clean(name), Clean(f.File), f.Line)
	case f.Module != "" && !strings.HasPrefix(name, f.Module+"+"):
		return fmt.Sprintf("%s [%s]", Clean(name), Clean(f.Module))
	}
	return Clean(name)
}
