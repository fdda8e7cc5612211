package alloc

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/lastuse/lastuse/finalize"
	"github.com/lastuse/lastuse/internal/books"
)

// Stats are the figures of a pool. Sizes are bytes and include what rounding added;
// counts are of what they say. At all times
//
//	Live + Pending + Idle == Reserved
//
// Each field's name outside Go and its meaning is in [Descriptions].
type Stats struct {
	Live     int64 `name:"/memory/live:bytes" kind:"gauge" help:"owned by buffers"`
	Pending  int64 `name:"/memory/pending:bytes" kind:"gauge" help:"freed, but work on other streams may still use it; in Check mode quarantine too"`
	Idle     int64 `name:"/memory/idle:bytes" kind:"gauge" help:"reserved and not in use"`
	Reserved int64 `name:"/memory/reserved:bytes" kind:"gauge" help:"got from the device, and adopted"`

	PeakLive     int64 `name:"/memory/live/peak:bytes" kind:"peak" help:"live never exceeded this; exact if one stream was used by one goroutine at a time, else an upper bound: the sum of the peaks of the streams"`
	PeakReserved int64 `name:"/memory/reserved/peak:bytes" kind:"peak" help:"most that was ever reserved"`
	TotalLive    int64 `name:"/memory/live/total:bytes" kind:"counter" help:"ever handed out"`

	Buffers     int64 `name:"/buffers/live:buffers" kind:"gauge" help:"live buffers"`
	Made        int64 `name:"/buffers/made:buffers" kind:"counter" help:"buffers ever made"`
	Freed       int64 `name:"/buffers/freed:buffers" kind:"counter" help:"freed by a call of Free"`
	Late        int64 `name:"/buffers/late:buffers" kind:"counter" help:"freed because the collector found them dead"`
	LateBytes   int64 `name:"/buffers/late:bytes" kind:"counter" help:"bytes freed because the collector found their buffers dead"`
	Repeated    int64 `name:"/buffers/repeated:calls" kind:"counter" help:"calls of Free on buffers that were free already"`
	LargestIdle int64 `name:"/memory/idle/largest:bytes" kind:"gauge" help:"largest idle block"`

	// Fragmentation is 1 - PeakLive/PeakReserved.
	Fragmentation float64 `name:"/memory/fragmentation:ratio" kind:"gauge" help:"share of the reserved peak that was never live: 1 - live peak / reserved peak, or 0"`

	Own     int64 `name:"/ladder/own:makes" kind:"counter" help:"Makes served by tidying up the stream's own blocks"`
	LateHit int64 `name:"/ladder/late:makes" kind:"counter" help:"Makes served from buffers that the collector found dead"`
	Other   int64 `name:"/ladder/other:makes" kind:"counter" help:"Makes served by another stream's blocks whose work was complete"`
	Fresh   int64 `name:"/ladder/fresh:makes" kind:"counter" help:"Makes served by fresh memory"`
	Trimmed int64 `name:"/ladder/trim:makes" kind:"counter" help:"Makes served after idle memory was moved or given back"`
	Waited  int64 `name:"/ladder/pending:makes" kind:"counter" help:"Makes that waited until work on pending blocks had run"`
	Ordered int64 `name:"/ladder/wait:makes" kind:"counter" help:"Makes served by making the stream wait for another"`
	Collect int64 `name:"/ladder/collect:makes" kind:"counter" help:"Makes served after a collection of the Go heap"`
	Failed  int64 `name:"/ladder/fail:makes" kind:"counter" help:"Makes that found no memory"`

	Waits       int64 `name:"/streams/waits:waits" kind:"counter" help:"waits that the pool inserted between streams"`
	Streams     int64 `name:"/streams/open:streams" kind:"gauge" help:"open streams, the default stream included"`
	Segments    int64 `name:"/segments:segments" kind:"gauge" help:"ranges got from the device"`
	DeviceCalls int64 `name:"/device/calls:calls" kind:"counter" help:"calls of the device other than copies, fills and launches"`

	// Page-locked host memory is in none of the figures above.
	PinnedLive     int64 `name:"/pinned/live:bytes" kind:"gauge" help:"page-locked memory owned by Pinned values"`
	PinnedPending  int64 `name:"/pinned/pending:bytes" kind:"gauge" help:"page-locked memory freed, but work on streams may still use it"`
	PinnedIdle     int64 `name:"/pinned/idle:bytes" kind:"gauge" help:"page-locked memory not in use"`
	PinnedReserved int64 `name:"/pinned/reserved:bytes" kind:"gauge" help:"page-locked memory got from the device: the sum of the three"`
	PinnedStaging  int64 `name:"/pinned/staging:bytes" kind:"gauge" help:"page-locked memory that the device keeps for its own copies, of all its pools; in no other figure"`
	PinnedBuffers  int64 `name:"/pinned/live:buffers" kind:"gauge" help:"live Pinned values"`
	PinnedMade     int64 `name:"/pinned/made:buffers" kind:"counter" help:"Pinned values ever made"`
	PinnedLate     int64 `name:"/pinned/late:buffers" kind:"counter" help:"Pinned values freed because the collector found them dead"`

	Pacing finalize.Stats // what the collector was asked to do
}

