package tracker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lastuse/lastuse/internal/books"
)

// A Frame is one call in a stack.
type Frame struct {
	Function string `json:"function"` // with its package path; "" if unknown
	File     string `json:"file"`
	Line     int    `json:"line"`
}

// String returns the frame as "file:line".
func (f Frame) String() string {
	if f.File == "" {
		return "unknown"
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// frames returns the calls of a stack, innermost first, without our own on top and
// without the runtime's at the bottom.
func frames(pcs []uintptr) (all []Frame) {
	for _, f := range books.Frames(pcs) {
		all = append(all, Frame(f))
	}
	return all
}

// A SiteID names a call site of one Tracker. The zero SiteID names none: the
// allocation was not sampled.
type SiteID uint32

// A Site is a call stack that allocated foreign memory, with what the sampled
// allocations stand for: bytes, and objects rounded to whole ones. Freed includes late.
type Site struct {
	ID      SiteID  `json:"id"`
	Account string  `json:"account"` // "" if the account is gone, and for "other sites"
	Frames  []Frame `json:"frames"`  // innermost first; empty for "other sites" and what has no known stack

	AllocObjects int64     `json:"alloc_objects"`
	AllocBytes   int64     `json:"alloc_bytes"`
	LiveObjects  int64     `json:"live_objects"`
	LiveBytes    int64     `json:"live_bytes"`
	LateObjects  int64     `json:"late_objects"` // freed by the collector
	LateBytes    int64     `json:"late_bytes"`
	Samples      int64     `json:"samples"` // allocations behind these figures
	Last         time.Time `json:"last"`    // the latest sampled allocation
}

// String returns the site's innermost call as "file:line".
func (s Site) String() string {
	switch {
	case len(s.Frames) > 0:
		return s.Frames[0].String()
	case s.ID == books.OtherSites:
		return "other sites"
	}
	return "unknown"
}

// newSite shows a site.
func newSite(s books.Site) Site {
	return Site{
		ID: SiteID(s.Number), Account: s.Account, Frames: frames(s.PCs),
		AllocObjects: s.AllocObjects, AllocBytes: s.AllocBytes,
		LiveObjects: s.LiveObjects, LiveBytes: s.LiveBytes,
		LateObjects: s.LateObjects, LateBytes: s.LateBytes,
		Samples: s.Samples, Last: s.Last,
	}
}

// SiteOf returns the site with a number. For the zero SiteID it returns the zero Site.
func (t *Tracker) SiteOf(id SiteID) Site {
	s := t.books.SiteOf(uint32(id))
	if s.Number == 0 {
		return Site{}
	}
	return newSite(s)
}

// Sites returns all sites that ever allocated, the one with the most live bytes first.
func (t *Tracker) Sites() (all []Site) {
	for _, s := range t.books.Sites() {
		all = append(all, newSite(s))
	}
	slices.SortFunc(all, func(a, b Site) int {
		return cmp.Or(cmp.Compare(b.LiveBytes, a.LiveBytes), cmp.Compare(b.AllocBytes, a.AllocBytes),
			cmp.Compare(a.ID, b.ID))
	})
	return all
}
