package alloc_test

import (
	"bytes"
	"encoding/json"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/tracker"
)

// A tracker with a history hears of every Make and every Free with its stack.
func TestHistory(t *testing.T) {
	for _, check := range []bool{false, true} {
		books := tracker.New(tracker.Options{Rate: -1, History: 100})
		p := newPool(t, host.Options{}, alloc.Options{Tracker: books, Check: check})
		s := newStream(t, p)
		b, err := alloc.Make[int32](s, 100)
		require.NoError(t, err)
		b.Free()
		b.Free() // no event: it frees nothing
		_, err = alloc.Make[int32](s, 1<<20)
		require.NoError(t, err)
		a, err := alloc.Adopt[byte](s, 1<<20, 7, nil)
		require.NoError(t, err)
		a.Free()
		collectUntil(t, func() bool { return p.Stats().Late == 1 })
		var made, freed, late []tracker.Event
		for _, e := range books.History() {
			switch e.Kind {
			case tracker.Made:
				made = append(made, e)
				assert.Contains(t, e.Stack[0].Function, "TestHistory",
					"the stack begins at the Make's caller")
			case tracker.Freed:
				freed = append(freed, e)
				found := false
				for _, f := range e.Stack {
					found = found || f.Function == made[0].Stack[0].Function
				}
				assert.True(t, found, "the Free's caller is in %v", e.Stack)
			case tracker.Late:
				late = append(late, e)
			}
		}
		require.Len(t, made, 3)
		require.Len(t, freed, 2)
		require.Len(t, late, 1)
		assert.Equal(t, made[0].Ptr, freed[0].Ptr)
		assert.Equal(t, made[0].Size, freed[0].Size)
		assert.Equal(t, made[1].Ptr, late[0].Ptr)
		assert.EqualValues(t, 7, made[2].Size)
		assert.Equal(t, "host", made[0].Account)
		require.NoError(t, p.Close())
	}
}

// The map of a pool accounts for every reserved byte, and does not keep the pool alive.
func TestSegmentMap(t *testing.T) {
	for _, opts := range []host.Options{{}, {NoMapping: true}} {
		books := tracker.New(tracker.Options{})
		p := newPool(t, opts, alloc.Options{Tracker: books})
		s, u := newStream(t, p), newStream(t, p)
		var keep []alloc.Buffer[byte]
		for i := range 60 {
			b := mustMake[byte](t, s, 1<<(i%23)+i)
			if i%3 == 0 {
				b.Free()
				continue
			}
			keep = append(keep, b)
		}
		g := block(t, u)
		keep[0].Ptr(u)
		keep[0].Free() // pending
		adopted, err := alloc.Adopt[byte](s, 1<<20, 100, nil)
		require.NoError(t, err)
		sum := map[string]int64{}
		var report struct{ Segments []tracker.Segment }
		var out bytes.Buffer
		require.NoError(t, books.WriteJSON(&out))
		require.NoError(t, json.Unmarshal(out.Bytes(), &report))
		for _, seg := range report.Segments {
			at := int64(0)
			for _, b := range seg.Blocks {
				assert.Equal(t, at, b.Offset, "blocks lie side by side")
				assert.Positive(t, b.Size)
				at += b.Size
				sum[b.State] += b.Size
			}
			assert.Equal(t, seg.Size, at)
			assert.Equal(t, p.Device().Name(), seg.Account)
		}
		st := p.Stats()
		assert.Positive(t, st.Pending)
		assert.Equal(t, map[string]int64{"live": st.Live, "pending": st.Pending, "idle": st.Idle}, sum)
		g.open()
		adopted.Free()
		for _, b := range keep {
			b.Free()
		}
		require.NoError(t, p.Close())

		w := weak.Make(p)
		p, s, u, keep = nil, nil, nil, nil
		adopted = alloc.Buffer[byte]{}
		collectUntil(t, func() bool { return w.Value() == nil })
		runtime.KeepAlive(books)
	}
}
