package heap

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A driver is the naive model: it does what a driver does, at the moment when a
// call takes effect, and keeps the plainest books there are.
type driver struct {
	clock  int64
	linear map[uint64]block
	phys   map[uint64]*chunk // by handle
	maps   map[uint64]*chunk // by address, one unit each
	chunks []*chunk
	cur    [drvThreads]uint64 // contexts

	made map[uint64]int64 // by address: when its latest allocation's call returned
}

type block struct {
	size int64
	ctx  uint64
	born int64
}

type chunk struct {
	size       int64
	refs, maps int
}

// A call is on its way on a thread: begun, and later done in the driver, and then
// returned.
type call struct {
	alloc bool
	addr  uint64
	size  int64
	begun int64
	done  bool
	ok    bool
}

const (
	drvThreads = 4
	drvAddrs   = 6
)

// live returns the own bytes by the driver's books.
func (d *driver) live() (sum int64) {
	for _, b := range d.linear {
		sum += b.size
	}
	for _, c := range d.chunks {
		if c.refs > 0 || c.maps > 0 {
			sum += c.size
		}
	}
	return sum
}

// FuzzHeap turns bytes into calls of four threads whose parts interleave. When no
// call is on its way the heap must agree with the driver to the byte.
func FuzzHeap(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 1, 1, 8, 0, 9, 1, 16, 17, 2, 3, 10, 11})
	f.Add([]byte("free, free, alloc: two threads free what a third is given"))
	f.Add([]byte(strings.Repeat("\x00\x01\x02\x08\x09\x0a\x10\x11\x12", 40)))
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 4096 {
			return
		}
		runScript(t, script)
	})
}

func runScript(t *testing.T, script []byte) {
	h := New(Options{})
	d := &driver{linear: map[uint64]block{}, phys: map[uint64]*chunk{}, maps: map[uint64]*chunk{}, made: map[uint64]int64{}}
	var calls [drvThreads]*call
	emit := func(e Event) {
		e.PID, e.Time = 1, d.clock
		h.Apply(&e)
		require.NoError(t, h.check())
	}
	emit(Event{Op: Start, Size: 1, Text: "model"})
	for i := 0; i+1 < len(script); i += 2 {
		d.clock++
		op, arg := script[i], uint64(script[i+1])
		tid := uint32(op) % drvThreads
		c := calls[tid]
		if c != nil { // take the thread's call one step further
			if !c.done {
				d.effect(c, tid)
			} else {
				d.finish(c, tid, emit)
				calls[tid] = nil
			}
			continue
		}
		switch idle := calls == [drvThreads]*call{}; op / drvThreads % 8 {
		case 0, 1:
			calls[tid] = &call{alloc: true, size: int64(arg) + 1, ok: arg%16 != 3}
		case 2, 3:
			c := &call{addr: arg%drvAddrs + 1, begun: d.clock, ok: arg%16 != 5}
			calls[tid] = c
			emit(Event{Op: Free, TID: tid, Addr: c.addr})
		case 4:
			d.physical(tid, arg, emit)
		case 5:
			d.mapping(tid, arg, emit)
		case 6:
			if idle {
				d.context(tid, arg, emit)
			}
		case 7:
			h.Advance(d.clock)
		}
		if calls == [drvThreads]*call{} {
			require.Equal(t, d.live(), h.procs[1].live, "after step %d", i)
		}
	}
	for tid, c := range calls {
		if c != nil {
			if !c.done {
				d.effect(c, uint32(tid))
			}
			d.finish(c, uint32(tid), emit)
		}
	}
	p := h.procs[1]
	require.Equal(t, d.live(), p.live)
	require.Equal(t, len(d.linear), len(p.table))
	require.LessOrEqual(t, len(p.tentatives), drvThreads, "what a free took is kept for one call")
	emit(Event{Op: Exit})
	require.Zero(t, p.live)
	require.Zero(t, h.live)
}

// effect is the moment at which the driver does what the call asks for.
func (d *driver) effect(c *call, tid uint32) {
	c.done = true
	if !c.alloc {
		b, ok := d.linear[c.addr]
		// A program that frees an address before it was told that it has it is not
		// a program: such a call fails here.
		c.ok = c.ok && ok && d.made[c.addr] < c.begun && b.born < c.begun
		if c.ok {
			delete(d.linear, c.addr)
		}
		return
	}
	for a := uint64(1); c.ok && c.addr == 0 && a <= drvAddrs; a++ {
		if _, ok := d.linear[a]; !ok {
			c.addr = a
			d.linear[a] = block{size: c.size, ctx: d.cur[tid], born: d.clock}
			d.made[a] = 1 << 62 // not yet
		}
	}
	c.ok = c.addr != 0
}

