package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// Schema is the version of the JSON. Fields may be added within a version; none is
// removed or changes its meaning.
const Schema = "memwatch/1"

// document is a snapshot with its version.
type document struct {
	Schema string `json:"schema"`
	*heap.Snapshot
}

// JSON writes a snapshot as one indented document.
func JSON(w io.Writer, s *heap.Snapshot) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(document{Schema, notNull(s)})
}

// JSONLine writes a snapshot as one line.
func JSONLine(w io.Writer, s *heap.Snapshot) error {
	return json.NewEncoder(w).Encode(document{Schema, notNull(s)})
}

// notNull returns s with empty lists in place of missing ones: a reader of the JSON
// need not know the difference.
func notNull(s *heap.Snapshot) *heap.Snapshot {
	out := *s
	out.Processes = append([]heap.Process{}, s.Processes...)
	for i := range out.Processes {
		p := &out.Processes[i]
		p.Classes = append([]heap.ClassTotal{}, p.Classes...)
		p.Devices = append([]heap.DeviceTotal{}, p.Devices...)
		p.Failures = append([]heap.Failure{}, p.Failures...)
		p.Lost = append([]heap.LostTotal{}, p.Lost...)
		p.History = append([]int64{}, p.History...)
		p.Notes = append([]string{}, p.Notes...)
		p.Sites = sitesNotNull(p.Sites)
		if p.OOM != nil {
			oom := *p.OOM
			oom.Sites = sitesNotNull(oom.Sites)
			p.OOM = &oom
		}
	}
	return &out
}

func sitesNotNull(all []heap.Site) []heap.Site {
	all = append([]heap.Site{}, all...)
	for i := range all {
		t := &all[i]
		t.Title = Title(t)
		t.Frames = append([]heap.Frame{}, t.Frames...)
		t.Sizes = append([]heap.Size{}, t.Sizes...)
		t.History = append([]int64{}, t.History...)
		t.Suspect = append([]string{}, t.Suspect...)
	}
	return all
}

// Folded writes live bytes by stack, the outermost function first, as flame graph
// tools read it: "process;main;f;g 4096". Sites that do not count are left out, for the widths must add up.
func Folded(w io.Writer, s *heap.Snapshot) error {
	var b strings.Builder
	for i := range s.Processes {
		p := &s.Processes[i]
		for j := range p.Sites {
			t := &p.Sites[j]
			live := t.Live
			if p.Exited {
				live = t.AtExitBytes
			}
			if !t.Counts || live <= 0 {
				continue
			}
			fmt.Fprintf(&b, "%s-%d", folded(p.Name), p.PID)
			if len(t.Frames) == 0 {
				b.WriteString(";[unresolved]")
			}
			for k := len(t.Frames) - 1; k >= 0; k-- {
				f := &t.Frames[k]
				name := f.Func
				if name == "" {
					name = fmt.Sprintf("%#x", f.PC)
				}
				b.WriteString(";" + folded(name))
			}
			fmt.Fprintf(&b, ";[%s] %d\n", t.Class, live)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// folded cleans a name for a folded stack, in which semicolons and spaces separate.
func folded(s string) string { return cleanOf(s, "; ") }
