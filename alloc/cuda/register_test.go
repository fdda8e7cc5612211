//go:build cgo && linux

package cuda

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// Go memory and a file's are read by the device itself, in order on a stream, and given back before they are
// unmapped.
func TestRegister(t *testing.T) {
	e := start(t, alloc.Options{})
	const n = 1 << 20
	path := filepath.Join(t.TempDir(), "weights")
	weights := make([]byte, n)
	for i := range weights {
		weights[i] = byte(i * 7)
	}
	require.NoError(t, os.WriteFile(path, weights, 0o644))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	file, err := syscall.Mmap(int(f.Fd()), 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
	require.NoError(t, err)
	mem := alloc.Pages[byte](n)

	from, err := alloc.Register(e.pool, file)
	require.NoError(t, err)
	to, err := alloc.Register(e.pool, mem)
	require.NoError(t, err)
	b := buffer[byte](t, e.s, n)
	require.NoError(t, alloc.Upload(e.s, b, from))
	require.NoError(t, alloc.Download(e.s, to, b))
	from.Free()
	to.Free()
	require.NoError(t, e.s.Sync())
	assert.Zero(t, e.pool.Stats().PinnedReserved)
	assert.Equal(t, weights, mem)
	require.NoError(t, syscall.Munmap(file), "nothing is page-locked any more")

	h, err := alloc.Register(e.pool, mem)
	require.NoError(t, err)
	clear(mem)
	require.NoError(t, b.CopyTo(e.s, mem), "a copy that waits needs no chunk for it")
	assert.Equal(t, weights, mem)
	other, err := alloc.NewPool(e.dev, alloc.Options{})
	require.NoError(t, err)
	_, err = alloc.Register(other, mem)
	require.ErrorContains(t, err, "another pool or library has page-locked the memory: let that give it back")
	h.Free()
	e.pool.Trim(0)
	h, err = alloc.Register(other, mem)
	require.NoError(t, err)
	h.Free()
	b.Free()
	require.NoError(t, other.Close())
	require.NoError(t, e.pool.Close())
	if e.StandIn != nil {
		require.NoError(t, e.dev.Close())
		assert.Zero(t, e.StandIn.Books().Pinned)
		assert.Zero(t, e.StandIn.Books().Pageable)
	}
}
