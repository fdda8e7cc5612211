//go:build lockrank

package lockrank

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
)

// On says whether ranks are checked.
const On = true

// A Mutex is a mutex of rank R.
type Mutex[R Rank] struct{ mu sync.Mutex }

// held has the ranks of what each goroutine holds, by its number, in the order in which they were taken.
var held sync.Map // int64 to *[]int

// Lock is like sync.Mutex.Lock.
func (m *Mutex[R]) Lock() {
	ranks := mine()
	check(*ranks, rank[R]())
	m.mu.Lock()
	*ranks = append(*ranks, rank[R]())
}

// TryLock is like sync.Mutex.TryLock. It waits for nobody, so any order will do.
func (m *Mutex[R]) TryLock() bool {
	if !m.mu.TryLock() {
		return false
	}
	ranks := mine()
	*ranks = append(*ranks, rank[R]())
	return true
}

// Unlock is like sync.Mutex.Unlock. It panics if another goroutine has the mutex.
func (m *Mutex[R]) Unlock() {
	ranks := mine()
	i := slices.Index(*ranks, rank[R]())
	if i < 0 {
		panic(fmt.Sprintf("lockrank: a mutex of rank %d is unlocked by a goroutine that holds none", rank[R]()))
	}
	*ranks = slices.Delete(*ranks, i, i+1)
	if len(*ranks) == 0 {
		held.Delete(goroutine())
	}
	m.mu.Unlock()
}

func rank[R Rank]() int {
	var r R
	return r.Rank()
}

func mine() *[]int {
	ranks, _ := held.LoadOrStore(goroutine(), new([]int))
	return ranks.(*[]int)
}

// check panics if a mutex of rank r must not be taken by who holds those of some ranks.
func check(ranks []int, r int) {
	for _, h := range ranks {
		if h > r || h == r && slices.Min(ranks) != Least {
			panic(fmt.Sprintf("lockrank: rank %d is taken under ranks %d", r, ranks))
		}
	}
}

// goroutine returns the number of the calling goroutine, which the runtime gives nobody but those who print
// stacks.
func goroutine() int64 {
	var buf [64]byte
	s := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	n, err := strconv.ParseInt(string(s[:bytes.IndexByte(s, ' ')]), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}
