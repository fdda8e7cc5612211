package alloc_test

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// Every figure has one name of the form that the documentation promises, a kind and a help, and
// can be read by its name.
func TestDescriptions(t *testing.T) {
	form := regexp.MustCompile(`^(/[a-z]+)+:[a-z]+$`)
	all := alloc.Descriptions()
	names := make(map[string]bool)
	fields := make(map[string]bool)
	st := alloc.Stats{}
	v := reflect.ValueOf(&st).Elem()
	for i, d := range all {
		assert.Regexp(t, form, d.Name)
		assert.False(t, names[d.Name], d.Name)
		names[d.Name], fields[d.Field] = true, true
		assert.Contains(t, []string{"gauge", "peak", "counter"}, d.Kind)
		assert.Greater(t, len(d.Help), 10, d.Name)
		if f := v.FieldByName(d.Field); f.CanInt() {
			f.SetInt(int64(i) + 1)
		} else {
			f.SetFloat(float64(i) + 1)
		}
	}
	for i, d := range all {
		x, ok := st.Read(d.Name)
		require.True(t, ok)
		assert.EqualValues(t, i+1, x, d.Name)
	}
	_, ok := st.Read("/nothing:bytes")
	assert.False(t, ok)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "Pacing" {
			assert.True(t, fields[name], "%s has no description", name)
		}
	}
}

// Peaks: exact for one stream, an upper bound for several.
func TestPeaks(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s, u := newStream(t, p), newStream(t, p)
	a, b := mustMake[byte](t, s, 1<<20), mustMake[byte](t, s, 2<<20)
	a.Free()
	b.Free()
	assert.EqualValues(t, 3<<20, p.Stats().PeakLive)
	c := mustMake[byte](t, u, 1<<20)
	c.Free()
	st := p.Stats()
	assert.GreaterOrEqual(t, st.PeakLive, int64(3<<20))
	assert.LessOrEqual(t, st.PeakLive, int64(4<<20))
	assert.EqualValues(t, 4<<20, st.TotalLive)
	assert.EqualValues(t, 3, st.Freed)
	assert.Positive(t, st.LargestIdle)
	require.NoError(t, p.Close())
}

// A warm pool allocates no Go memory and calls no device, at every size and across streams.
func TestWarmCostsNothing(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	for size := 1; size < 1<<28; size *= 3 {
		pair := func() {
			b, err := alloc.Make[byte](s, size)
			if err != nil {
				t.Fatal(err)
			}
			b.Free()
		}
		pair()
		calls := p.Stats().DeviceCalls
		allocatesNothing(t, pair, "%d bytes", size)
		assert.Equal(t, calls, p.Stats().DeviceCalls, "%d bytes", size)
	}
	require.NoError(t, p.Close())
}

// What a size wastes: at most 1/9 beyond the unit of alignment for small sizes, and 0.1 % for
// large ones.
func TestSlack(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	for size := int64(1); size < 200<<20; size += 1 + size/37 {
		b := mustMake[byte](t, s, int(size))
		live := p.Stats().Live
		aligned := (size + alloc.MinAlign - 1) &^ (alloc.MinAlign - 1)
		most := aligned + aligned/8
		if size > 32<<10 {
			most = aligned + aligned/1000
		}
		require.LessOrEqual(t, live, most, "%d bytes", size)
		require.GreaterOrEqual(t, live, size)
		b.Free()
	}
	require.NoError(t, p.Close())
}

func TestStatsString(t *testing.T) {
	s := alloc.Stats{Live: 3 << 20, Buffers: 2, Pending: 512, Idle: 1 << 20, Reserved: 4<<20 + 512,
		PeakLive: 3 << 20, PeakReserved: 8 << 20, Made: 9, Freed: 6, Late: 1, Repeated: 4, DeviceCalls: 5}
	require.Equal(t, "live 3.0 MiB in 2, pending 512 B, idle 1.0 MiB, reserved 4.0 MiB; peak 3.0 MiB live, 8.0 MiB reserved; made 9, freed 6, late 1, repeated 4; 5 device calls", s.String())
}

// Two sizes in turn call no device, although they lie in segments of different kinds, each larger than what
// is live.
func TestAlternatingSizesCostNothing(t *testing.T) {
	for _, granule := range []int64{2 << 20, 8 << 20} {
		p := newPool(t, host.Options{Granularity: granule}, alloc.Options{})
		s := newStream(t, p)
		var calls int64
		for i := range 20 {
			mustMake[byte](t, s, 1<<20).Free()
			mustMake[byte](t, s, 3<<20).Free()
			if i == 1 {
				calls = p.Stats().DeviceCalls
			}
		}
		assert.Equal(t, calls, p.Stats().DeviceCalls, "granules of %d bytes", granule)
	}
}
