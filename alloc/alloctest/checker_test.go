package alloctest_test

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/internal/custody"
)

// A bench is an Order with a few streams, events and a piece of memory, and stands in for a pool: what it
// says of the memory is what a pool would say.
type bench struct {
	t       *testing.T
	host    *host.Device
	dev     *alloctest.Order
	faulty  *alloctest.Faulty
	pool    custody.Observer
	s, u, v uintptr
	e, f    uintptr
	p       alloc.Ptr
}

const benchSize = 4 << 10

// A keeper gives no memory back, as what is out of order here runs all the same.
type keeper struct{ *host.Device }

func (keeper) Free(alloc.Ptr, int64) error { return nil }

func newBench(t *testing.T) *bench {
	h, err := host.Open(host.Options{Granularity: 4 << 10})
	require.NoError(t, err)
	b := &bench{t: t, host: h, faulty: alloctest.NewFaulty(keeper{h})}
	b.dev = alloctest.NewOrder(b.faulty, func(*alloctest.Finding) {})
	b.pool = b.dev.Observe()
	for _, s := range []*uintptr{&b.s, &b.u, &b.v} {
		*s, err = b.dev.NewStream()
		require.NoError(t, err)
	}
	for _, e := range []*uintptr{&b.e, &b.f} {
		*e, err = b.dev.NewEvent()
		require.NoError(t, err)
	}
	b.p, err = b.dev.Alloc(benchSize)
	require.NoError(t, err)
	return b
}

func (b *bench) ok(err error)                     { b.t.Helper(); require.NoError(b.t, err) }
func (b *bench) made(s uintptr)                   { b.madePart(s, 0, benchSize) }
func (b *bench) madePart(s uintptr, off, n int64) { b.pool.Made(s, uintptr(b.p)+uintptr(off), n) }
func (b *bench) freed()                           { b.pool.Freed(uintptr(b.p), benchSize) }
func (b *bench) fill(s uintptr)                   { b.ok(b.dev.Fill(s, b.p, 1, 1, benchSize)) }
func (b *bench) fillPart(s uintptr, off, n int64) { b.ok(b.dev.Fill(s, b.p+alloc.Ptr(off), 1, 1, n)) }
func (b *bench) record(e, s uintptr)              { b.ok(b.dev.Record(e, s)) }
func (b *bench) wait(s, e uintptr)                { b.ok(b.dev.Wait(s, e)) }
func (b *bench) sync(s uintptr)                   { b.ok(b.dev.Sync(s)) }
func (b *bench) begin(s uintptr)                  { b.pool.Begin(s, uintptr(b.p), benchSize) }
func (b *bench) end(s uintptr)                    { b.pool.End(s, uintptr(b.p), benchSize) }
func (b *bench) held(s uintptr)                   { b.pool.Held(s, uintptr(b.p), benchSize) }
func (b *bench) query(e uintptr) bool             { yes, err := b.dev.Query(e); b.ok(err); return yes }
func (b *bench) copyOut(s uintptr, data []byte) {
	b.ok(b.dev.CopyOut(s, unsafe.Pointer(&data[0]), b.p, int64(len(data))))
}
func (b *bench) hold(s uintptr) (release func()) {
	r, err := b.host.Hold(s)
	b.ok(err)
	return r
}
func (b *bench) used(s uintptr) { b.made(s); b.fill(s); b.freed() }
func (b *bench) giveBack()      { b.ok(b.dev.Free(b.p, benchSize)) }

