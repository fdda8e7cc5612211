//go:build cgo && linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// blas compiles the library that stands in for cuBLAS.
func blas(t *testing.T) string {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skip("no C compiler: ", err)
	}
	path := filepath.Join(t.TempDir(), "libcublas.so")
	text, err := exec.Command(cc, "-O2", "-shared", "-fPIC", "-o", path, "testdata/cublas.c", "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", text)
	return path
}

// onStandIn returns what the program says on the stand-in driver.
func onStandIn(t *testing.T, flags ...string) (string, error) {
	d := drvtest.OpenStandIn(t, drvtest.Options{})
	cmd := exec.Command(os.Args[0], flags...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "LD_LIBRARY_PATH="+filepath.Dir(d.Path))
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// The kernels in CUDA C, compiled for this machine, and the library's, in a graph of two streams.
func TestProgram(t *testing.T) {
	compiler := drvtest.Build(t, drvtest.Options{Compiler: true, CUDAC: "testdata"})
	said, err := onStandIn(t, "-n", "700", "-lib", blas(t), "-nvrtc", compiler)
	require.NoError(t, err, "%s", said)
	assert.Contains(t, said, "device: cuda:0 stand-in\n700 rows, 2098 elements: 6 steps, ")
	assert.Regexp(t, `largest error of a row: [0-9.]+e-0[6-9]\n`, said)
	assert.Contains(t, said, "live at the end: 0 bytes, ")
}

// What is missing is said, with what would help.
func TestMissing(t *testing.T) {
	said, err := onStandIn(t, "-lib", "/nonexistent/libcublas.so")
	require.Error(t, err)
	assert.Contains(t, said, "conjugate: cuBLAS, which comes with the CUDA toolkit, is wanted: -lib names its file: "+
		"/nonexistent/libcublas.so: ")
	said, err = onStandIn(t, "-lib", blas(t), "-nvrtc", "/nonexistent/libnvrtc.so")
	require.Error(t, err)
	assert.Contains(t, said, "NVRTC, which comes with the CUDA toolkit, is wanted")
}
