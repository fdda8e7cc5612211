//go:build lockrank

package lockrank

import (
	"fmt"
	"slices"
	"sync"
)

// On says whether ranks are checked.
const On = true

// A Mutex is a mutex of rank R.
type Mutex[R Rank] struct{ mu sync.Mutex }

// held has the ranks of what each goroutine that holds anything holds, in the order in which they were taken.
var held sync.Map // what goroutine returns to *[]int

// Lock is like sync.Mutex.Lock.
func (m *Mutex[R]) Lock() { take[R](m.mu.Lock) }

// TryLock is like sync.Mutex.TryLock. It waits for nobody, so any order will do.
func (m *Mutex[R]) TryLock() bool {
	if !m.mu.TryLock() {
		return false
	}
	_, ranks := mine()
	*ranks = append(*ranks, rank[R]())
	return true
}

// Unlock is like sync.Mutex.Unlock. It panics if another goroutine has the mutex.
func (m *Mutex[R]) Unlock() { drop[R](m.mu.Unlock) }

// An RWMutex is one that readers share. A goroutine reads once at a time: the second time it could wait for a
// writer who waits for it.
type RWMutex[R Rank] struct{ mu sync.RWMutex }

// Lock is like sync.RWMutex.Lock.
func (m *RWMutex[R]) Lock() { take[R](m.mu.Lock) }

// Unlock is like sync.RWMutex.Unlock.
func (m *RWMutex[R]) Unlock() { drop[R](m.mu.Unlock) }

// RLock is like sync.RWMutex.RLock.
func (m *RWMutex[R]) RLock() { take[R](m.mu.RLock) }

// RUnlock is like sync.RWMutex.RUnlock.
func (m *RWMutex[R]) RUnlock() { drop[R](m.mu.RUnlock) }

// take calls lock and notes that the goroutine holds a mutex of rank R.
func take[R Rank](lock func()) {
	_, ranks := mine()
	check(*ranks, rank[R]())
	lock()
	*ranks = append(*ranks, rank[R]())
}

// drop notes that it does not any more and calls unlock.
func drop[R Rank](unlock func()) {
	id, ranks := mine()
	i := slices.Index(*ranks, rank[R]())
	if i < 0 {
		panic(fmt.Sprintf("lockrank: a mutex of rank %d is unlocked by a goroutine that holds none",
			rank[R]()))
	}
	*ranks = slices.Delete(*ranks, i, i+1)
	if len(*ranks) == 0 {
		held.Delete(id)
	}
	unlock()
}

func rank[R Rank]() int {
	var r R
	return r.Rank()
}

// mine returns which the calling goroutine is, and the ranks that it holds.
func mine() (id any, ranks *[]int) {
	id = goroutine()
	r, ok := held.Load(id)
	if !ok {
		r, _ = held.LoadOrStore(id, new([]int))
	}
	return id, r.(*[]int)
}

// check panics if a mutex of rank r must not be taken by who holds those of some ranks.
func check(ranks []int, r int) {
	for _, h := range ranks {
		if h > r || h == r && !slices.Contains(ranks, Several) {
			panic(fmt.Sprintf("lockrank: rank %d is taken under ranks %d", r, ranks))
		}
	}
}