// What is in order, and what is not. A name that begins with "no " is out of order, found once.
func TestOrderRules(t *testing.T) {
	const other, while = "is not ordered before", "is being enqueued"
	const lost, there = "may not have run", "that is not there"
	for _, c := range []struct {
		name, want string
		run        func(*bench)
	}{
		{"same stream", "", func(b *bench) { b.used(b.s); b.used(b.s) }},
		{"another stream", other, func(b *bench) { b.used(b.s); b.made(b.u) }},
		{"nothing was done", "", func(b *bench) { b.made(b.s); b.freed(); b.made(b.u) }},
		{"sync", "", func(b *bench) { b.used(b.s); b.sync(b.s); b.made(b.u) }},
		{"sync of another stream", other, func(b *bench) { b.used(b.s); b.sync(b.v); b.made(b.u) }},
		{"sync before", other, func(b *bench) { b.sync(b.s); b.used(b.s); b.made(b.u) }},
		{"sync that failed", other, func(b *bench) {
			b.used(b.s)
			b.faulty.FailNth(1)
			require.Error(b.t, b.dev.Sync(b.s))
			b.made(b.u)
		}},
		{"wait", "", func(b *bench) { b.used(b.s); b.record(b.e, b.s); b.wait(b.u, b.e); b.made(b.u) }},
		{"wait of another stream", other, func(b *bench) {
			b.used(b.s)
			b.record(b.e, b.s)
			b.wait(b.v, b.e)
			b.made(b.u)
		}},
		{"wait through a third stream", "", func(b *bench) {
			b.used(b.s)
			b.record(b.e, b.s)
			b.wait(b.v, b.e)
			b.record(b.f, b.v)
			b.wait(b.u, b.f)
			b.made(b.u)
		}},
		{"recorded too early", other, func(b *bench) {
			b.made(b.s)
			b.record(b.e, b.s)
			b.fill(b.s)
			b.freed()
			b.wait(b.u, b.e)
			b.made(b.u)
		}},
		{"event recorded again after the wait", "", func(b *bench) {
			b.used(b.s)
			b.record(b.e, b.s)
			b.wait(b.u, b.e)
			b.record(b.e, b.v)
			b.made(b.u)
		}},
		{"event recorded again before the wait", other, func(b *bench) {
			b.used(b.s)
			b.record(b.e, b.s)
			b.record(b.e, b.v)
			b.wait(b.u, b.e)
			b.made(b.u)
		}},
		{"record that failed", other, func(b *bench) {
			b.used(b.s)
			b.faulty.FailNth(1)
			require.Error(b.t, b.dev.Record(b.e, b.s))
			b.wait(b.u, b.e)
			b.made(b.u)
		}},
		{"query yes", "", func(b *bench) {
			b.used(b.s)
			b.record(b.e, b.s)
			b.ok(b.host.Sync(b.s)) // not through the checker
			require.True(b.t, b.query(b.e))
			b.made(b.u)
		}},
		{"query no", other, func(b *bench) {
			release := b.hold(b.s)
			defer release()
			b.used(b.s)
			b.record(b.e, b.s)
			require.False(b.t, b.query(b.e))
			b.made(b.u)
		}},
		{"over in truth, which nobody has asked", other, func(b *bench) {
			b.used(b.s)
			b.ok(b.host.Sync(b.s))
			b.made(b.u)
		}},
		{"sync of an event", "", func(b *bench) {
			b.used(b.s)
			b.record(b.e, b.s)
			b.ok(b.dev.SyncEvent(b.e))
			b.made(b.u)
		}},
		{"copy out", "", func(b *bench) { b.used(b.s); b.copyOut(b.s, make([]byte, 1)); b.made(b.u) }},
		{"made before, used after the wait", "is used on a stream that has not waited", func(b *bench) {
			b.used(b.s)
			b.made(b.s)
			b.fill(b.u)
		}},
		{"copy source", other, func(b *bench) {
			q, err := b.dev.Alloc(benchSize)
			b.ok(err)
			b.made(b.s)
			b.ok(b.dev.Copy(b.s, q, b.p, 10))
			b.freed()
			b.made(b.u)
		}},
		{"two streams, one waited for", other, func(b *bench) {
			b.made(b.s)
			b.fill(b.s)
			b.fill(b.u)
			b.freed()
			b.sync(b.s)
			b.made(b.s)
		}},
		{"owner before the last", other, func(b *bench) {
			b.used(b.s)
			b.record(b.e, b.s)
			b.wait(b.u, b.e)
			b.made(b.u)
			b.freed()
			b.made(b.v)
		}},
		{"one byte of it", other, func(b *bench) {
			b.made(b.s)
			b.fillPart(b.s, 1000, 1)
			b.freed()
			b.madePart(b.u, 512, 512)
		}},
		{"other bytes of the same device call", "", func(b *bench) {
			b.made(b.s)
			b.fillPart(b.s, 2000, 1)
			b.freed()
			b.madePart(b.u, 512, 512)
		}},
		{"joined with what is in order", other, func(b *bench) {
			b.madePart(b.u, 0, 512)
			b.ok(b.dev.Fill(b.u, b.p, 1, 1, 512))
			b.madePart(b.s, 512, 512)
			b.fillPart(b.s, 512, 512)
			b.pool.Freed(uintptr(b.p), 512)
			b.pool.Freed(uintptr(b.p)+512, 512)
			b.madePart(b.u, 0, 1024)
		}},
		{"given to two", "that is a buffer's", func(b *bench) { b.made(b.s); b.madePart(b.s, 512, 512) }},
		{"without memory", there, func(b *bench) { b.giveBack(); b.made(b.s) }},
		{"half without memory", there, func(b *bench) { b.madePart(b.s, benchSize/2, benchSize) }},
		{"while it is enqueued", while, func(b *bench) {
			b.made(b.s)
			b.begin(b.s)
			b.freed()
			b.made(b.s)
			b.end(b.s)
		}},
		{"after it was enqueued", "", func(b *bench) {
			b.made(b.s)
			b.begin(b.s)
			b.end(b.s)
			b.freed()
			b.made(b.s)
		}},
		{"enqueued, elsewhere", other, func(b *bench) {
			b.made(b.s)
			b.begin(b.u)
			b.end(b.u)
			b.freed()
			b.made(b.s)
		}},
		{"recorded while it is enqueued", other, func(b *bench) {
			b.made(b.s)
			b.begin(b.s)
			b.record(b.e, b.s)
			b.end(b.s)
			b.freed()
			b.wait(b.u, b.e)
			b.made(b.u)
		}},
		{"address given away", other, func(b *bench) { b.made(b.s); b.held(b.u); b.freed(); b.made(b.s) }},
		{"address given away, synced before the free", other, func(b *bench) {
			b.made(b.s)
			b.held(b.u)
			b.sync(b.u)
			b.freed()
			b.made(b.s)
		}},
		{"address given away, synced after the free", "", func(b *bench) {
			b.made(b.s)
			b.held(b.u)
			b.freed()
			b.sync(b.u)
			b.made(b.s)
		}},
		{"address given away for a stream that is closed", "", func(b *bench) {
			b.made(b.s)
			b.held(b.u)
			b.sync(b.u)
			b.pool.Closed(b.u)
			b.ok(b.dev.DestroyStream(b.u))
			b.freed()
			b.made(b.s)
		}},
		{"a stream with the handle of one that is gone", other, func(b *bench) {
			b.used(b.s)
			b.ok(b.dev.DestroyStream(b.s))
			s, err := b.dev.NewStream()
			b.ok(err)
			require.Equal(b.t, b.s, s, "the host device gives handles out again")
			b.made(s)
		}},
		{"given back", lost, func(b *bench) { b.used(b.s); b.giveBack() }},
		{"given back after sync", "", func(b *bench) { b.used(b.s); b.sync(b.s); b.giveBack() }},
		{"given back behind a wait", lost, func(b *bench) {
			b.used(b.s)
			b.record(b.e, b.s)
			b.wait(b.u, b.e)
			b.giveBack()
		}},
		{"given back live", "that is a buffer's", func(b *bench) { b.made(b.s); b.giveBack() }},
		{"given back while it is enqueued", lost, func(b *bench) {
			b.made(b.s)
			b.begin(b.s)
			b.freed()
			b.giveBack()
		}},
		{"given back of a dropped pool", "", func(b *bench) { b.made(b.s); b.pool.Dropped(); b.giveBack() }},
		{"given back with a stream that never comes", "", func(b *bench) {
			b.used(b.s)
			b.faulty.Break()
			assert.Error(b.t, errors.Join(b.dev.Sync(b.s)))
			assert.Error(b.t, errors.Join(b.dev.Sync(b.s)))
			b.faulty.Heal()
			b.giveBack()
		}},
		{"adopted and released", "", func(b *bench) {
			b.pool.Adopted(b.s, 1<<20, 512)
			b.pool.Begin(b.s, 1<<20, 512)
			b.pool.End(b.s, 1<<20, 512)
			b.pool.Freed(1<<20, 512)
			b.sync(b.s)
			b.pool.Released(1<<20, 512)
		}},
		{"adopted and released too early", lost, func(b *bench) {
			b.pool.Adopted(b.s, 1<<20, 512)
			b.pool.Begin(b.s, 1<<20, 512)
			b.pool.End(b.s, 1<<20, 512)
			b.pool.Freed(1<<20, 512)
			b.pool.Released(1<<20, 512)
		}},
		{"adopted, its address given away", lost, func(b *bench) {
			b.pool.Adopted(b.s, 1<<20, 512)
			b.pool.Held(b.u, 1<<20, 512)
			b.sync(b.u)
			b.pool.Freed(1<<20, 512)
			b.pool.Released(1<<20, 512)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			c.run(b)
			found, n := b.dev.Findings()
			if c.want == "" {
				for _, f := range found {
					t.Error(f)
				}
				require.NoError(t, b.dev.Err())
				return
			}
			require.Equal(t, 1, n, "%v", b.dev.Err())
			assert.Contains(t, found[0].What, c.want)
			assert.Equal(t, strings.Contains(c.want, "has not waited"), found[0].Program)
			assert.ErrorIs(t, b.dev.Err(), found[0])
			text := found[0].Error()
			assert.Contains(t, text, "checker_test.go", "stacks")
			if c.want != there {
				assert.GreaterOrEqual(t, strings.Count(text, " at:\n"), 2, "both stacks: %s", text)
			}
		})
	}
}

