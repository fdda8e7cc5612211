package alloc_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// BenchmarkMakeFree is a pair of Make and Free on a warm pool, by size in bytes.
func BenchmarkMakeFree(b *testing.B) {
	for size := 256; size <= 1<<30; size *= 4 {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			p := newPool(b, host.Options{}, alloc.Options{})
			s := newStream(b, p)
			buf, err := alloc.Make[byte](s, size)
			require.NoError(b, err)
			buf.Free()
			before := p.Stats().DeviceCalls
			b.ReportAllocs()
			for b.Loop() {
				buf, err := alloc.Make[byte](s, size)
				if err != nil {
					b.Fatal(err)
				}
				buf.Free()
			}
			b.StopTimer()
			require.Equal(b, before, p.Stats().DeviceCalls, "a warm pool calls no device")
			runtime.KeepAlive(p)
		})
	}
}
