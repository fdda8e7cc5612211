package finalize

import (
	"fmt"
	"runtime/metrics"
	"sync"
	"time"
)

// Options say when foreign memory makes the collector run. The zero Options stands for
// the defaults, which follow CUDA.jl.
type Options struct {
	// Off leaves the collector alone, except as the last resort of a request that
	// would fail otherwise.
	Off bool

	// Share is the part of the budget that must be live before a collection is
	// thought of. 0 means 0.75.
	Share float64

	// Urgent and Dire are parts of the budget above which GCShare is doubled, and
	// doubled again. 0 means 0.90 and 0.95.
	Urgent, Dire float64

	// GCShare is the most wall time, as a part of all, that collections asked for here
	// may take. 0 means 0.05.
	GCShare float64

	// KeepUp says when explicit frees count as keeping up, so that collections are left out: while they have
	// given back all that was made since the last collection but for 1 - KeepUp of it, and of the budget.
	// What was there then and is live still is none that a collection could find. 0 means 0.95; above 1
	// never.
	KeepUp float64

	// Yield is the part of the live bytes that a collection must have freed to be worth
	// repeating soon. After one that freed less, live bytes must grow by a
	// part of the budget first: 1/16, then twice that, and so on. 0 means 0.05.
	Yield float64
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		field *float64
		value float64
	}{{&o.Share, 0.75}, {&o.Urgent, 0.90}, {&o.Dire, 0.95}, {&o.GCShare, 0.05}, {&o.KeepUp, 0.95}, {&o.Yield, 0.05}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return o
}

// Pressure is what a decision depends on. All are bytes.
type Pressure struct {
	Live   int64 // in use, pending included
	Grow   int64 // about to be asked from the device
	Budget int64 // the whole
	Made   int64 // ever made
	Freed  int64 // ever freed explicitly
	Late   int64 // ever freed because the collector found the owner dead
}

// A Decision says whether to collect, and why.
type Decision uint8

const (
	Calm      Decision = iota // less is live than Options.Share
	KeepingUp                 // explicit frees keep up: a collection would find nothing
	Costly                    // collections have had their share of the time
	Fruitless                 // the last one found little, and little was made since
	Collected                 // the runtime ran one by itself since the last question
	Pressing                  // collect
	Exhausted                 // collect: a request would fail otherwise
	numDecisions
)

// Collect reports whether d is a decision to collect.
func (d Decision) Collect() bool { return d >= Pressing }

func (d Decision) String() string {
	return [...]string{"calm", "keeping up", "costly", "fruitless", "collected", "pressing", "exhausted"}[d]
}

// A Pacer tells the collector about foreign memory: it decides when that is short enough for a
// collection of the Go heap, and runs it. Its methods may be called by many goroutines.
type Pacer struct {
	options Options

	mu      sync.Mutex
	counts  [numDecisions]int64
	start   time.Time     // when the pacer was made
	last    time.Time     // end of the latest collection
	took    time.Duration // by that one, smoothed
	spent   time.Duration // by all
	cycles  uint64        // of the runtime, at the last question
	made    int64         // at the latest collection
	freed   int64
	late    int64
	live    int64
	checked bool    // the yield of the latest collection has been looked at
	backoff float64 // part of the budget that must be made before the next one

	running chan struct{} // closed when the collection under way ends; nil if there is none; guarded by mu
	runs    int64         // collections; protected by mu
}

// NewPacer returns a pacer.
func NewPacer(o Options) *Pacer {
	return &Pacer{options: o.withDefaults(), start: time.Now()}
}

// firstBackoff is the part of the budget to be made after a first fruitless collection.
const firstBackoff = 1.0 / 16

// Calm reports whether foreign memory of at most live bytes is so far from budget that
// Decide would be calm. It counts the question if so. It is cheaper: the caller need not know
// how much is live, only an upper bound.
func (p *Pacer) Calm(live, budget int64) bool {
	if !p.options.Off && budget > 0 && float64(live) >= p.options.Share*float64(budget) {
		return false
	}
	p.mu.Lock()
	p.counts[Calm]++
	p.mu.Unlock()
	return true
}

// Decide says whether to collect before foreign memory grows. It is meant for the slow
// path of an allocator: it reads the clock and the runtime's metrics.
func (p *Pacer) Decide(in Pressure) Decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.decide(in)
	p.counts[d]++
	return d
}

