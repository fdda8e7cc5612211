package heap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSegments has an allocator grow on behalf of who gives back all that he gets. Where nobody tells of
// blocks, he is all that is known; where they are known, what counts and is suspected is who keeps them.
func TestSegments(t *testing.T) {
	const second = int64(time.Second)
	for _, told := range []bool{false, true} {
		h := New(Options{})
		apply := func(e Event) { e.PID = 1; h.Apply(&e) }
		apply(Event{Op: Stack, Stack: 1, Frames: []Frame{{Module: "libcudart.so"}, {Module: "libc10_cuda.so"}, {Func: "gemm", Module: "libtorch.so"}}})
		apply(Event{Op: Stack, Stack: 2, Frames: []Frame{{Func: "keep", Module: "train"}}})
		apply(Event{Op: Alloc, Addr: 1, Size: 7, Stack: 3}) // of somebody else
		for i := range int64(60) {
			apply(Event{Op: Alloc, Time: i * second, Addr: uint64(i+1) << 30, Size: 100, Stack: 1})
			if told {
				block := Event{Class: Block, Space: Blocks, Addr: uint64(i+1) << 30}
				block.Op, block.Time, block.Size, block.Stack = Alloc, i*second, 60, 2
				apply(block)
			}
			h.Advance((i + 1) * second)
		}
		p := h.Snapshot(Query{}).Processes[0]
		require.Equal(t, int64(6007), p.Live, "blocks are no memory besides")
		require.Positive(t, p.Growth)
		segments := p.Sites[0]
		if told {
			require.Len(t, p.Sites, 3)
			kept := p.Sites[0]
			require.Equal(t, []any{"block", false, true, int64(3600)}, []any{kept.Class, kept.Own, kept.Counts, kept.Live})
			require.NotEmpty(t, kept.Suspect)
			require.Positive(t, kept.Growth)
			require.Equal(t, uint64(3), p.Sites[1].Stack, "what no allocator asked for comes before segments")
			require.True(t, p.Sites[1].Counts)
			segments = p.Sites[2]
		}
		require.Equal(t, []any{uint64(1), true, int64(6000)}, []any{segments.Stack, segments.Own, segments.Live})
		require.Equal(t, []bool{!told, !told, !told}, []bool{segments.Counts, segments.Growth > 0, len(segments.Suspect) > 0})
	}
}
