package alloc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/tracker"
)

func TestCloseNamesLive(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(ordered(t, dev), alloc.Options{})
	require.NoError(t, err)
	s := newStream(t, p)
	// So large that the sampler does not miss one.
	a, err := alloc.Make[byte](s, 64<<20)
	require.NoError(t, err)
	b, err := alloc.Make[byte](s, 64<<20)
	require.NoError(t, err)
	b.Free()
	err = p.Close()
	require.ErrorIs(t, err, alloc.ErrLive)
	var le *alloc.LiveError
	require.ErrorAs(t, err, &le)
	assert.EqualValues(t, 1, le.Buffers)
	assert.EqualValues(t, 64<<20, le.Bytes)
	assert.Contains(t, err.Error(), "live_test.go")
	assert.NotZero(t, dev.Used())
	a.Free()
	assert.Zero(t, dev.Used(), "the last one takes its segment along")
	assert.Zero(t, p.Stats().Reserved)
}

// What was not sampled is counted, and the error says how to have it named. Figures are exact, and of
// this pool alone although the books are shared.
func TestCloseCountsUnsampled(t *testing.T) {
	never := tracker.New(tracker.Options{Rate: -1})
	every := tracker.New(tracker.Options{Rate: 1})
	for _, c := range []struct {
		books *tracker.Tracker
		check bool
		want  string
	}{
		{never, false,
			"alloc: close: buffers still live: 3 of 3.0 KiB; 3.0 KiB in 3 from sites that were not sampled: " +
				"tracker.Options{Rate: 1} or alloc.Options{Check: true} names all"},
		{every, false, "3.0 KiB in 3 from "},
		{nil, true, " in 3 from "},
		{never, true, " in 3 from "}, // Check mode keeps the stacks itself
	} {
		other := newPool(t, host.Options{}, alloc.Options{Tracker: c.books})
		elsewhere := mustMake[byte](t, other.DefaultStream(), 1<<20)
		p := newPool(t, host.Options{}, alloc.Options{Tracker: c.books, Check: c.check})
		s := newStream(t, p)
		var all []alloc.Buffer[byte]
		for range 4 {
			all = append(all, mustMake[byte](t, s, 1000))
		}
		all[3].Free()
		err := p.Close()
		var le *alloc.LiveError
		require.ErrorAs(t, err, &le)
		assert.EqualValues(t, 3, le.Buffers)
		assert.Contains(t, err.Error(), c.want)
		if c.books == never && !c.check {
			assert.Equal(t, alloc.Unknown{Buffers: 3, Bytes: le.Bytes}, le.Unknown)
			assert.Empty(t, le.Sites)
		} else {
			assert.Zero(t, le.Unknown)
			require.Len(t, le.Sites, 1)
			assert.EqualValues(t, 3, le.Sites[0].LiveObjects)
			assert.Equal(t, le.Bytes, le.Sites[0].LiveBytes)
			assert.Contains(t, le.Sites[0].String(), "_test.go:")
			assert.NotContains(t, err.Error(), "not sampled")
		}
		for _, b := range all {
			b.Free()
		}
		assert.Zero(t, p.Stats().Reserved)
		elsewhere.Free()
		require.NoError(t, other.Close())
	}
}

// Whatever way a Make goes, its site begins where the program called it.
func TestSitesBeginAtTheCaller(t *testing.T) {
	for name, c := range map[string]struct {
		check, expose bool
		history       int
	}{
		"plain":   {},
		"exposed": {expose: true}, // may be captured by others
		"history": {history: 10},
		"check":   {check: true},
	} {
		t.Run(name, func(t *testing.T) {
			books := tracker.New(tracker.Options{Rate: 1, History: c.history})
			p := newPool(t, host.Options{}, alloc.Options{Tracker: books, Check: c.check})
			s := newStream(t, p)
			if c.expose {
				s.Handle()
			}
			for range 3 { // the second and later ones may be recognized by their stack
				b, err := alloc.Make[byte](s, 100)
				require.NoError(t, err)
				b.Free()
			}
			a, err := alloc.Adopt[byte](s, 512, 100, nil)
			require.NoError(t, err)
			a.Free()
			sites := books.Sites()
			require.Len(t, sites, 2)
			for _, site := range sites {
				assert.Contains(t, site.Frames[0].Function, "TestSitesBeginAtTheCaller", "%v", site.Frames)
				assert.Zero(t, site.LiveObjects)
			}
			require.NoError(t, p.Close())
		})
	}
}
