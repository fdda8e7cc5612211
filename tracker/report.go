package tracker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/lastuse/lastuse/internal/books"
)

// reportVersion is the version of the JSON form. Under one version fields are only added.
const reportVersion = 1

// A Segment is one range that a pool got from its device, for the block map of the
// report.
type Segment struct {
	Account string  `json:"account"` // filled in by the tracker
	Base    uint64  `json:"base"`    // address
	Size    int64   `json:"size"`    // bytes
	Blocks  []Block `json:"blocks"`  // in the order of their addresses
}

// A Block is a part of a segment.
type Block struct {
	Offset int64  `json:"offset"` // bytes from the segment's base
	Size   int64  `json:"size"`   // bytes
	State  string `json:"state"`  // live, pending or idle
}

// segments lists the segments of all accounts.
func (t *Tracker) segments() []Segment {
	all := []Segment{}
	t.books.Segments(func(account string, segments []books.Segment) {
		for _, g := range segments {
			s := Segment{Account: account, Base: g.Base, Size: g.Size}
			for _, b := range g.Blocks {
				s.Blocks = append(s.Blocks, Block(b))
			}
			all = append(all, s)
		}
	})
	return all
}

// A report is everything at one time.
type report struct {
	Version  int       `json:"version"`
	Time     time.Time `json:"time"`
	Rate     int64     `json:"rate"` // bytes between samples: 1 if sites are exact
	Stats    Stats     `json:"stats"`
	Sites    []Site    `json:"sites"`
	Segments []Segment `json:"segments"`
}

func (t *Tracker) report() report {
	r := report{Version: reportVersion, Time: time.Now(), Rate: t.Rate(), Stats: t.Stats(), Segments: t.segments()}
	r.Sites = append([]Site{}, t.Sites()...) // not null
	r.Stats.Accounts = append([]AccountStats{}, r.Stats.Accounts...)
	return r
}

// WriteJSON writes the totals, the sites and the segments as one JSON object.
func (t *Tracker) WriteJSON(w io.Writer) error {
	if err := json.NewEncoder(w).Encode(t.report()); err != nil {
		return fmt.Errorf("tracker: report: %w", err)
	}
	return nil
}

// WriteText writes the totals, the sites and the history for people to read.
func (t *Tracker) WriteText(w io.Writer) error {
	p := new(bytes.Buffer)
	st := t.Stats()
	fmt.Fprintf(p, "foreign heap: %v\n\n", st)
	tab := tabwriter.NewWriter(p, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "live\tpending\treserved\tpeak\tobjects\tmade\tfreed\tlate\t account")
	for _, a := range st.Accounts {
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t %s\n", human(a.Live), human(a.Pending),
			human(a.Reserved), human(a.Peak), a.LiveObjects, a.Made, a.Freed, a.Late, a.Name)
	}
	tab.Flush()
	switch {
	case t.Rate() == 1:
		fmt.Fprint(p, "\nsites\n")
	case t.Rate() < 0:
		fmt.Fprint(p, "\nsites are not kept\n")
	default:
		fmt.Fprintf(p, "\nsites, as estimated from one sample for %s or more\n", human(t.Rate()))
	}
	for _, s := range t.Sites() {
		fmt.Fprintf(p, "%s live in %d, %s made in %d, %d freed late\n",
			human(s.LiveBytes), s.LiveObjects, human(s.AllocBytes), s.AllocObjects, s.LateObjects)
		if len(s.Frames) == 0 {
			fmt.Fprintf(p, "\t%v\n", s)
		}
		for _, f := range s.Frames {
			fmt.Fprintf(p, "\t%s\n\t\t%v\n", f.Function, f)
		}
	}
	if st.SitesLost > 0 {
		fmt.Fprintf(p, "%d samples found no room for their site\n", st.SitesLost)
	}
	t.writeHistory(p)
	if _, err := p.WriteTo(w); err != nil {
		return fmt.Errorf("tracker: report: %w", err)
	}
	return nil
}
