// Keeper is a program with books, for tests of memwatch. It does what the lines of
// its input say and answers each with its own view, as JSON.
//
//	alloc SHARD SIZE     count an allocation in the pool
//	free SHARD SIZE      count a free
//	late SHARD SIZE      count a late free
//	foreign PTR SIZE     tell of foreign memory
//	gone PTR             tell that it is freed
//	reserve DELTA        change what is reserved
//	pend SHARD DELTA     change what is pending
//	marks N              call each marker N times, in four threads
//	storm                allocate without a pause, and free most of it, in two threads
//	calm                 stop that
//	stats                nothing
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/internal/probe"
	"github.com/lastuse/lastuse/tracker"
)

func main() {
	t := tracker.New(tracker.Options{Rate: 1})
	pool := books.Of(t).NewAccount("host")
	shards := []*shard{newShard(pool), newShard(pool)}
	samples := map[int64]books.Sample{}
	calm := func() {}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var word string
		var a, b int64
		fmt.Sscan(lines.Text(), &word, &a, &b)
		switch word {
		case "alloc":
			s := shards[a]
			s.Alloc(b)
			if m := s.Sample(); m != 0 {
				samples[b] = s.Site(m, b)
			}
		case "free":
			shards[a].Free(b)
			shards[a].Unsite(samples[b], b, false)
		case "late":
			shards[a].Late(b)
			shards[a].Unsite(samples[b], b, true)
		case "foreign":
			t.Alloc(uintptr(a), b)
		case "gone":
			if err := t.Free(uintptr(a)); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		case "reserve":
			pool.AddReserved(a)
		case "pend":
			shards[a].Pend(b)
		case "marks":
			mark(uintptr(a))
		case "storm":
			calm = storm(shards)
		case "calm":
			calm()
		}
		if err := json.NewEncoder(os.Stdout).Encode(t.Stats()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// A shard is one with its lock, under which the counters are read.
type shard struct {
	*books.Shard
	mu *sync.Mutex
}

func newShard(a *books.Account) *shard {
	mu := new(sync.Mutex)
	return &shard{a.NewShard(mu), mu}
}

// mark calls each marker n times from each of four goroutines.
func mark(n uintptr) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range n {
				probe.Alloc(i, 1, 0, i)
				probe.Free(i, 1, 0, i, probe.Explicit)
			}
		})
	}
	wg.Wait()
}

// storm allocates from each shard and frees three of four, with markers, as a pool
// would, until the function that it returns is called. Each shard has its one writer.
func storm(shards []*shard) (calm func()) {
	var wg sync.WaitGroup
	var stop atomic.Bool
	for _, s := range shards {
		wg.Go(func() {
			for i := int64(0); !stop.Load(); i++ {
				size := i%1000 + 1
				s.mu.Lock()
				s.Alloc(size)
				s.mu.Unlock()
				probe.Alloc(uintptr(i), uintptr(size), 0, s.Seq())
				s.mu.Lock()
				switch i % 4 {
				case 0, 1:
					s.Free(size)
					probe.Free(uintptr(i), uintptr(size), 0, s.Seq(), probe.Explicit)
				case 2:
					s.Late(size)
					probe.Free(uintptr(i), uintptr(size), 0, s.Seq(), probe.Late)
				}
				s.mu.Unlock()
			}
		})
	}
	return func() {
		stop.Store(true)
		wg.Wait()
	}
}
