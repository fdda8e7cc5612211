package finalize

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A Queue holds what dead owners left behind, until somebody drains it. The zero
// Queue is ready to use. It must not be copied.
//
// Putting something in is lock-free and allocates nothing, since it happens on
// the collector's goroutines. Taking out is the work of ordinary goroutines.
type Queue[V any] struct {
	head  atomic.Pointer[slot[V]] // pushed by cleanups, newest first
	count atomic.Int64            // values in head and rest; may be early, never late

	mu   sync.Mutex
	rest *slot[V] // taken from head and not yet drained

	busy atomic.Int64 // values taken by calls of Drain that are not through with them
}

// A slot is the argument of one owner's cleanup. It is made with the cleanup and
// carries the link that the queue needs, so that a death allocates nothing.
type slot[V any] struct {
	queue *Queue[V]
	next  *slot[V]
	value V
}

// push puts s on its queue. It runs on a goroutine of the collector.
func (s *slot[V]) push() {
	q := s.queue
	q.count.Add(1)
	for {
		s.next = q.head.Load()
		if q.head.CompareAndSwap(s.next, s) {
			return
		}
	}
}

// A Net is the connection between an owner and a queue that [Arm] made.
type Net struct{ cleanup runtime.Cleanup }

// Arm sees to it that v is put on q once the collector has found owner
// unreachable. The value must not lead back to owner, or owner never dies; nor should it
// lead to anything that ought to be collected before owner, since v stays reachable
// for as long as owner does.
//
// The owner must outlive every use of what v names. A call that takes a raw
// handle out of the owner and hands it to foreign code needs
// runtime.KeepAlive(owner) behind it.
//
// Arm costs three Go allocations. An owner that is used again and again, as the
// headers of package alloc are, is armed once for life and pays nothing after.
func Arm[O, V any](q *Queue[V], owner *O, v V) Net {
	s := &slot[V]{queue: q, value: v}
	return Net{runtime.AddCleanup(owner, (*slot[V]).push, s)}
}

// Disarm cuts the connection: the owner's death puts nothing on the queue any more. It
// does nothing if the owner is dead already, so the caller keeps the owner reachable
// (runtime.KeepAlive) until Disarm has returned. The zero Net may be disarmed.
func (n Net) Disarm() { n.cleanup.Stop() }

// Len returns about how many values wait in q. It is one atomic load, fit for a
// fast path that asks whether there is anything to drain. A value may be counted
// a moment before it can be drained.
func (q *Queue[V]) Len() int { return int(q.count.Load()) }

// Busy returns how many values calls of Drain on other goroutines have taken and are not through with.
// If Len was zero before and Busy is, whatever had been in q has been drained, not only taken.
func (q *Queue[V]) Busy() int { return int(q.busy.Load()) }

// Drain takes all values that are in q now and calls f with each, on the caller's
// goroutine. It returns how many there were.
func (q *Queue[V]) Drain(f func(V)) int { return q.DrainN(-1, f) }

// drainBatch is how many values a goroutine takes at a time. What lies in q serves all who drain, so
// that none waits for one that was stopped with thousands of them in its hands.
const drainBatch = 64

// DrainN is like [Queue.Drain], but takes n values at most if n is not negative.
func (q *Queue[V]) DrainN(n int, f func(V)) int {
	total := 0
	for _, fresh := range []bool{false, true} { // first what an earlier call left, then what came in since
		for q.count.Load() != 0 && total != n {
			most := drainBatch
			if n >= 0 {
				most = min(most, n-total)
			}
			taken := q.batch(most, fresh, f)
			if taken == 0 {
				break
			}
			total += taken
			fresh = false // once: whoever fills q meanwhile does not keep the caller here
		}
	}
	return total
}

// batch drains up to n values, and returns how many. If none are left of those taken from head it takes
// what is there now, if fresh.
func (q *Queue[V]) batch(n int, fresh bool, f func(V)) int {
	s, taken := q.take(n, fresh)
	if taken > 0 {
		defer q.busy.Add(int64(-taken))
	}
	for range taken {
		f(s.value)
		s = s.next
	}
	return taken
}

// take cuts a list of up to n slots off the older part of q, which it fills first if it is empty and
// fresh is true.
func (q *Queue[V]) take(n int, fresh bool) (first *slot[V], taken int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.rest == nil && fresh {
		q.rest = q.head.Swap(nil)
	}
	first = q.rest
	for q.rest != nil && taken < n {
		q.rest = q.rest.next
		taken++
	}
	q.busy.Add(int64(taken)) // before it counts as taken: see Busy
	q.count.Add(int64(-taken))
	return first, taken
}
