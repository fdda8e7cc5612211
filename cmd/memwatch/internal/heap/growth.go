package heap

import (
	"slices"
	"time"
)

const (
	// growthSamples is how much history the growth of a process or a site takes: little, so that it is that of
	// now. growthWindows parts of it have each a low point, and a part has at least two samples.
	growthSamples = 20
	growthWindows = 4

	// longest is the most that a forecast says, and as good as never.
	longest = 365 * 24 * time.Hour
)

// rise returns by how many bytes a sample the low points of a history rise, or with less than 0 fall: over the
// whole and between its last two parts, the lesser of both. What goes up and down by turns does neither, and nor
// does what jumped only once.
func rise(h []int64) float64 {
	if len(h) < 2*growthWindows {
		return 0
	}
	const last = growthWindows - 1
	low := lows(h)
	since := func(i int) float64 {
		return float64(low[last]-low[i]) / float64(last*len(h)/growthWindows-i*len(h)/growthWindows)
	}
	whole, latter := since(0), since(last-1)
	switch {
	case whole > 0 && latter > 0:
		return min(whole, latter)
	case whole < 0 && latter < 0:
		return max(whole, latter)
	}
	return 0
}

// lows returns the low points of the parts of a history.
func lows(h []int64) (low [growthWindows]int64) {
	for i := range low {
		low[i] = slices.Min(h[i*len(h)/growthWindows : (i+1)*len(h)/growthWindows])
	}
	return low
}

// growth returns the bytes a second by which what the ring holds samples of grows now.
func (r *ring) growth(interval time.Duration) int64 {
	return int64(rise(r.at[max(len(r.at)-growthSamples, 0):]) * float64(time.Second) / float64(interval))
}

// untilFull returns the nanoseconds until room bytes are used up at so many bytes a second; 0: never.
func untilFull(room int64, growth float64) int64 {
	if room <= 0 || growth <= 0 {
		return 0
	}
	return int64(min(float64(room)/growth*float64(time.Second), float64(longest)))
}