func (p *Pacer) decide(in Pressure) Decision {
	o := &p.options
	if o.Off || in.Budget <= 0 {
		return Calm
	}
	share := float64(in.Live+in.Grow) / float64(in.Budget)
	if share < o.Share {
		return Calm
	}
	made, freed := in.Made-p.made, in.Freed-p.freed
	if made > 0 && o.KeepUp <= 1 && float64(made-freed) <= (1-o.KeepUp)*float64(min(made, in.Budget)) {
		return KeepingUp
	}
	if !p.checked && !p.last.IsZero() {
		// What the latest collection has brought is known only now: its cleanups
		// put owners on a queue, and somebody had to drain it.
		p.checked = true
		if float64(in.Late-p.late) >= o.Yield*float64(p.live) {
			p.backoff = 0
		} else {
			p.backoff = max(firstBackoff, min(1, 2*p.backoff))
		}
	}
	if p.backoff > 0 && float64(made) < p.backoff*float64(in.Budget) {
		return Fruitless
	}
	if n := cyclesNow(); n != p.cycles {
		// The runtime's own collections count: in a program with much Go garbage, or one
		// that is close to its GOMEMLIMIT, they come often enough, and more would make it slower
		// still.
		first := p.cycles == 0
		p.cycles = n
		if !first {
			return Collected
		}
	}
	allowed := o.GCShare
	if share >= o.Urgent {
		allowed *= 2
	}
	if share >= o.Dire {
		allowed *= 2
	}
	if !p.last.IsZero() && float64(p.took) > allowed*float64(time.Since(p.last)) {
		return Costly
	}
	p.made, p.freed, p.late, p.live = in.Made, in.Freed, in.Late, in.Live
	return Pressing
}

// Collect runs a collection for decision d and waits until its cleanups have run, for
// wait at most. It reports whether it ran one and all of them have. If another goroutine is at it
// already, Collect waits for that one to end instead and reports false: what it found may serve the
// caller too, who asks again if it does not. Goroutines that run out together then share a
// collection, where each having one of its own, begun after its call, would find little more.
func (p *Pacer) Collect(d Decision, wait time.Duration) (ran bool) {
	p.mu.Lock()
	if d == Exhausted {
		p.counts[d]++
	}
	if other := p.running; other != nil {
		p.mu.Unlock()
		<-other
		return false
	}
	end := make(chan struct{})
	p.running = end
	p.mu.Unlock()

	begin := time.Now()
	ran = Collect(wait)
	took := time.Since(begin)

	p.mu.Lock()
	p.spent += took
	if p.took == 0 {
		p.took = took
	} else {
		p.took = (p.took + 3*took) / 4
	}
	p.last, p.checked, p.cycles = time.Now(), false, cyclesNow()
	p.runs++
	p.running = nil
	p.mu.Unlock()
	close(end)
	return ran
}

func cyclesNow() uint64 {
	s := [...]metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s[:])
	return s[0].Value.Uint64()
}

// Stats say what a pacer decided, by counts of questions, and what it cost.
type Stats struct {
	Asked     int64 // questions, Exhausted included
	Calm      int64 // see Decision for these
	KeepingUp int64
	Costly    int64
	Fruitless int64
	Collected int64
	Pressing  int64
	Exhausted int64
	Runs      int64         // collections: fewer than Pressing and Exhausted where goroutines shared one
	Time      time.Duration // spent in collections that were asked for, cleanups included
	Share     float64       // the same as a part of the pacer's life
}

// Stats returns the counts so far.
func (p *Pacer) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Stats{
		Calm: p.counts[Calm], KeepingUp: p.counts[KeepingUp], Costly: p.counts[Costly], Fruitless: p.counts[Fruitless],
		Collected: p.counts[Collected], Pressing: p.counts[Pressing], Exhausted: p.counts[Exhausted],
		Runs: p.runs, Time: p.spent,
	}
	for _, n := range p.counts {
		s.Asked += n
	}
	if age := time.Since(p.start); age > 0 {
		s.Share = float64(p.spent) / float64(age)
	}
	return s
}

// String explains the counts in one line.
func (s Stats) String() string {
	return fmt.Sprintf("asked %d times: calm %d, frees keep up %d, too costly %d, last one fruitless %d, just collected %d; collected for pressure %d, as a last resort %d; %d collections in %v (%.1f %% of the time)",
		s.Asked, s.Calm, s.KeepingUp, s.Costly, s.Fruitless, s.Collected, s.Pressing, s.Exhausted, s.Runs, s.Time.Round(time.Microsecond), 100*s.Share)
}
