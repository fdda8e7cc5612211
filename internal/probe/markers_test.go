package probe

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestMarkersBeginWithPush checks the machine code of this very binary, so it holds
// for the race detector's build when the tests run under it.
func TestMarkersBeginWithPush(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the first instruction matters on amd64 alone")
	}
	alloc, free := Markers()
	for name, address := range map[string]uintptr{"Alloc": alloc, "Free": free} {
		code := *(*unsafe.Pointer)(unsafe.Pointer(&address))
		require.Equal(t, byte(0x55), *(*byte)(code), "%s does not begin with push rbp", name)
	}
	require.NotEqual(t, alloc, free, "the linker has folded the markers into one")
}

func TestSeq(t *testing.T) {
	shard, n := SplitSeq(uint64(Seq(7, 12345)))
	require.Equal(t, uint32(7), shard)
	require.Equal(t, uint64(12345), n)
	_, n = SplitSeq(uint64(Seq(7, 1<<opBits+3)))
	require.Equal(t, uint64(3), n, "the count wraps and leaves the shard alone")
}

func BenchmarkMarkers(b *testing.B) {
	for b.Loop() {
		Alloc(1, 2, 3, 4)
		Free(1, 2, 3, 5, Explicit)
	}
}
