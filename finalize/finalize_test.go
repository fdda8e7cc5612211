package finalize_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/finalize"
)

// An owner is what is watched. The field keeps it out of the tiny allocator, where objects
// die together.
type owner struct {
	next *owner
	_    [4]int
}

// collectUntil collects until done reports true, and gives up after so many collections: a busy machine
// may need any time for one.
func collectUntil(t *testing.T, done func() bool) {
	t.Helper()
	for i := 0; !done(); i++ {
		require.Less(t, i, 100, "the collector does not bring it")
		finalize.Collect(time.Minute)
	}
}

// drop arms n owners, forgets them, and collects until their values have arrived.
func drop(t *testing.T, q *finalize.Queue[int], n int) {
	t.Helper()
	func() {
		for i := range n {
			finalize.Arm(q, new(owner), i)
		}
	}()
	collectUntil(t, func() bool { return q.Len() >= n })
}

func TestQueue(t *testing.T) {
	var q finalize.Queue[int]
	assert.Zero(t, q.Drain(func(int) { t.Error("there is nothing") }))
	drop(t, &q, 1000)
	seen := make(map[int]bool)
	take := func(i int) {
		assert.False(t, seen[i])
		seen[i] = true
	}
	assert.Zero(t, q.DrainN(0, take))
	assert.Equal(t, 10, q.DrainN(10, take))
	assert.Equal(t, 990, q.Len())
	drop(t, &q, 0)
	assert.Equal(t, 990, q.Drain(take))
	assert.Len(t, seen, 1000)
	assert.Zero(t, q.Len())
}

// What an earlier DrainN left and what came in since both come.
func TestDrainTakesOldAndNew(t *testing.T) {
	var q finalize.Queue[int]
	drop(t, &q, 10)
	assert.Equal(t, 3, q.DrainN(3, func(int) {}))
	func() {
		for i := range 5 {
			finalize.Arm(&q, new(owner), i)
		}
	}()
	collectUntil(t, func() bool { return q.Len() >= 12 })
	assert.Equal(t, 11, q.DrainN(11, func(int) {}))
	assert.Equal(t, 1, q.Drain(func(int) {}))
}

func TestLiveOwnersStay(t *testing.T) {
	var q finalize.Queue[string]
	o := new(owner)
	finalize.Arm(&q, o, "kept")
	p := new(owner)
	net := finalize.Arm(&q, p, "disarmed")
	net.Disarm()
	net.Disarm()
	runtime.KeepAlive(p)
	finalize.Net{}.Disarm()
	for range 3 {
		finalize.Collect(time.Minute)
	}
	assert.Zero(t, q.Len())
	runtime.KeepAlive(o)
}

// Cycles among owners do not keep them alive.
func TestCycles(t *testing.T) {
	var q finalize.Queue[int]
	func() {
		for i := range 100 {
			a, b := new(owner), new(owner)
			a.next, b.next = b, a
			finalize.Arm(&q, a, i)
			finalize.Arm(&q, b, i)
		}
	}()
	collectUntil(t, func() bool { return q.Len() >= 200 })
}

// Many goroutines drain while owners die: each value comes once.
func TestConcurrentDrain(t *testing.T) {
	const n = 20_000
	var q finalize.Queue[int]
	var got [n]atomic.Int32
	var total atomic.Int64
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				k := q.DrainN(7, func(i int) { got[i].Add(1) })
				total.Add(int64(k))
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
	}
	func() {
		for i := range n {
			finalize.Arm(&q, new(owner), i)
		}
	}()
	collectUntil(t, func() bool { return total.Load()+int64(q.Len()+q.Busy()) >= n })
	close(stop)
	wg.Wait()
	total.Add(int64(q.Drain(func(i int) { got[i].Add(1) })))
	assert.EqualValues(t, n, total.Load())
	for i := range got {
		require.EqualValues(t, 1, got[i].Load(), "value %d", i)
	}
}

func TestCollectGivesUp(t *testing.T) {
	block := make(chan struct{})
	func() {
		runtime.AddCleanup(new(owner), func(c chan struct{}) { <-c }, block)
	}()
	for i := 0; finalize.Collect(20 * time.Millisecond); i++ { // until the owner is found
		require.Less(t, i, 100)
	}
	close(block)
	assert.True(t, finalize.Collect(time.Minute))
}
