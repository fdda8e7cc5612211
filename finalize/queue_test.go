package finalize

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type owner struct{ payload [64]byte }

// drop makes n owners, arms each with its number, and lets go of them.
//
//go:noinline
func drop(q *Queue[int], from, n int) {
	for i := range n {
		Arm(q, new(owner), from+i)
	}
}

// collectUntil collects until the queue holds n values, and gives up after so many collections: a busy
// machine may need any time for one.
func collectUntil(t *testing.T, q *Queue[int], n int) {
	t.Helper()
	for i := 0; q.Len() < n; i++ {
		require.Less(t, i, 100, "%d of %d owners found", q.Len(), n)
		Collect(time.Minute)
	}
}

func TestEveryDeadOwnerIsHeardOf(t *testing.T) {
	const n = 10_000
	var q Queue[int]
	drop(&q, 0, n)
	collectUntil(t, &q, n)
	seen := make([]bool, n)
	require.Equal(t, n, q.Drain(func(v int) {
		require.False(t, seen[v], "%d came twice", v)
		seen[v] = true
	}))
	require.NotContains(t, seen, false)
	require.Zero(t, q.Len())
	require.Zero(t, q.Drain(func(int) { t.Error("the queue is empty") }))
}

func TestALiveOwnerIsLeftAlone(t *testing.T) {
	var q Queue[int]
	o := new(owner)
	Arm(&q, o, 1)
	for range 3 {
		Collect(time.Minute)
		require.Zero(t, q.Len())
	}
	runtime.KeepAlive(o)
}

//go:noinline
func armAndDisarm(q *Queue[int]) {
	o := new(owner)
	n := Arm(q, o, 1)
	n.Disarm()
	n.Disarm() // twice is once
	runtime.KeepAlive(o)
}

func TestDisarmMeansNever(t *testing.T) {
	var q Queue[int]
	armAndDisarm(&q)
	drop(&q, 7, 1) // one that does come, so that the wait is not for nothing
	collectUntil(t, &q, 1)
	Collect(time.Minute)
	var got []int
	q.Drain(func(v int) { got = append(got, v) })
	require.Equal(t, []int{7}, got)
	Net{}.Disarm()
}

func TestDrainNIsBounded(t *testing.T) {
	var q Queue[int]
	drop(&q, 0, 10)
	collectUntil(t, &q, 10)
	count := 0
	add := func(int) { count++ }
	require.Equal(t, 0, q.DrainN(0, add))
	require.Equal(t, 4, q.DrainN(4, add))
	require.Equal(t, 6, q.Len())
	// A later death must not be lost behind what an earlier call left.
	drop(&q, 10, 3)
	collectUntil(t, &q, 9)
	require.Equal(t, 9, q.DrainN(100, add))
	require.Equal(t, 13, count)
	require.Zero(t, q.Len())
}

// TestDrainMayCallItself shows that f runs without the queue's lock.
func TestDrainMayCallItself(t *testing.T) {
	var q Queue[int]
	drop(&q, 0, 4)
	collectUntil(t, &q, 4)
	count := 0
	for q.Len() > 0 {
		q.DrainN(1, func(int) {
			count++
			q.DrainN(1, func(int) { count++ })
		})
	}
	require.Equal(t, 4, count)
}

// A goroutine that is stopped in the middle of a drain has few of the values in its hands, and others
// can see that.
func TestDrainSharesTheQueue(t *testing.T) {
	var q Queue[int]
	const all = 10 * drainBatch
	for i := range all {
		(&slot[int]{queue: &q, value: i}).push()
	}
	stopped, goOn := make(chan struct{}), make(chan struct{})
	done := make(chan int)
	go func() {
		first := true
		done <- q.Drain(func(int) {
			if first {
				first = false
				close(stopped)
				<-goOn
			}
		})
	}()
	<-stopped
	require.Equal(t, drainBatch, q.Busy())
	require.Equal(t, all-drainBatch, q.Len())
	require.Equal(t, all-drainBatch, q.Drain(func(int) {}))
	require.Zero(t, q.Len())
	require.Equal(t, drainBatch, q.Busy(), "taken, not drained")
	close(goOn)
	require.Equal(t, drainBatch, <-done)
	require.Zero(t, q.Busy())
}

// TestStorm pushes and drains from many goroutines at once; each value must come
// out exactly once.
func TestStorm(t *testing.T) {
	const pushers, each = 8, 5_000
	var q Queue[int]
	var mu sync.Mutex
	seen := make([]bool, pushers*each)
	take := func(v int) {
		mu.Lock()
		defer mu.Unlock()
		if seen[v] {
			t.Errorf("%d came twice", v)
		}
		seen[v] = true
	}
	var pushing, draining sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		draining.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					q.DrainN(17, take)
				}
			}
		})
	}
	for p := range pushers {
		pushing.Go(func() {
			for i := range each {
				(&slot[int]{queue: &q, value: p*each + i}).push()
			}
		})
	}
	pushing.Wait()
	close(stop)
	draining.Wait()
	q.Drain(take)
	require.NotContains(t, seen, false)
	require.Zero(t, q.Len())
}

func TestCollectWaitsForCleanups(t *testing.T) {
	var q Queue[int]
	for range 5 {
		drop(&q, 0, 1000)
		require.True(t, Collect(time.Minute))
		// The last owner's address may linger in a register or a tiny block.
		require.GreaterOrEqual(t, q.Len(), 990, "Collect returned before the cleanups had run")
		q.Drain(func(int) {})
	}
}

func BenchmarkArm(b *testing.B) {
	var q Queue[int]
	b.ReportAllocs()
	for b.Loop() {
		o := new(owner)
		Arm(&q, o, 1).Disarm()
		runtime.KeepAlive(o)
	}
}

func BenchmarkPushDrain(b *testing.B) {
	var q Queue[int]
	s := &slot[int]{queue: &q}
	b.ReportAllocs()
	for b.Loop() {
		s.push()
		q.DrainN(1, func(int) {})
	}
}