// String returns what matters most, for people; [Stats.Read] has all of it.
func (s Stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"live %s in %d, pending %s, idle %s, reserved %s; peak %s live, %s reserved; made %d, freed %d, late %d",
		sizeText(s.Live), s.Buffers, sizeText(s.Pending), sizeText(s.Idle), sizeText(s.Reserved),
		sizeText(s.PeakLive), sizeText(s.PeakReserved), s.Made, s.Freed, s.Late)
	if s.Repeated > 0 {
		fmt.Fprintf(&b, ", repeated %d", s.Repeated)
	}
	if s.Failed > 0 {
		fmt.Fprintf(&b, ", failed %d", s.Failed)
	}
	fmt.Fprintf(&b, "; %d device calls", s.DeviceCalls)
	return b.String()
}

// A Description says what one figure of [Stats] means.
type Description struct {
	Name  string // path and unit, as in "/memory/live:bytes"
	Field string // of Stats
	Kind  string // "gauge", "peak" or "counter": goes both ways, never falls, only grows by events
	Help  string
}

// Descriptions returns the descriptions of all figures of [Stats], in the order of its
// fields.
func Descriptions() []Description {
	var all []Description
	t := reflect.TypeFor[Stats]()
	for i := range t.NumField() {
		f := t.Field(i)
		if name := f.Tag.Get("name"); name != "" {
			all = append(all, Description{name, f.Name, f.Tag.Get("kind"), f.Tag.Get("help")})
		}
	}
	return all
}

// Read returns the figure with a name of [Descriptions], and whether there is one.
func (s Stats) Read(name string) (float64, bool) {
	v := reflect.ValueOf(s)
	for _, d := range Descriptions() {
		if d.Name != name {
			continue
		}
		f := v.FieldByName(d.Field)
		if f.CanInt() {
			return float64(f.Int()), true
		}
		return f.Float(), true
	}
	return math.NaN(), false
}

// Stats returns the figures now. It first frees some of the buffers that the
// collector has found dead and settles pending blocks that are known to be free; it calls
// no device. It stops the pool for a moment, so that the sizes are of one instant: microseconds.
//
//lastuse:effect recv borrowed
func (p *Pool) Stats() Stats {
	c := p.core
	c.drain(drainPerLook)
	c.settleAll()
	var st books.Stats
	var streams, segments, largest int64
	// In a moment at which nothing is made or freed, so that the sizes are of one instant.
	c.stopped(func() {
		st = c.account.StatsLocked()
		streams, segments = int64(len(c.streams)), int64(len(c.arena.segs))
		for _, hp := range c.allHeaps() {
			for _, b := range hp.cached {
				if b != nil {
					largest = max(largest, b.size)
				}
			}
			for k := range hp.shelf.idle {
				list := &hp.shelf.idle[k]
				// A bin may hold sizes a little apart.
				for b := list.largest(); b != nil; b = b.next {
					largest = max(largest, b.size)
				}
			}
		}
	})
	s := Stats{
		Live: st.Live, Pending: st.Pending, Idle: st.Reserved - st.Live - st.Pending, Reserved: st.Reserved,
		PeakLive: st.Peak, PeakReserved: st.ReservedPeak, TotalLive: st.Total,
		Buffers: st.LiveObjects, Made: st.Made, Freed: st.Freed, Late: st.Late, LateBytes: st.LateBytes,
		Repeated: st.Repeated, LargestIdle: largest, Streams: streams, Segments: segments,
		Waits: c.waits.Load(), DeviceCalls: c.calls.Load(), Pacing: c.pacer.Stats(),
	}
	for r, figure := range [numRungs]*int64{
		rungOwn: &s.Own, rungLate: &s.LateHit, rungOther: &s.Other, rungFresh: &s.Fresh, rungTrim: &s.Trimmed,
		rungPending: &s.Waited, rungWait: &s.Ordered, rungCollect: &s.Collect, rungFail: &s.Failed,
	} {
		*figure = c.rungs[r].Load()
	}
	c.pinnedStats(&s)
	if d, ok := c.dev.(Stager); ok {
		s.PinnedStaging = d.Staged()
	}
	if s.PeakReserved > 0 {
		s.Fragmentation = max(0, 1-float64(s.PeakLive)/float64(s.PeakReserved))
	}
	return s
}
