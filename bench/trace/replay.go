package trace

import (
	"errors"
	"fmt"
	"time"

	"github.com/lastuse/lastuse/alloc"
)

// Steps returns t's events as steps. What t leaves live is freed at the end, in the order of its addresses'
// first uses.
func (t *Trace) Steps() *Steps {
	s := &Steps{Streams: 1}
	live := map[uint64]Step{} // by address
	free := func(ptr uint64, stream int32) {
		if made, ok := live[ptr]; ok {
			s.free(made.Place, stream)
			delete(live, ptr)
		}
	}
	for _, e := range t.Events {
		s.Streams = max(s.Streams, e.Stream+1)
		if e.Free {
			free(e.Ptr, int32(e.Stream))
		} else {
			live[e.Ptr] = s.make(int32(e.Stream), e.Size)
		}
	}
	for _, e := range t.Events {
		free(e.Ptr, live[e.Ptr].Stream)
	}
	return s
}

// Peak returns the most bytes that t asks for and has not freed at one time.
func (t *Trace) Peak() int64 { return t.Steps().Peak() }

// A Player replays steps on a pool, as often as is wanted.
type Player struct {
	pool    *alloc.Pool
	streams []*alloc.Stream
	steps   []Step
	held    []alloc.Buffer[byte]
}

// Player returns a player of s on streams of a pool. It need not be closed.
func (s *Steps) Player(p *alloc.Pool, streams []*alloc.Stream) *Player {
	return &Player{pool: p, streams: streams, steps: s.All, held: make([]alloc.Buffer[byte], s.Places)}
}

// A Replayed is what a replay came to.
type Replayed struct {
	Steps    int           // that were replayed: all, unless it stopped at a failure
	Failures int           // allocations that found no memory; what they would have made is not freed
	Time     time.Duration // in Make and Free, all together
	Stats    alloc.Stats   // of the pool when all was over
}

// Play makes and frees what the trace has, in its order, from one goroutine, and waits for nothing: at the
// speed of the pool and not of the clock. After so many failures it stops; 0 means that it goes on to the
// end. When it returns, nothing is live.
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

// Replay plays t once on p, on streams of its own, up to so many failures, or with 0 to its end.
func (t *Trace) Replay(p *alloc.Pool, failures int) (Replayed, error) {
	steps := t.Steps()
	streams := make([]*alloc.Stream, steps.Streams)
	for i := range streams {
		s, err := p.NewStream()
		if err != nil {
			return Replayed{}, fmt.Errorf("trace: replay: %w", err)
		}
		defer s.Close()
		streams[i] = s
	}
	return steps.Player(p, streams).Play(failures)
}
