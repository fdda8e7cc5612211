//go:build cgo && linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// build compiles the library that stands in for cuBLAS.
func build(t *testing.T) string {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skip("no C compiler: ", err)
	}
	path := filepath.Join(t.TempDir(), "libcublas.so")
	text, err := exec.Command(cc, "-O1", "-shared", "-fPIC", "-o", path, "testdata/cublas.c").CombinedOutput()
	require.NoError(t, err, "%s", text)
	return path
}

// The calls that the GPU would get multiply matrices in the order of C.
func TestLibrary(t *testing.T) {
	lib, err := openLibrary(build(t))
	require.NoError(t, err)
	defer lib.close()
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, compute(&out, dev, func(s *alloc.Stream, c, a, b alloc.Buffer[float32], n int) error {
		if err := s.Sync(); err != nil { // the stand-in does not wait for the stream
			return err
		}
		return lib.multiply(s, c, a, b, n)
	}, 33))
	assert.Contains(t, out.String(), ": right\n")

	pool, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	s, err := pool.NewStream()
	require.NoError(t, err)
	var none alloc.Buffer[float32]
	assert.EqualError(t, lib.multiply(s, none, none, none, 4), "cuBLAS: cublasSgemm: invalid value")
	require.NoError(t, pool.Close())
}

func TestMissingLibrary(t *testing.T) {
	_, err := openLibrary("/nonexistent/libcublas.so")
	assert.ErrorContains(t, err, "cuBLAS: /nonexistent/libcublas.so: ")
	assert.ErrorContains(t, err, "No such file or directory")
	libc, err := filepath.Glob("/lib/*/libm.so.6")
	require.NoError(t, err)
	if len(libc) > 0 {
		_, err = openLibrary(libc[0])
		assert.ErrorContains(t, err, "undefined symbol: cublasCreate_v2")
	}
}
