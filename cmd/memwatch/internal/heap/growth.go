package heap

import (
	"slices"
	"time"
)

const (
	// growthSamples is how much history the growth of a process or a site takes: little, so that it is that
	// of now. growthWindows parts of it have each a low point, and a part has at least two samples.
	growthSamples = 20
	growthWindows = 4

	// longest is the most that a forecast says, and as good as never.
	longest = 365 * 24 * time.Hour
)

// rise returns by how many bytes a sample the low points of a history rise, or with less than 0 fall, from
// one part to the next: the middle one of these steps, if the latest goes the same way. What goes up and down
// by turns does neither, and nor does what jumped only once, or has stopped.
func rise(h []int64) float64 {
	if len(h) < 2*growthWindows {
		return 0
	}
	low := lows(h)
	var steps [growthWindows - 1]float64
	for i := range steps {
		steps[i] = float64(low[i+1]-low[i]) / float64((i+1)*len(h)/growthWindows-i*len(h)/growthWindows)
	}
	last := steps[len(steps)-1]
	slices.Sort(steps[:])
	if middle := steps[len(steps)/2]; middle > 0 && last > 0 || middle < 0 && last < 0 {
		return middle
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

// A troughs keeps the least that was live between one sample and the next. What goes up and down many times
// between two samples may look as if it grew if only these are looked at.
type troughs struct {
	ring
	least int64
}

// fell notes that less is live.
func (t *troughs) fell(live int64) { t.least = min(t.least, live) }

// sample keeps the least since the sample before.
func (t *troughs) sample(live int64) {
	t.push(min(t.least, live))
	t.least = live
}

// growth returns the bytes a second by which the least that is live grows now.
func (t *troughs) growth(interval time.Duration) int64 {
	return int64(rise(t.at[max(len(t.at)-growthSamples, 0):]) * float64(time.Second) / float64(interval))
}

// untilFull returns the nanoseconds until room bytes are used up at so many bytes a second; 0: never.
func untilFull(room int64, growth float64) int64 {
	if room <= 0 || growth <= 0 {
		return 0
	}
	return int64(min(float64(room)/growth*float64(time.Second), float64(longest)))
}
