package bench

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// BenchmarkMakeFree is the warm pair by size, named as the peers' scripts name theirs, for one table.
// Counters and safety net are on; lastuse-nosites takes no call stacks, as no peer does.
func BenchmarkMakeFree(b *testing.B) {
	for _, size := range []int{256, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 1 << 30} {
		for _, pool := range []string{"lastuse", "lastuse-nosites"} {
			b.Run(fmt.Sprintf("size=%s/pool=%s", sizeName(size), pool), func(b *testing.B) {
				p, s := simPool(b, granule, 1, alloc.Balanced)
				if pool == "lastuse-nosites" {
					p, s = plainPool(b, granule, 0, 1)
				}
				buf, err := alloc.Make[byte](s[0], size)
				require.NoError(b, err)
				buf.Free()
				b.ReportAllocs()
				for b.Loop() {
					buf, err := alloc.Make[byte](s[0], size)
					if err != nil {
						b.Fatal(err)
					}
					buf.Free()
				}
				runtime.KeepAlive(p)
			})
		}
	}
}
