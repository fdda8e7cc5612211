package trace

import (
	"errors"
	"fmt"
	"time"

	"github.com/lastuse/lastuse/alloc"
)

// A Step is an event in the form in which it is replayed: what an address names in the trace has a place in a table, so
// that a replay looks nothing up.
type Step struct {
	Place  int32 // in a table of live buffers; one that was freed has its place taken again
	Stream int32
	Size   int64 // bytes; -1 is a free
}

// Steps returns t's events as steps, and how many places they take. What t leaves live is freed at the end, in the
// order in which it was made.
func (t *Trace) Steps() (steps []Step, places int) {
	steps = make([]Step, 0, len(t.Events))
	type home struct {
		place, stream int32
		free          bool
	}
	var made []home          // in order
	var spare []int32        // places that nothing has
	live := map[uint64]int{} // address to index in made
	for _, e := range t.Events {
		if e.Free {
			i, ok := live[e.Ptr]
			if !ok {
				continue
			}
			delete(live, e.Ptr)
			h := &made[i]
			h.free = true
			spare = append(spare, h.place)
			steps = append(steps, Step{Place: h.place, Stream: int32(e.Stream), Size: -1})
			continue
		}
		h := home{place: int32(places), stream: int32(e.Stream)}
		if n := len(spare); n > 0 {
			h.place, spare = spare[n-1], spare[:n-1]
		} else {
			places++
		}
		live[e.Ptr] = len(made)
		made = append(made, h)
		steps = append(steps, Step{Place: h.place, Stream: h.stream, Size: e.Size})
	}
	for _, h := range made {
		if !h.free {
			steps = append(steps, Step{Place: h.place, Stream: h.stream, Size: -1})
		}
	}
	return steps, places
}

// Streams returns how many streams t has: the highest number and one.
func (t *Trace) Streams() int {
	n := 0
	for _, e := range t.Events {
		n = max(n, e.Stream+1)
	}
	return n
}

// A Player replays a trace on a pool, as often as is wanted.
type Player struct {
	pool    *alloc.Pool
	streams []*alloc.Stream
	steps   []Step
	held    []alloc.Buffer[byte]
}

// NewPlayer returns a player of steps on streams of a pool that are there. It need not be closed.
func NewPlayer(p *alloc.Pool, streams []*alloc.Stream, steps []Step, places int) *Player {
	return &Player{pool: p, streams: streams, steps: steps, held: make([]alloc.Buffer[byte], places)}
}

// Player returns one of t on p. It must be closed before p is.
func (t *Trace) Player(p *alloc.Pool) (*Player, error) {
	steps, places := t.Steps()
	pl := &Player{pool: p, steps: steps, held: make([]alloc.Buffer[byte], places)}
	for range t.Streams() {
		s, err := p.NewStream()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("trace: replay: %w", err), pl.Close())
		}
		pl.streams = append(pl.streams, s)
	}
	return pl, nil
}

// A Replayed is what a replay came to.
type Replayed struct {
	Steps    int           // that were replayed: all, unless it stopped at a failure
	Failures int           // allocations that found no memory; what they would have made is not freed
	Time     time.Duration // in Make and Free, all together
	Stats    alloc.Stats   // of the pool when all was over
}

// Len returns how many steps the player has.
func (pl *Player) Len() int { return len(pl.steps) }

// Play makes and frees what the trace has, in its order, from one goroutine, and waits for nothing: at the speed of the
// pool and not of the clock. After so many failures it stops; 0 means that it goes on to the end. When it returns, nothing
// is live.
func (pl *Player) Play(failures int) (Replayed, error) {
	var r Replayed
	begin := time.Now()
	for i := range pl.steps {
		s := &pl.steps[i]
		if s.Size < 0 {
			pl.held[s.Place].Free()
			continue
		}
		b, err := alloc.Make[byte](pl.streams[s.Stream], int(s.Size))
		if err == nil {
			pl.held[s.Place] = b
			continue
		}
		if !errors.Is(err, alloc.ErrOutOfMemory) {
			return r, fmt.Errorf("trace: replay: %w", err)
		}
		pl.held[s.Place] = alloc.Buffer[byte]{} // which may be freed
		if r.Failures++; r.Failures == failures {
			r.Steps = i
			break
		}
	}
	r.Time = time.Since(begin)
	if failures == 0 || r.Failures < failures {
		r.Steps = len(pl.steps)
	} else {
		for i := range pl.held {
			pl.held[i].Free() // some of them for the second time
		}
	}
	r.Stats = pl.pool.Stats()
	return r, nil
}

// Close closes the player's streams.
func (pl *Player) Close() error {
	var errs []error
	for _, s := range pl.streams {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Replay plays t on p once, to its end.
func (t *Trace) Replay(p *alloc.Pool) (Replayed, error) {
	pl, err := t.Player(p)
	if err != nil {
		return Replayed{}, err
	}
	r, err := pl.Play(0)
	return r, errors.Join(err, pl.Close())
}
