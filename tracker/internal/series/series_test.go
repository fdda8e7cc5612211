package series

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/tracker"
)

// account opens an account as an allocator does.
func account(t *tracker.Tracker, name string) *books.Account { return books.Of(t).NewAccount(name) }

// What is allocated while the totals are read is no account's that is gone: its counters would fall again.
func TestNobodyIsGone(t *testing.T) {
	books := tracker.New(tracker.Options{Rate: -1})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		var mu sync.Mutex
		s := account(books, "here").NewShard(&mu)
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					mu.Lock()
					s.Alloc(1)
					s.Free(1)
					mu.Unlock()
					runtime.Gosched() // or the reader waits for each lock until it starves
				}
			}
		})
	}
	made := int64(0)
	for range 500 {
		all := ByName(books.Stats())
		require.Len(t, all, 1)
		require.GreaterOrEqual(t, all[0].Made, made)
		made = all[0].Made
	}
	close(stop)
	wg.Wait()
}
