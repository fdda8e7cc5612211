//go:build cgo && linux

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// The kernels in CUDA C, compiled for this machine, and the library's, in a graph of two streams.
func TestProgram(t *testing.T) {
	lib := drvtest.Build(t, drvtest.Options{BLAS: true})
	compiler := drvtest.Build(t, drvtest.Options{Compiler: true, CUDAC: "testdata"})
	said, err := drvtest.Program(t, "", "-n", "700", "-lib", lib, "-nvrtc", compiler)
	require.NoError(t, err, "%s", said)
	assert.Contains(t, said, "device: cuda:0 stand-in\n700 rows, 2098 elements: 6 steps, ")
	assert.Regexp(t, `largest error of a row: [0-9.]+e-0[6-9]\n`, said)
	assert.Contains(t, said, "live at the end: 0 bytes, ")
}

// What is missing is said, with what would help.
func TestMissing(t *testing.T) {
	said, err := drvtest.Program(t, "", "-lib", "/nonexistent/libcublas.so")
	require.Error(t, err)
	assert.Contains(t, said, "conjugate: cuBLAS, which comes with the CUDA toolkit, is wanted: -lib names its file: "+
		"/nonexistent/libcublas.so: ")
	lib := drvtest.Build(t, drvtest.Options{BLAS: true, Without: []string{"cublasGetStatusString"}})
	said, err = drvtest.Program(t, "", "-lib", lib)
	require.Error(t, err)
	assert.Contains(t, said, "is wanted: -lib names its file: "+lib+": it has no cublasGetStatusString: too old, or not cuBLAS\n")
	lib = drvtest.Build(t, drvtest.Options{BLAS: true})
	said, err = drvtest.Program(t, "", "-lib", lib, "-nvrtc", "/nonexistent/libnvrtc.so")
	require.Error(t, err)
	assert.Contains(t, said, "NVRTC, which comes with the CUDA toolkit, is wanted")
}
