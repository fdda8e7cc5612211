package main

import (
	"bytes"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/record"
)

// TestNobodyWaits brings events while somebody looks at the heap and does not come to an end. All are there
// afterwards, in order, and recorded.
func TestNobodyWaits(t *testing.T) {
	s := newSession("test", heap.Options{})
	var file bytes.Buffer
	var err error
	s.writer, err = record.NewWriter(&file, 0, record.Header{})
	require.NoError(t, err)
	const n = 10 * many
	s.mu.Lock()
	for i := range uint64(n) {
		s.apply(&heap.Event{Op: heap.Alloc, PID: 1, TID: 1, Time: int64(i), Addr: i + 1, Size: 1})
		s.flush()
	}
	s.mu.Unlock()
	snap := s.snapshot(heap.Query{})
	require.EqualValues(t, n, snap.Events)
	require.EqualValues(t, n, snap.Processes[0].Live)
	require.EqualValues(t, n, s.writer.Count())
	require.NoError(t, s.writer.Close())
	r, err := record.NewReader(&file)
	require.NoError(t, err)
	var e heap.Event
	for i := range uint64(n) {
		require.NoError(t, r.Read(&e))
		require.Equal(t, i+1, e.Addr)
	}
	require.Equal(t, io.EOF, r.Read(&e))
}

// TestManyLook brings events while others look: each sees what was brought before it looked.
func TestManyLook(t *testing.T) {
	s := newSession("test", heap.Options{})
	var looking sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		looking.Go(func() {
			last := uint64(0)
			for {
				select {
				case <-stop:
					return
				default:
				}
				snap := s.snapshot(heap.Query{})
				if snap.Events < last {
					t.Errorf("%d events, and %d before", snap.Events, last)
					return
				}
				last = snap.Events
			}
		})
	}
	for i := range uint64(50_000) {
		s.apply(&heap.Event{Op: heap.Alloc, PID: 1, TID: 1, Addr: i + 1, Size: 1})
		if i%1000 == 0 {
			require.EqualValues(t, i+1, s.snapshot(heap.Query{}).Events)
		}
	}
	close(stop)
	looking.Wait()
	s.finish("over")
	require.EqualValues(t, 50_000, s.snapshot(heap.Query{}).Processes[0].Objects)
}
