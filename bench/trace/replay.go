package trace

import (
	"errors"
	"fmt"
	"time"

	"github.com/lastuse/lastuse/alloc"
)

// A Replayed is what a replay came to.
type Replayed struct {
	Failures int           // allocations that found no memory; what they would have made is not freed
	Time     time.Duration // in Make and Free, all together
	Stats    alloc.Stats   // of the pool when all was over
}

// Replay makes and frees on p what t has, in its order, from one goroutine, and waits for nothing: at the
// speed of the pool and not of the clock. What the trace leaves live is freed at the end.
func (t *Trace) Replay(p *alloc.Pool) (Replayed, error) {
	var r Replayed
	var streams []*alloc.Stream
	for _, e := range t.Events {
		for len(streams) <= e.Stream {
			s, err := p.NewStream()
			if err != nil {
				return r, fmt.Errorf("trace: replay: %w", err)
			}
			streams = append(streams, s)
		}
	}
	live := make(map[uint64]alloc.Buffer[byte], 1024)
	begin := time.Now()
	for _, e := range t.Events {
		if e.Free {
			live[e.Ptr].Free()
			delete(live, e.Ptr)
			continue
		}
		b, err := alloc.Make[byte](streams[e.Stream], int(e.Size))
		if errors.Is(err, alloc.ErrOutOfMemory) {
			r.Failures++
			continue
		}
		if err != nil {
			return r, fmt.Errorf("trace: replay: %w", err)
		}
		live[e.Ptr] = b
	}
	r.Time = time.Since(begin)
	for _, b := range live {
		b.Free()
	}
	r.Stats = p.Stats()
	var errs []error
	for _, s := range streams {
		errs = append(errs, s.Close())
	}
	return r, errors.Join(errs...)
}
