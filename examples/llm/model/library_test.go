//go:build cgo && linux

package model

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMissingLibrary(t *testing.T) {
	_, err := openLibrary(nil, []string{"/nonexistent/libcublas.so"})
	assert.ErrorContains(t, err, "/nonexistent/libcublas.so: ")
	assert.ErrorContains(t, err, "No such file or directory")
	libm, err := filepath.Glob("/lib/*/libm.so.6")
	require.NoError(t, err)
	if len(libm) > 0 {
		_, err = openLibrary(nil, libm[:1])
		assert.ErrorContains(t, err, "libm.so.6: it has no cublasCreate_v2: too old, or not cuBLAS")
	}
}