// Memory that moves has nothing behind it, or the move is the finding.
func TestOrderMoves(t *testing.T) {
	b := newBench(t)
	p, err := b.dev.Reserve(4 * benchSize)
	b.ok(err)
	b.ok(b.dev.Map(p, benchSize))
	b.ok(b.dev.Map(p+benchSize, benchSize))
	b.p = p
	b.used(b.s)
	b.sync(b.s)
	q := p + 2*benchSize
	b.faulty.Only("Move")
	b.faulty.FailNth(1)
	require.Error(t, b.dev.Move(q, p, benchSize))
	b.used(b.s) // it is still where it was
	b.sync(b.s)
	b.ok(b.dev.Move(q, p, benchSize))
	require.NoError(t, b.dev.Err())
	b.made(b.s) // and now it is not
	_, n := b.dev.Findings()
	require.Equal(t, 1, n)
	b.p = q
	b.used(b.s)
	_, n = b.dev.Findings()
	require.Equal(t, 1, n)
	b.ok(b.host.Sync(b.s)) // not through the checker
	b.ok(b.dev.Move(q+benchSize, q, benchSize))
	found, n := b.dev.Findings()
	require.Equal(t, 2, n)
	assert.Contains(t, found[1].Error(), "move by the host at:")
	assert.Contains(t, found[1].Error(), "fill on stream")
	b.ok(b.dev.Unmap(q+benchSize, benchSize))
	b.ok(b.dev.Unmap(p+benchSize, benchSize))
	_, n = b.dev.Findings()
	require.Equal(t, 2, n)
}

