package heap

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
)

// Leak suspects. A list of leaks that claims to be precise misleads: a cache that
// fills and a leak look the same for a while. So a site is a suspect for reasons,
// and the reasons are shown.
const (
	// neverObjects is how many live allocations a site without a single free
	// needs, made over at least neverSpan, to be a suspect. Programs allocate a few
	// things once and keep them; that is no leak.
	neverObjects = 3
	neverSpan    = 5 * time.Second

	// oldFactor times the median life is when an allocation is old; oldShare of the live bytes must be,
	// and as many as are said to be never freed: most sites that make much and free it keep one or two.
	oldFactor = 16
	oldMin    = 10 * time.Second
	oldShare  = 0.5

	// slopeSamples of history are needed to see growth in it: each of its parts must have a higher low point
	// than the one before. A site that goes up and down again has equal low points.
	slopeSamples = 12
)

// suspect returns the reasons to take s for a leak, none if there are none.
func (s *site) suspect(now int64) []string {
	if s.Objects == 0 || s.key.class == Code || s.key.class == Range {
		return nil
	}
	var why []string
	if made, span := s.seen(now); s.FreedObjects == 0 && made >= neverObjects && span >= neverSpan {
		why = append(why, fmt.Sprintf("never freed: %d allocations in %v", made, round(span)))
	}
	if rise, ok := s.slope(); ok {
		why = append(why, fmt.Sprintf("grows: its low points rose by %s in %d samples", humanize.IBytes(uint64(rise)), len(s.history.at)))
	}
	if life := s.medianLife(); life > 0 {
		limit := max(life*oldFactor, int64(oldMin))
		if old := s.older(now-limit, forSuspects).least; old.Objects >= neverObjects && float64(old.Bytes) > oldShare*float64(s.Live) {
			why = append(why, fmt.Sprintf("old: %d of %d are older than %v, and half of the freed lived less than %v",
				old.Objects, s.Objects, round(time.Duration(limit)), round(time.Duration(life))))
		}
	}
	return why
}

// seen returns how many allocations were made, in the time from the first to the last of them. What a process
// tells of was in part made before it was looked at, in a time that is not known: that is left out.
func (s *site) seen(now int64) (made int64, span time.Duration) {
	made, last := s.Objects, now
	if s.last != nil {
		last = s.last.at
	}
	if s.told && len(s.past.at) > 0 {
		made = int64(s.AllocObjects - s.past.at[0].made.Objects)
		if s.latest > 0 {
			last = s.latest
		}
	}
	return made, time.Duration(last - s.began)
}

// slope reports whether the low points rise from window to window,
// and by how many bytes.
func (s *site) slope() (rise int64, ok bool) {
	h := s.low.at
	if len(h) < slopeSamples {
		return 0, false
	}
	low := lows(h)
	for i := 1; i < len(low); i++ {
		if low[i] <= low[i-1] {
			return 0, false
		}
	}
	return low[len(low)-1] - low[0], true
}

func round(d time.Duration) time.Duration {
	if d >= time.Second {
		return d.Round(time.Second)
	}
	return d.Round(time.Microsecond)
}
