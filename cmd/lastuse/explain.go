package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/token"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/cmd/lastuse/internal/load"
	"github.com/lastuse/lastuse/escape"
)

// An explanation is what -explain tells: every buffer, and the functions that
// keep buffers from being freed.
type explanation struct {
	Functions []explainedFunc   `json:"functions"`
	Skipped   []explainedSkip   `json:"skipped,omitempty"`
	Callees   []explainedCallee `json:"callees,omitempty"` // those that keep most buffers first
}

type explainedFunc struct {
	Name    string            `json:"name"`
	Posn    string            `json:"posn"`
	Buffers []explainedBuffer `json:"buffers"`

	Findings []explainedReport `json:"findings,omitempty"` // about no buffer that is made there
}

type explainedBuffer struct {
	Posn     string            `json:"posn"`
	Name     string            `json:"name,omitempty"`
	Type     string            `json:"type"`
	Maker    string            `json:"maker"`
	Verdict  string            `json:"verdict"`
	Reason   string            `json:"reason,omitempty"`
	Sink     string            `json:"sink,omitempty"`
	Callee   string            `json:"callee,omitempty"`
	Path     []explainedStep   `json:"path,omitempty"`
	Frees    []explainedFree   `json:"frees,omitempty"`
	Findings []explainedReport `json:"findings,omitempty"`
}

type explainedStep struct {
	Posn string `json:"posn"`
	Text string `json:"text"`
}

type explainedFree struct {
	Posn string `json:"posn"`
	Text string `json:"text"`
	Why  string `json:"why"`
}

type explainedReport struct {
	Posn     string `json:"posn"`
	Category string `json:"category"`
	Message  string `json:"message"`
}

type explainedSkip struct {
	Name   string `json:"name"`
	Posn   string `json:"posn"`
	Reason string `json:"reason"`
}

type explainedCallee struct {
	Name  string `json:"name"`
	Keeps int    `json:"keeps"` // buffers
}

// explanation gathers what the units say, each function once, in source order.
func (c *command) explanation(units []*load.Unit) *explanation {
	e := &explanation{Functions: []explainedFunc{}}
	seen := map[string]bool{}
	keeps := map[string]int{}
	for _, u := range units {
		if u.Result == nil {
			continue
		}
		posn := func(pos token.Pos) string {
			if !pos.IsValid() {
				return ""
			}
			return c.position(u, pos).String()
		}
		for _, fn := range u.Result.Funcs {
			key := fn.Name + " " + posn(fn.Pos)
			f := explainedFunc{Name: fn.Name, Posn: posn(fn.Pos), Buffers: []explainedBuffer{}}
			for _, fi := range fn.Findings {
				if !slices.Contains(fn.Buffers, fi.Buffer) && !slices.Contains(c.skip, fi.Category) {
					f.Findings = append(f.Findings, explainedReport{posn(fi.Pos), fi.Category, fi.Message})
				}
			}
			if seen[key] || len(fn.Buffers)+len(f.Findings) == 0 {
				continue
			}
			seen[key] = true
			for _, b := range fn.Buffers {
				x := explainedBuffer{
					Posn: posn(b.Site), Name: b.Name, Type: b.Type, Maker: b.Maker,
					Verdict: b.Verdict.String(), Reason: b.Reason, Sink: posn(b.Sink), Callee: b.Callee,
				}
				for _, s := range b.Path {
					x.Path = append(x.Path, explainedStep{posn(s.Pos), s.Text})
				}
				if b.Stops != nil {
					x.Path = append(x.Path, explainedStep{posn(b.Stops.Pos), b.Stops.Text})
				}
				for _, fr := range b.Frees {
					x.Frees = append(x.Frees, explainedFree{posn(fr.Pos), strings.TrimSpace(fr.Text), fr.Why})
				}
				for _, fi := range fn.Findings {
					if fi.Buffer == b && !slices.Contains(c.skip, fi.Category) {
						x.Findings = append(x.Findings, explainedReport{posn(fi.Pos), fi.Category, fi.Message})
					}
				}
				if slices.ContainsFunc(f.Buffers, func(y explainedBuffer) bool { return reflect.DeepEqual(x, y) }) {
					continue // a literal that is called twice makes it at one place
				}
				if b.Verdict == escape.Kept && b.Callee != "" {
					keeps[b.Callee]++
				}
				f.Buffers = append(f.Buffers, x)
			}
			e.Functions = append(e.Functions, f)
		}
		for _, s := range u.Result.Skipped {
			x := explainedSkip{s.Name, posn(s.Pos), c.relativeText(s.Reason)}
			if !slices.Contains(e.Skipped, x) {
				e.Skipped = append(e.Skipped, x)
			}
		}
	}
	for name, n := range keeps {
		e.Callees = append(e.Callees, explainedCallee{name, n})
	}
	slices.SortFunc(e.Callees, func(a, b explainedCallee) int {
		return cmp.Or(cmp.Compare(b.Keeps, a.Keeps), strings.Compare(a.Name, b.Name))
	})
	return e
}

