//go:build linux && (amd64 || arm64)

package live

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// cache makes a loader's cache of names and paths.
func cache(entries ...string) []byte {
	const header, entry = 48, 24
	b := append([]byte("glibc-ld.so.cache1.1"), make([]byte, header-20)...)
	binary.NativeEndian.PutUint32(b[20:], uint32(len(entries)/2))
	b = append(b, make([]byte, entry*len(entries)/2)...)
	for i, s := range entries {
		binary.NativeEndian.PutUint32(b[header+entry*(i/2)+4+4*(i%2):], uint32(len(b)))
		b = append(append(b, s...), 0)
	}
	return b
}

// TestParseCache reads caches as they are, behind one of the older form, cut off anywhere, and of nonsense.
func TestParseCache(t *testing.T) {
	good := cache("libcuda.so.1", "/drv/libcuda.so.1", "libm.so.6", "/lib/libm.so.6", "libcuda.so.1", "/old/libcuda.so.1", "odd", "relative")
	want := map[string][]string{"libcuda.so.1": {"/drv/libcuda.so.1", "/old/libcuda.so.1"}, "libm.so.6": {"/lib/libm.so.6"}}
	require.Equal(t, want, parseCache(good))
	require.Equal(t, want, parseCache(append([]byte("ld.so-1.7.0\x00\x00\x00\x00\x00"), good...)))
	for n := range good {
		require.NotPanics(t, func() { parseCache(good[:n]) })
	}
	for i := range good[20:] {
		bad := append([]byte(nil), good...)
		bad[20+i] ^= 0xff
		require.NotPanics(t, func() { parseCache(bad) })
	}
	require.Empty(t, parseCache([]byte("nothing")))
}
