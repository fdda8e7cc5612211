package alloc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

const g = 2 << 20 // a granule of the host device

// Growth begins and ends in what is left of granules that cannot move, if that saves one.
func TestRooms(t *testing.T) {
	for _, c := range []struct {
		name string
		lie  []int // sizes in quarters of a granule, one behind the other; the negative ones are freed
		ask  int
		want int // granules that it takes
		at   int // where it begins, in quarters from the first
	}{
		{"a fragment before the void", []int{6}, 9, 2, 6},
		{"the fragment saves none", []int{7}, 6, 2, 7},
		{"a fragment behind the void", []int{8, -10, 6}, 6, 1, 12},
		{"fragments on both sides", []int{6, -12, 6}, 11, 2, 6},
		{"the one on the left saves one", []int{5, -10, 9}, 7, 1, 5},
		{"both save one, less is left over on the left", []int{7, -11, 6}, 5, 1, 7},
		{"both save one, less is left over on the right", []int{5, -13, 10}, 6, 1, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPool(t, host.Options{}, alloc.Options{Growth: alloc.Tight})
			s := p.DefaultStream()
			quarters := func(n int) alloc.Buffer[byte] { return mustMake[byte](t, s, n*g/4) }
			var freed []alloc.Buffer[byte]
			var live []alloc.Buffer[byte]
			for _, n := range c.lie {
				if n < 0 {
					freed = append(freed, quarters(-n))
				} else {
					live = append(live, quarters(n))
				}
			}
			for _, b := range freed {
				b.Free()
			}
			// The whole granules of what is idle go behind a buffer of two granules and more, as few as
			// serve.
			if len(freed) > 0 {
				live = append(live, quarters(16))
			}
			before := p.Stats().Reserved
			b := quarters(c.ask)
			require.Equal(t, int64(c.want), (p.Stats().Reserved-before)/g)
			require.Equal(t, c.at, int(b.Ptr(s)-live[0].Ptr(s))/(g/4))
			live = append(live, b)
			require.NoError(t, p.Check())
			for _, b := range live {
				b.Free()
			}
			require.NoError(t, p.Check())
			require.NoError(t, p.Close())
		})
	}
}

// A void between two idle blocks does not serve with both if whole granules were left over: they can move.
func TestRoomLeavesNoGranuleOver(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{Growth: alloc.Tight})
	s := p.DefaultStream()
	granules := func(n float64) alloc.Buffer[byte] { return mustMake[byte](t, s, int(n*g)) }
	left, hole, right := granules(2), granules(2), granules(2)
	at := left.Ptr(s)
	hole.Free()
	granules(4) // the hole's memory goes behind it
	left.Free()
	right.Free()
	before := p.Stats()
	require.EqualValues(t, 4*g, before.Idle)
	b := granules(4.5)
	require.NotEqual(t, at, b.Ptr(s), "between the two, a granule and a half would be left over")
	require.EqualValues(t, g, p.Stats().Reserved-before.Reserved)
	require.NoError(t, p.Check())
}

// Growth that moves what lies idle gets no spare granules besides.
func TestNoSpareWhereIdleIsMuch(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{Growth: alloc.Tight})
	granules := func(n int) alloc.Buffer[byte] { return mustMake[byte](t, p.DefaultStream(), n*g) }
	a, b := granules(128), granules(128)
	hole := granules(40)
	c := granules(128)
	hole.Free()
	before := p.Stats()
	d := granules(64)
	require.Equal(t, 64*g-before.Idle, p.Stats().Reserved-before.Reserved)
	require.Zero(t, p.Stats().Idle)
	require.NoError(t, p.Check())
	for _, b := range []alloc.Buffer[byte]{a, b, c, d} { // else the collector may free them late
		b.Free()
	}
}
