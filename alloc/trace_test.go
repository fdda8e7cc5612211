package alloc_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/bench/trace"
)

// recorded runs goroutines that make, hand over and free buffers on a pool with a trace.
func recorded(t testing.TB, o alloc.Options, goroutines, steps int) (*bytes.Buffer, alloc.Stats) {
	var out bytes.Buffer
	o.Trace = &out
	p := newPool(t, host.Options{}, o)
	handed := make(chan alloc.Buffer[byte], 8)
	var wg sync.WaitGroup
	for g := range goroutines {
		s, err := p.NewStream()
		require.NoError(t, err)
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			var mine []alloc.Buffer[byte]
			for range steps {
				b, err := alloc.Make[byte](s, 1+r.IntN(1<<r.IntN(20)))
				if err != nil {
					t.Error(err)
					return
				}
				select {
				case handed <- b: // another goroutine frees it
				case other := <-handed:
					other.Free()
					mine = append(mine, b)
				default:
					mine = append(mine, b)
				}
				for len(mine) > 20 {
					i := r.IntN(len(mine))
					mine[i].Free()
					mine = append(mine[:i], mine[i+1:]...)
				}
			}
			for _, b := range mine {
				b.Free()
			}
		})
	}
	wg.Wait()
	for len(handed) > 0 {
		(<-handed).Free()
	}
	st := p.Stats()
	require.NoError(t, p.Close())
	return &out, st
}

// TestPoolWrites has goroutines race for addresses: in the trace none is made twice without a free
// between, and each free has its make.
func TestPoolWrites(t *testing.T) {
	for _, check := range []bool{false, true} {
		out, st := recorded(t, alloc.Options{Check: check}, 4, 500)
		tr, err := trace.Read(out)
		require.NoError(t, err)
		require.Zero(t, tr.Skipped)
		require.Equal(t, "host", tr.Device)
		made, freed, streams := 0, 0, map[int]bool{}
		last := time.Duration(0)
		for _, e := range tr.Events {
			if e.Free {
				freed++
			} else {
				made++
				streams[e.Stream] = true
			}
			require.GreaterOrEqual(t, e.At, last)
			last = e.At
		}
		require.EqualValues(t, st.Made, made)
		require.Equal(t, made, freed)
		require.Len(t, streams, 4)
		require.LessOrEqual(t, tr.Peak(), st.PeakLive)

		p := newPool(t, host.Options{}, alloc.Options{})
		r, err := tr.Replay(p, 0)
		require.NoError(t, err)
		require.Zero(t, r.Failures)
		require.EqualValues(t, made, r.Stats.Made)
		require.Zero(t, r.Stats.Live)
		require.NoError(t, p.Close())
	}
}

// TestLateAndAdopted: what the collector frees is a free, and memory of others is not in the trace.
func TestLateAndAdopted(t *testing.T) {
	var out bytes.Buffer
	p := newPool(t, host.Options{}, alloc.Options{Trace: &out, Limit: 8 << 20})
	for range 40 {
		_, err := alloc.Make[byte](p.DefaultStream(), 1<<20) // more than there is, and never freed
		require.NoError(t, err)
	}
	a, err := alloc.Adopt[byte](p.DefaultStream(), 1<<40, 100, nil)
	require.NoError(t, err)
	a.Free()
	_ = p.Close() // may name what is live
	tr, err := trace.Read(&out)
	require.NoError(t, err)
	require.Zero(t, tr.Skipped)
	require.LessOrEqual(t, tr.Peak(), int64(8<<20))
	made := 0
	for _, e := range tr.Events {
		if !e.Free {
			made++
			require.EqualValues(t, 1<<20, e.Size)
		}
	}
	require.Equal(t, 40, made)
}

type full struct{ room int }

var errFull = errors.New("disk full")

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestWriterFails: the pool works on, and Close says so.
func TestWriterFails(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{Trace: &full{}})
	for range 10_000 {
		b, err := alloc.Make[byte](p.DefaultStream(), 100)
		require.NoError(t, err)
		b.Free()
	}
	require.EqualError(t, p.Close(), "alloc: trace: disk full")
}