// finish returns from the call.
func (d *driver) finish(c *call, tid uint32, emit func(Event)) {
	switch {
	case c.alloc && c.ok:
		d.made[c.addr] = d.clock
		emit(Event{Op: Alloc, TID: tid, Addr: c.addr, Size: uint64(c.size), Stack: uint64(c.size % 3), Device: NoDevice})
	case c.alloc:
		emit(Event{Op: Fail, TID: tid, Size: uint64(c.size), Code: 2, Aux: 1})
	case !c.ok:
		emit(Event{Op: Undo, TID: tid, Addr: c.addr, Code: 1})
	}
}

// physical makes or releases a handle.
func (d *driver) physical(tid uint32, arg uint64, emit func(Event)) {
	h := arg%3 + 1
	c := d.phys[h]
	if c == nil {
		c = &chunk{size: int64(arg) + 1, refs: 1}
		d.phys[h] = c
		d.chunks = append(d.chunks, c)
		emit(Event{Op: Create, TID: tid, Addr: h, Size: uint64(c.size), Class: Physical, Stack: 9})
		return
	}
	emit(Event{Op: Release, TID: tid, Addr: h})
	d.clock++
	if arg%8 == 7 {
		emit(Event{Op: Undo, TID: tid, Addr: h, Code: 1})
		return
	}
	if c.refs--; c.refs == 0 {
		delete(d.phys, h)
	}
}

// mapping maps one unit, retains through it, or unmaps a range.
func (d *driver) mapping(tid uint32, arg uint64, emit func(Event)) {
	addr := 0x1000 * (arg%8 + 1)
	c := d.phys[arg/8%3+1]
	at := d.maps[addr]
	switch {
	case at == nil && c != nil:
		d.maps[addr] = c
		c.maps++
		emit(Event{Op: Map, TID: tid, Addr: addr, Size: 0x1000, Aux: arg/8%3 + 1})
	case at != nil && arg%64 < 16 && at == c:
		c.refs++
		emit(Event{Op: Retain, TID: tid, Addr: addr + arg, Aux: arg/8%3 + 1})
	default:
		n := arg/64 + 1
		emit(Event{Op: Unmap, TID: tid, Addr: addr, Size: n * 0x1000})
		d.clock++
		if arg%5 == 4 {
			emit(Event{Op: Undo, TID: tid, Addr: addr, Code: 1})
			return
		}
		for i := range n {
			if m := d.maps[addr+i*0x1000]; m != nil {
				m.maps--
				delete(d.maps, addr+i*0x1000)
			}
		}
	}
}

// context sets, ends or resets a context. Contexts 1 and 2 are those of devices 0
// and 1.
func (d *driver) context(tid uint32, arg uint64, emit func(Event)) {
	ctx := arg%2 + 1
	end := func() {
		for a, b := range d.linear {
			if b.ctx == ctx {
				delete(d.linear, a)
			}
		}
	}
	switch arg / 2 % 4 {
	case 0, 1:
		d.cur[tid] = ctx
		emit(Event{Op: Primary, TID: tid, Addr: ctx, Device: int32(ctx - 1)})
		emit(Event{Op: CtxSet, TID: tid, Addr: ctx, Device: NoDevice})
	case 2:
		end()
		for i := range d.cur {
			if d.cur[i] == ctx {
				d.cur[i] = 0
			}
		}
		emit(Event{Op: CtxDestroy, TID: tid, Addr: ctx, Begin: d.clock})
	case 3:
		emit(Event{Op: Primary, TID: tid, Addr: ctx, Device: int32(ctx - 1)})
		end()
		emit(Event{Op: Reset, TID: tid, Device: int32(ctx - 1), Begin: d.clock})
	}
}

// TestRandomScripts runs the fuzz target on scripts of a fixed seed: coverage alone
// leads a fuzzer into few of the interleavings.
func TestRandomScripts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		script := make([]byte, 800)
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		runScript(t, script)
	}
}
