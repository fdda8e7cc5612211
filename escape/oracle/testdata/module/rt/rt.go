// Package rt is what generated programs are written against: decisions, output,
// probes, operations that can fail on cue, and the ways a buffer can leave.
package rt

import (
	"container/list"
	"errors"
	"fmt"
	"sync"

	"github.com/lastuse/lastuse/alloc"

	"oracle.test/backend"
)

// Sites bounds the number of sites of a program; a site's number of elements is
// First plus its index.
const (
	First = 8
	Sites = 64
)

// ErrFailed is an error made by the program itself.
var ErrFailed = errors.New("failed")

// Fault is what an injected panic carries.
type Fault struct{ Op int }

// Panic is what an explicit panic carries.
type Panic int

// Event is something a run shows.
type Event struct {
	Kind  int // 0 output, 1 probe, 2 exit
	Value int64
	Live  [Sites]uint16
	Bytes int64 // live bytes of the pool
}

// C is one run.
type C struct {
	Held []any
	Pool *sync.Pool
	List list.List

	tape    tape
	FaultOp int
	FaultPn bool
	Ops     int
	Events  []Event
	kept    []any
	ch      chan any
	drains  []any
	clean   []func()
	texts   []*string
	ticks   int
	caught  []any
	wg      sync.WaitGroup

	B_ *backend.Backend

	user sync.Mutex // the program's

	mu    sync.Mutex
	mats  []*Mat
	UAF   []string
	Twice int
}

// New starts a run.
func NewC(seed uint64, run, faultOp int, faultPanic bool) *C {
	return &C{
		Pool: new(sync.Pool), tape: tape{seed: seed + uint64(run)*0x1000003},
		FaultOp: faultOp, FaultPn: faultPanic, ch: make(chan any, 4096), B_: backend.New(),
	}
}

type tape struct {
	seed, n uint64
	more    int
}

// longest is more decisions, or operations, than any program that is right makes.
const longest = 1 << 16

func (t *tape) next(k int) int {
	if t.n++; t.n > longest {
		panic("runs for ever")
	}
	z := t.seed + t.n*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) >> 1 % uint64(k))
}

// B draws a decision.
func (c *C) B() bool { return c.tape.next(2) == 1 }

// N draws a number below k.
func (c *C) N(k int) int { return c.tape.next(k) }

// More draws whether a loop goes on.
func (c *C) More() bool {
	if c.tape.more++; c.tape.more > 24 {
		return false
	}
	return c.B()
}

// Never is false.
func (c *C) Never() bool { return c.FaultOp == -1000 }

// Ready is a channel that is ready or never will be.
func (c *C) Ready() <-chan struct{} {
	if !c.B() {
		return nil
	}
	ch := make(chan struct{})
	close(ch)
	return ch
}

// Out shows a value.
func (c *C) Out(x int64) { c.Events = append(c.Events, Event{Value: x}) }

// Probe shows what is live.
func (c *C) Probe(id int) { c.look(1, id) }

// Exit shows what is live at the end, when all goroutines have.
func (c *C) Exit() {
	c.wg.Wait()
	for _, x := range c.caught {
		c.read(x)
	}
	for _, x := range append(append(c.kept, c.Held...), c.drained()...) {
		if s, ok := x.(string); ok {
			c.reads(s)
		}
	}
	for _, s := range c.texts {
		c.reads(*s)
	}
	c.look(2, 0)
}

func (c *C) look(kind, id int) {
	e := Event{Kind: kind, Value: int64(id)}
	e.Bytes = c.B_.Live(func(n int) { e.Live[n-First]++ })
	c.mu.Lock()
	for _, m := range c.mats {
		if m.live {
			e.Live[m.n-First]++
		}
	}
	c.mu.Unlock()
	c.Events = append(c.Events, e)
}

// Books says what was freed how often, by site: in all, and at most for one buffer.
func (c *C) Books() (frees, most [Sites]int) {
	add := func(n, k int) {
		frees[n-First] += k
		most[n-First] = max(most[n-First], k)
	}
	c.B_.Frees(add)
	for _, m := range c.mats {
		add(m.n, m.frees)
	}
	return
}

// Faults returns uses after free and double frees.
func (c *C) Faults() (uaf []string, twice int) {
	return append(c.B_.UAF(), c.UAF...), c.Twice
}

// Close ends the run: what was left to others is given back.
func (c *C) Close() {
	for _, f := range c.clean {
		f()
	}
	c.B_.Close()
}

func (c *C) op() (fail bool) {
	hit := c.Ops == c.FaultOp
	if c.Ops++; c.Ops > longest {
		panic("runs for ever")
	}
	if hit && c.FaultPn {
		panic(Fault{c.FaultOp})
	}
	return hit
}

// S returns the stream for one operation.
func (c *C) S() *alloc.Stream {
	if c.op() {
		return c.B_.Bad()
	}
	return c.B_.Stream()
}

// T returns the second stream, ordered after the first.
func (c *C) T() *alloc.Stream {
	if c.op() {
		return c.B_.Bad()
	}
	return c.B_.Second()
}

// Q returns a stream on which nothing fails.
func (c *C) Q() *alloc.Stream { return c.B_.Stream() }

// Chan is somebody's channel.
func (c *C) Chan() chan any { return c.ch }

// Check says what is wrong with how the program ended.
func Check(r any) string {
	switch r := r.(type) {
	case nil, Fault, Panic:
		return ""
	case error:
		if errors.Is(r, ErrFailed) || backend.IsFault(r) {
			return ""
		}
	}
	return fmt.Sprint(r)
}

// Prog is a program of a batch.
type Prog struct {
	ID, Sites int
	Seed      uint64
	F         func(*C)
}
