package alloc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// A Make that finds all memory idle, and queued work on all of it, takes it in stream order, whatever sizes
// it served before. The work runs only after the Make has returned, so one that waits for the device hangs.
func TestIdleMemoryServesEverySize(t *testing.T) {
	const all = 16 << 20
	for _, c := range []struct {
		name      string
		noMapping bool
		was, ask  int // bytes
		other     bool
	}{
		{"a large segment for half", true, all, all / 2, false},
		{"a large segment for a slot", true, all, 1000, false},
		{"another stream's large segment for half", true, all, all / 2, true},
		{"another stream's large segment for a slot", true, all, 1000, true},
		{"slots for large", true, 32 << 10, 8 << 20, false},
		{"another stream's slots for large", true, 32 << 10, 8 << 20, true},
		{"large extents for a slot", false, all, 1000, false},
		{"another stream's large extents for a slot", false, all, 1000, true},
		{"small extents for large", false, 1 << 20, 4 << 20, false},
		{"another stream's small extents for large", false, 1 << 20, 4 << 20, true},
		{"another stream's slots for large extents", false, 32 << 10, 4 << 20, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPool(t, host.Options{Capacity: all, NoMapping: c.noMapping, Granularity: 64 << 10},
				alloc.Options{})
			s, u := newStream(t, p), newStream(t, p)
			if !c.other {
				u = s
			}
			var old []alloc.Buffer[byte]
			for range all / c.was {
				old = append(old, mustMake[byte](t, s, c.was))
			}
			g := block(t, s)
			for _, b := range old {
				require.NoError(t, b.Fill(s, 1))
				b.Free()
			}
			b := mustMake[byte](t, u, c.ask)
			require.NoError(t, b.Fill(u, 2))
			g.open()
			got := make([]byte, c.ask)
			require.NoError(t, b.CopyTo(u, got))
			assert.EqualValues(t, 2, got[c.ask-1])
			st := sound(t, p)
			assert.EqualValues(t, all, st.Reserved)
			assert.Zero(t, st.Waited+st.Collect)
			assert.Equal(t, c.other, st.Ordered == 1)
			b.Free()
			require.NoError(t, u.Sync())
			assert.EqualValues(t, all, p.Trim(0), "all of it is in one piece again, or in whole extents")
			sound(t, p)
			require.NoError(t, p.Close())
		})
	}
}

// However many larger blocks lie idle that have no whole extent, the extents that are idle are found: to be
// moved behind a buffer that fits nowhere, and to be given back.
func TestIdleExtentsAreFound(t *testing.T) {
	const n = 40
	p := newPool(t, host.Options{Capacity: 4 * n * g}, alloc.Options{Growth: alloc.Tight})
	s := p.DefaultStream()
	quarters := func(n int) alloc.Buffer[byte] { return mustMake[byte](t, s, n*g/4) }
	var idle, live []alloc.Buffer[byte]
	for range n {
		live = append(live, quarters(1))
		idle = append(idle, quarters(6)) // a granule and a half, of two
		live = append(live, quarters(1))
	}
	for range n {
		idle = append(idle, quarters(4))
		live = append(live, quarters(4))
	}
	for _, b := range idle {
		b.Free()
	}
	require.NoError(t, s.Sync())
	b := mustMake[byte](t, s, n*g)
	b.Free()
	require.NoError(t, s.Sync())
	assert.EqualValues(t, n*g, p.Trim(0))
	sound(t, p)
	for _, b := range live {
		b.Free()
	}
	require.NoError(t, p.Close())
}
