package tracker

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

// sampled does what an allocator does with a sample.
//
//go:noinline
func sampled(books *Tracker, s *Shard, size int64) (id SiteID, again bool) {
	if id := s.SiteAgain(0, size); id != 0 {
		return id, true
	}
	id = books.Site(1, s, size)
	s.Remember(0, id)
	return id, false
}

func TestSiteAgain(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("nothing is remembered without a quick walk of the stack")
	}
	books := New(Options{Rate: 1})
	s := newShard(t, books)
	var first SiteID
	for round := range 6 {
		id, again := sampled(books, s, 100)
		assert.Equal(t, round > 0, again, "only the first of a place is new")
		if round == 0 {
			first = id
		}
		assert.Equal(t, first, id)
	}
	other, again := sampled(books, s, 50)
	assert.False(t, again, "another place")
	assert.NotEqual(t, first, other)
	st := books.SiteOf(first)
	assert.EqualValues(t, 6, st.AllocObjects, "both ways count")
	assert.EqualValues(t, 600, st.AllocBytes)
	assert.EqualValues(t, 6, st.Samples)
	assert.EqualValues(t, 50, books.SiteOf(other).LiveBytes)
	assert.False(t, st.Last.IsZero())
}

// A stack that is deeper than what is remembered is taken anew each time.
func TestSiteAgainDeep(t *testing.T) {
	books := New(Options{Rate: 1})
	s := newShard(t, books)
	var deep func(n int) bool
	deep = func(n int) bool {
		if n > 0 {
			return deep(n - 1)
		}
		_, again := sampled(books, s, 1)
		return again
	}
	for range 3 {
		assert.False(t, deep(2*againDepth))
	}
}

// What is much larger than the rate is a sample each time, and leaves the distance to the next one
// as it is: what is small keeps its chance.
func TestCertainSamples(t *testing.T) {
	const rate = 1000
	books := New(Options{Rate: rate})
	s := newShard(t, books)
	small := 0
	for range 20_000 {
		s.Alloc(certain * rate)
		assert.True(t, s.Sample(certain*rate))
		s.Alloc(100)
		if s.Sample(100) {
			small++
		}
	}
	// One in 10.5 of them, as 1 - exp(-0.1) = 0.0952; the standard deviation is 41.
	assert.InDelta(t, 1903, small, 6*41)
}
