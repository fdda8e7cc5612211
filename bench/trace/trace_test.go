package trace

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

func pool(t testing.TB, o alloc.Options) *alloc.Pool {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(dev, o)
	require.NoError(t, err)
	return p
}

// record runs goroutines that make, hand over and free buffers on a pool with a trace.
func record(t testing.TB, o alloc.Options, goroutines, steps int) (*bytes.Buffer, alloc.Stats) {
	var out bytes.Buffer
	o.Trace = &out
	p := pool(t, o)
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
		out, st := record(t, alloc.Options{Check: check}, 4, 500)
		tr, err := Read(out)
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

		p := pool(t, alloc.Options{})
		r, err := tr.Replay(p)
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
	p := pool(t, alloc.Options{Trace: &out, Limit: 8 << 20})
	for range 40 {
		_, err := alloc.Make[byte](p.DefaultStream(), 1<<20) // more than there is, and never freed
		require.NoError(t, err)
	}
	a, err := alloc.Adopt[byte](p.DefaultStream(), 1<<40, 100, nil)
	require.NoError(t, err)
	a.Free()
	_ = p.Close() // may name what is live
	tr, err := Read(&out)
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
	p := pool(t, alloc.Options{Trace: &full{}})
	for range 10_000 {
		b, err := alloc.Make[byte](p.DefaultStream(), 100)
		require.NoError(t, err)
		b.Free()
	}
	require.EqualError(t, p.Close(), "alloc: trace: disk full")
	var tr Trace
	tr.Events = make([]Event, 10)
	require.ErrorIs(t, tr.Write(&full{}), errFull)
	require.ErrorIs(t, tr.WriteRMM(&full{}), errFull)
}

func TestForms(t *testing.T) {
	out, _ := record(t, alloc.Options{}, 2, 200)
	tr, err := Read(bytes.NewReader(out.Bytes()))
	require.NoError(t, err)
	var own, rmm bytes.Buffer
	require.NoError(t, tr.Write(&own))
	require.Equal(t, out.String(), own.String())
	require.NoError(t, tr.WriteRMM(&rmm))
	again, err := ReadRMM(&rmm)
	require.NoError(t, err)
	require.Len(t, again.Events, len(tr.Events))
	streams := map[int]int{}
	for i, e := range again.Events {
		want := tr.Events[i]
		require.Equal(t, want.Free, e.Free)
		require.Equal(t, want.Ptr, e.Ptr)
		require.Equal(t, want.Size, e.Size)
		require.InDelta(t, want.At-tr.Events[0].At, e.At, float64(2*time.Microsecond))
		if n, ok := streams[want.Stream]; ok {
			require.Equal(t, n, e.Stream)
		}
		streams[want.Stream] = e.Stream
	}
}

func TestReadRMM(t *testing.T) {
	tr, err := ReadRMM(strings.NewReader(`Thread,Time,Action,Pointer,Size,Stream
140,23:59:59.900000,allocate,0x7f10,1024,0x0
140,23:59:59.950000,allocate failure,0x0,99999,0x0
141,00:00:00.100000,allocate,0x7f20,2048,0x55aa
141,00:00:00.200000,free,0x7f10,1024,0x0
141,00:00:00.300000,free,0xdead,1,0x0
`))
	require.NoError(t, err)
	require.Equal(t, []Event{
		{Stream: 0, Ptr: 0x7f10, Size: 1024},
		{At: 200 * time.Millisecond, Stream: 1, Ptr: 0x7f20, Size: 2048},
		{Free: true, At: 300 * time.Millisecond, Ptr: 0x7f10, Size: 1024},
	}, tr.Events)
	require.Equal(t, 2, tr.Skipped)
	require.EqualValues(t, 3072, tr.Peak())
	for text, want := range map[string]string{
		"1,00:00:00.0,shrink,0x1,1,0x0\n":    `trace: rmm: line 1: action "shrink" is none of allocate, free, allocate failure`,
		"1,noon,free,0x1,1,0x0\n":            `trace: rmm: line 1: time "noon" is not HH:MM:SS.ffffff`,
		"1,a:00:00.0,free,0x1,1,0x0\n":       `trace: rmm: line 1: time "a:00:00.0": invalid syntax`,
		"1,00:00:00.0,allocate,0x1,-1,0x0\n": "trace: rmm: line 1: size -1",
		"1,2\n":                              "trace: rmm: record on line 1: wrong number of fields",
	} {
		_, err := ReadRMM(strings.NewReader(text))
		require.EqualError(t, err, want)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                        "trace: it does not begin with lastuse.trace.v1",
		"lastuse.trace.v2 \"x\"\n":                "trace: it does not begin with lastuse.trace.v1",
		"lastuse.trace.v1 x\n":                    "trace: line 1: the device's name is x",
		"lastuse.trace.v1 \"x\"\nz 1 2 3\n":       "trace: line 2: it is neither m with 4 numbers nor f with 3",
		"lastuse.trace.v1 \"x\"\nm 1 -1 3 4\n":    "trace: line 2: stream -1, 4 bytes: out of range",
		"lastuse.trace.v1 \"x\"\nm 1 1 zz 4\n":    `trace: line 2: strconv.ParseUint: parsing "zz": invalid syntax`,
		"lastuse.trace.v1 \"x\"\nm 1 1 3 -4\n":    "trace: line 2: stream 1, -4 bytes: out of range",
		"lastuse.trace.v1 \"x\"\nm 1 99999 3 1\n": "trace: line 2: stream 99999, 1 bytes: out of range",
	} {
		_, err := Read(strings.NewReader(text))
		require.EqualError(t, err, want)
	}
	tr, err := Read(strings.NewReader("lastuse.trace.v1 \"x\"\nm 1 0 10 5\nm 2 0 10 6\nf 3 0 99\nf 4 0 1"))
	require.NoError(t, err, "the last line is cut off")
	require.Len(t, tr.Events, 1)
	require.Equal(t, 2, tr.Skipped)
}

// TestReplayFails counts what finds no memory and goes on.
func TestReplayFails(t *testing.T) {
	p := pool(t, alloc.Options{Limit: 4 << 20, CollectWait: 1})
	tr := &Trace{Events: []Event{{Ptr: 1, Size: 3 << 20}, {Ptr: 2, Size: 3 << 20}, {Free: true, Ptr: 2, Size: 3 << 20}, {Ptr: 3, Size: 100}}}
	r, err := tr.Replay(p)
	require.NoError(t, err)
	require.Equal(t, 1, r.Failures)
	require.EqualValues(t, 2, r.Stats.Made)
	require.NoError(t, p.Close())
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("lastuse.trace.v1 \"x\"\nm 1 0 10 5\nf 4 0 10\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		var out bytes.Buffer
		require.NoError(t, tr.Write(&out))
		again, err := Read(&out)
		require.NoError(t, err)
		require.Equal(t, tr.Events, again.Events)
		require.Zero(t, again.Skipped)
	})
}