// Page-locked memory changes hands between the host and copies.
func TestOrderPinned(t *testing.T) {
	b := newBench(t)
	h, err := b.dev.AllocHost(512)
	b.ok(err)
	at := uintptr(h)
	b.pool.Made(custody.Host, at, 512)
	b.ok(b.dev.CopyIn(b.s, b.p, h, 512))
	b.ok(b.dev.CopyOut(b.s, h, b.p, 512))
	b.pool.Freed(at, 512)
	b.pool.Made(custody.Host, at, 512)
	require.NoError(t, b.dev.Err(), "copies are done with the host's memory when they return")
	b.pool.Held(b.s, at, 512)
	b.pool.Freed(at, 512)
	b.pool.Made(custody.Host, at, 512)
	_, n := b.dev.Findings()
	require.Equal(t, 1, n)
	b.pool.Freed(at, 512)
	b.ok(b.dev.FreeHost(h, 512))
	_, n = b.dev.Findings()
	require.Equal(t, 1, n)
}

// Memory that is registered stays the program's, whoever has a handle: only that it goes is judged.
func TestOrderRegistered(t *testing.T) {
	b := newBench(t)
	mem := alloc.Pages[byte](benchSize)
	p, at := unsafe.Pointer(&mem[0]), uintptr(unsafe.Pointer(&mem[0]))
	// Each stream has a piece of its own to write; the first one of the program's memory all may read.
	piece := map[uintptr]int{b.s: 0, b.u: 512, b.v: 1024}
	read := func(s uintptr) { b.ok(b.dev.Transfer(s, b.p+alloc.Ptr(piece[s]), p, 512, true)) }
	write := func(s uintptr) {
		b.ok(b.dev.Transfer(s, b.p+alloc.Ptr(piece[s]), unsafe.Add(p, 512+piece[s]), 512, false))
	}
	b.ok(b.dev.RegisterHost(p, benchSize))
	for range 2 { // two streams with handles of their own, and work between them that needs none
		b.pool.Begin(b.s, at, benchSize)
		b.pool.Made(custody.Host, at, benchSize)
		read(b.s)
		b.pool.End(b.s, at, benchSize)
		write(b.u)
		b.pool.Freed(at, benchSize)
		read(b.u)
		write(b.v)
	}
	require.NoError(t, b.dev.Err())
	b.sync(b.s)
	b.sync(b.v)
	b.ok(b.dev.UnregisterHost(p, benchSize))
	found, n := b.dev.Findings()
	require.Equal(t, 1, n, "u has not been waited for")
	assert.Contains(t, found[0].What, "may not have run")
	b.sync(b.u)

	b.ok(b.dev.RegisterHost(p, benchSize))
	b.pool.Made(custody.Host, at, benchSize)
	read(b.s)
	b.sync(b.s)
	b.ok(b.dev.UnregisterHost(p, benchSize))
	found, n = b.dev.Findings()
	require.Equal(t, 2, n)
	assert.Contains(t, found[1].What, "that is a buffer's", "somebody has a handle still")
}

// The conformance suite sees no difference between a device and one that is checked, and its parts keep
// order.
func TestOrderConforms(t *testing.T) {
	for _, mapping := range []bool{true, false} {
		alloctest.TestDevice(t, func(tb testing.TB) alloc.Device {
			h, err := host.Open(host.Options{NoMapping: !mapping, Granularity: 64 << 10})
			require.NoError(tb, err)
			return alloctest.Ordered(tb, h)
		})
	}
}

// So does a device that runs everything late, alone and checked.
func TestLateConforms(t *testing.T) {
	for _, mapping := range []bool{true, false} {
		for seed := range uint64(4) {
			alloctest.TestDevice(t, func(tb testing.TB) alloc.Device {
				h, err := host.Open(host.Options{NoMapping: !mapping, Granularity: 64 << 10})
				require.NoError(tb, err)
				late := alloctest.NewLate(h, seed)
				tb.Cleanup(func() { assert.NoError(tb, late.Faults()) })
				if seed%2 == 0 {
					return late
				}
				return alloctest.Ordered(tb, late)
			})
		}
	}
}