func (c *command) explainJSON(w io.Writer, units []*load.Unit) {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "\t")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c.explanation(units)); err != nil {
		c.fail("%v", err)
	}
}

// remark words the verdict on a buffer.
func (b *explainedBuffer) remark() string {
	switch b.Verdict {
	case escape.Freed.String():
		return "is freed"
	case escape.Moved.String():
		return "is handed on"
	case escape.Inserted.String():
		if len(b.Frees) > 1 {
			return fmt.Sprintf("gets %d frees", len(b.Frees))
		}
		return "gets a free"
	}
	return "is " + b.Verdict
}

func (c *command) explainText(w io.Writer, units []*load.Unit) {
	s := c.style()
	e := c.explanation(units)
	for i, f := range e.Functions {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  %s\n", s.bold(f.Name), f.Posn)
		for _, b := range f.Buffers {
			fmt.Fprintf(w, "\t%s: %s (%s", b.Posn, cmp.Or(b.Name, "a temporary"), b.Type)
			if b.Maker != "" {
				fmt.Fprintf(w, ", made by %s", b.Maker)
			}
			fmt.Fprintf(w, ") %s", s.bold(b.remark()))
			if b.Reason != "" && (b.Verdict != escape.Reported.String() || len(b.Findings) == 0) {
				fmt.Fprintf(w, ": %s", b.Reason) // the finding gives it, too
			}
			fmt.Fprintln(w)
			for _, step := range b.Path {
				fmt.Fprintf(w, "\t\t%s: %s\n", step.Posn, step.Text)
			}
			if b.Sink != "" {
				fmt.Fprintf(w, "\t\t%s: here it leaves\n", b.Sink)
			}
			for _, free := range b.Frees {
				fmt.Fprintf(w, "\t\t%s: %s %s\n", free.Posn, free.Text, free.Why)
			}
			for _, r := range b.Findings {
				fmt.Fprintf(w, "\t\t%s: %s: %s\n", r.Posn, s.red(r.Category), r.Message)
			}
		}
		for _, r := range f.Findings {
			fmt.Fprintf(w, "\t%s: %s: %s\n", r.Posn, s.red(r.Category), r.Message)
		}
	}
	if len(e.Callees) > 0 {
		fmt.Fprintf(w, "\n%s\n", s.bold("callees by the number of buffers that they keep"))
		for _, callee := range e.Callees {
			fmt.Fprintf(w, "%8d  %s\n", callee.Keeps, callee.Name)
		}
	}
	if len(e.Skipped) > 0 {
		fmt.Fprintf(w, "\n%s\n", s.bold("functions that were not decided"))
		for _, f := range e.Skipped {
			fmt.Fprintf(w, "\t%s: %s: %s\n", f.Posn, f.Name, f.Reason)
		}
	}
}
