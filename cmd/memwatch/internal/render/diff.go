package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// DiffSchema is the version of the JSON of a difference, as Schema is of a snapshot.
const DiffSchema = "memwatch-diff/1"

// DiffJSON writes a difference as one document, on one line unless it is indented.
func DiffJSON(w io.Writer, d *heap.Difference, indented bool) error {
	out := *d
	out.Processes = append([]heap.ProcessChange{}, d.Processes...)
	for i := range out.Processes {
		c := &out.Processes[i]
		c.Sites = append([]heap.SiteChange{}, c.Sites...)
		for j := range c.Sites {
			c.Sites[j].Site = sitesNotNull([]heap.Site{c.Sites[j].Site})[0]
		}
	}
	e := json.NewEncoder(w)
	if indented {
		e.SetIndent("", "  ")
	}
	return e.Encode(struct {
		Schema string `json:"schema"`
		*heap.Difference
	}{DiffSchema, &out})
}

// Change writes by how many bytes something changed.
func (o Options) Change(n int64) string {
	if n > 0 {
		return "+" + o.Size(n)
	}
	return o.Size(n)
}

// Diff writes what grew between two snapshots: of each process at most top sites, 0 for all.
func Diff(w io.Writer, d *heap.Difference, o Options, top int) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if len(d.Processes) == 0 {
		fmt.Fprintln(tw, "no process is in either")
	}
	for i := range d.Processes {
		c := &d.Processes[i]
		if i > 0 {
			fmt.Fprintln(tw)
		}
		fmt.Fprintf(tw, "PROCESS\tBEFORE\tAFTER\tGREW\tOBJECTS\n")
		fmt.Fprintf(tw, "%s %s\t%s\t%s\t%s\t%+d\n", cut(Clean(c.Name), 24, false), pids(c.PIDs), o.Size(c.Before.Bytes), o.Size(c.After.Bytes),
			o.Change(c.Grown()), c.After.Objects-c.Before.Objects)
		o.changes(tw, c, top)
	}
	return tw.Flush()
}

// pids writes which processes are compared.
func pids(all []uint32) string {
	if len(all) > 3 {
		return fmt.Sprintf("(%d processes)", len(all))
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(all), "[]"), " ", ",")
}

func (o Options) changes(tw io.Writer, c *heap.ProcessChange, top int) {
	shown, shrank, less, more := 0, 0, int64(0), 0
	for i := range c.Sites {
		s := &c.Sites[i]
		switch grown := s.Grown(); {
		case grown < 0 || grown == 0 && s.After.Objects <= s.Before.Objects:
			shrank++
			less += -grown
			continue
		case top > 0 && shown == top:
			more++
			continue
		}
		if shown == 0 {
			fmt.Fprintln(tw, "\n  GREW\tOBJECTS\tBEFORE\tAFTER\tCLASS\tSITE")
		}
		shown++
		class := s.Class
		if !s.Own {
			class = "(" + class + ")"
		}
		fmt.Fprintf(tw, "  %s\t%+d\t%s\t%s\t%s\t%s\n", o.Change(s.Grown()), s.After.Objects-s.Before.Objects, o.Size(s.Before.Bytes),
			o.Size(s.After.Bytes), class, TitleIn(&s.Site, 80))
		if o.Wide {
			for _, f := range s.Frames {
				fmt.Fprintf(tw, "%s    %s\n", "  "+strings.Repeat("\t", 5), cut(FrameText(&f), 120, true))
			}
		}
	}
	if more > 0 {
		fmt.Fprintf(tw, "  and %s that grew\n", Count(more, "more site", "more sites"))
	}
	if shrank > 0 {
		fmt.Fprintf(tw, "  %s shrank by %s\n", Count(shrank, "site", "sites"), o.Size(less))
	}
	if c.Hidden > 0 {
		fmt.Fprintf(tw, "  the snapshots leave out %s, which may have been there before: save them with -top 0\n", Count(c.Hidden, "site", "sites"))
	}
}
