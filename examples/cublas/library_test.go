//go:build cgo && linux

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// The calls that the GPU would get multiply matrices in the order of C.
func TestLibrary(t *testing.T) {
	lib, err := openLibrary(nil, []string{"/nonexistent/libcublas.so", drvtest.Build(t, drvtest.Options{BLAS: true})})
	require.NoError(t, err)
	defer lib.close()
	assert.Equal(t, "13.1.2", lib.version())
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	pool, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	var out strings.Builder
	foreign := func(s *alloc.Stream, c, a, b alloc.Buffer[float32], n int) error {
		if err := s.Sync(); err != nil { // the stand-in does not wait for the stream
			return err
		}
		return lib.multiply(s, c, a, b, n)
	}
	require.NoError(t, compare(&out, pool, 33, []method{{"Go", onHostMemory}, {"C", foreign}}))
	assert.Contains(t, out.String(), "33 by 33 elements by C: right, ")
	assert.Contains(t, out.String(), "largest difference to Go: 0\n")

	s, err := pool.NewStream()
	require.NoError(t, err)
	var none alloc.Buffer[float32]
	assert.EqualError(t, lib.multiply(s, none, none, none, 4), "cuBLAS: cublasSgemm: invalid value")
	assert.Zero(t, pool.Stats().Live)
	require.NoError(t, pool.Close())
}

func TestMissingLibrary(t *testing.T) {
	_, err := openLibrary(nil, []string{"/nonexistent/libcublas.so"})
	assert.ErrorContains(t, err, "/nonexistent/libcublas.so: ")
	assert.ErrorContains(t, err, "No such file or directory")
	libc, err := filepath.Glob("/lib/*/libm.so.6")
	require.NoError(t, err)
	if len(libc) > 0 {
		_, err = openLibrary(nil, libc[:1])
		assert.ErrorContains(t, err, "libm.so.6: it has no cublasCreate_v2: too old, or not cuBLAS")
	}
}

// The program on the stand-in driver, with the stand-in for cuBLAS, which wants a context: Do makes it
// current. Our kernel needs the real compiler.
func TestProgram(t *testing.T) {
	lib, compiler := drvtest.Build(t, drvtest.Options{BLAS: true}), drvtest.Build(t, drvtest.Options{Compiler: true})
	said, err := drvtest.Program(t, "", "-n", "20", "-lib", lib, "-nvrtc", compiler)
	require.NoError(t, err, "%s", said)
	for _, want := range []string{"device: cuda:0 stand-in\n", "20 by 20 elements by cuBLAS 13.1.2: right, ",
		"without our kernel: cuda: nvrtcCompileProgram: ", "live at the end: 0 bytes\n"} {
		assert.Contains(t, said, want)
	}
}
