package alloc_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
)

// What one stream borrows of another's memory, because it waits for that stream, is no third stream's until
// it is seen to be over: how far a stream has come is counted for each stream by itself.
func TestBorrowedMemoryIsNoThirdStreams(t *testing.T) {
	const limit = 1 << 20
	for _, size := range []int{32 << 10, 128 << 10} {
		for _, syncs := range []int{1, 5} {
			for _, small := range []int{512, 4 << 10} {
				t.Run(fmt.Sprintf("%d,%d,%d", size, syncs, small), func(t *testing.T) {
					dev, err := host.Open(host.Options{NoMapping: true})
					require.NoError(t, err)
					p, err := alloc.NewPool(alloctest.Ordered(t, dev),
						alloc.Options{Limit: limit, Segment: limit})
					require.NoError(t, err)
					a, b, c := newStream(t, p), newStream(t, p), newStream(t, p)
					for range syncs {
						require.NoError(t, b.Sync())
					}
					var held []alloc.Buffer[byte]
					for range limit / size {
						held = append(held, mustMake[byte](t, a, size))
					}
					gate := block(t, a)
					for _, h := range held {
						require.NoError(t, h.Fill(a, 0xaa)) // held back
						h.Free()
					}
					b.Wait(a)
					x := mustMake[byte](t, b, small) // right: b runs after a

					y := mustMake[byte](t, c, small) // c does not, unless the pool makes it wait
					require.NoError(t, y.Fill(c, 0xcc))
					opened := !c.Record().Query()
					if opened { // c waits for a, as it should
						gate.open()
					}
					require.NoError(t, c.Sync())
					if !opened {
						gate.open()
					}
					require.NoError(t, a.Sync())
					got := make([]byte, small)
					require.NoError(t, y.CopyTo(c, got))
					assert.Equal(t, bytes.Repeat([]byte{0xcc}, small), got, "overwritten")
					y.Free()
					x.Free()
					require.NoError(t, p.Close())
				})
			}
		}
	}
}
