//go:build !race

package alloc

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A lock guards a heap. It is held for tens of nanoseconds, and in nearly all cases nobody
// else wants it, so what counts is a locked instruction more or less: a warm Make
// with its Free needs five with sync.Mutex and three with this, and each costs 5 to 10 ns.
//
// On amd64 a plain store is seen after all stores before it, which is what an unlock
// has to promise, and the compiler keeps loads and stores in order around a store.
// The price is that an unlock wakes nobody: whoever waits must look again. He
// spins for a moment, then lets others run, then sleeps. Under the race detector and on
// other machines lock is sync.Mutex.
type lock struct{ state uint32 }

func (l *lock) TryLock() bool { return atomic.CompareAndSwapUint32(&l.state, 0, 1) }

func (l *lock) Lock() {
	if !atomic.CompareAndSwapUint32(&l.state, 0, 1) {
		l.wait()
	}
}

func (l *lock) Unlock() { l.state = 0 }

// store makes v visible to concurrent readers of *p, as an unlock is seen.
func store(p *uint64, v uint64) { *p = v }

//go:noinline
func (l *lock) wait() {
	for i := 0; ; i++ {
		if atomic.LoadUint32(&l.state) == 0 && l.TryLock() {
			return
		}
		switch {
		case i < 100:
			// A load that misses the cache takes about as long as the lock is held.
		case i < 1000:
			runtime.Gosched()
		default:
			time.Sleep(20 * time.Microsecond)
		}
	}
}
