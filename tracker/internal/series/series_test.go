package series

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/tracker"
)

// What is allocated while the totals are read is no account's that is gone: its counters would fall again.
func TestNobodyIsGone(t *testing.T) {
	books := tracker.New(tracker.Options{Rate: -1})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		s := books.NewAccount("here").NewShard()
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					s.Alloc(1)
					s.Free(1)
				}
			}
		})
	}
	made := int64(0)
	for range 2000 {
		all := ByName(books.Stats())
		require.Len(t, all, 1)
		require.GreaterOrEqual(t, all[0].Made, made)
		made = all[0].Made
	}
	close(stop)
	wg.Wait()
}
