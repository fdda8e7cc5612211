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
	block := func(apply func(Event), i int64) {
		apply(Event{Op: Alloc, Class: Block, Space: Blocks, Time: i * second, Addr: uint64(i+1) << 30, Size: 60, Stack: 2})
	}
	buffer := func(apply func(Event), i int64) {
		n := uint64(i + 1)
		apply(Event{Op: Told, Class: Buffer, Time: i * second, Addr: 60 * n, Size: 60 * n, Aux: n, Ctx: n})
		apply(Event{Op: Told, Class: Buffer, Time: i * second, Addr: 60 * n, Size: 60 * n, Aux: n, Ctx: n, Stack: 2, Begin: i*second + 1})
	}
	torch, runtime := Frame{Module: "libc10_cuda.so"}, Frame{Func: bufferFuncs + "(*base).Reserve", Module: "train"}
	for _, c := range []struct {
		name  string
		asks  Frame
		tells func(apply func(Event), i int64) // nil: it tells nothing
		class string
	}{
		{"PyTorch", torch, block, "block"},
		{"the runtime", runtime, buffer, "buffer"},
		{"nothing is told of PyTorch", torch, nil, ""},
		{"the runtime has no table", runtime, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := New(Options{})
			apply := func(e Event) { e.PID = 1; h.Apply(&e) }
			apply(Event{Op: Stack, Stack: 1, Frames: []Frame{{Module: "libcudart.so"}, c.asks, {Func: "gemm", Module: "libtorch.so"}}})
			apply(Event{Op: Stack, Stack: 2, Frames: []Frame{{Func: "keep", Module: "train"}}})
			apply(Event{Op: Alloc, Addr: 1, Size: 7, Stack: 3}) // of somebody else
			for i := range int64(60) {
				apply(Event{Op: Alloc, Time: i * second, Addr: uint64(i+1) << 30, Size: 100, Stack: 1})
				if c.tells != nil {
					c.tells(apply, i)
				}
				h.Advance((i + 1) * second)
			}
			p := h.Snapshot(Query{}).Processes[0]
			require.Equal(t, int64(6007), p.Live, "blocks are no memory besides")
			require.Positive(t, p.Growth)
			segments := p.Sites[0]
			if c.tells != nil {
				require.Len(t, p.Sites, 3)
				kept := p.Sites[0]
				require.Equal(t, []any{c.class, false, true, int64(3600)}, []any{kept.Class, kept.Own, kept.Counts, kept.Live})
				require.NotEmpty(t, kept.Suspect)
				require.Positive(t, kept.Growth)
				require.Equal(t, uint64(3), p.Sites[1].Stack, "what no allocator asked for comes before segments")
				require.True(t, p.Sites[1].Counts)
				segments = p.Sites[2]
			}
			require.Equal(t, []any{uint64(1), true, int64(6000)}, []any{segments.Stack, segments.Own, segments.Live})
			known := c.tells == nil
			require.Equal(t, []bool{known, known, known}, []bool{segments.Counts, segments.Growth > 0, len(segments.Suspect) > 0})
		})
	}
}
