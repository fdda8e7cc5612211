//go:build cgo && linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc/cuda"
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
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	return said.String(), err
}

// The kernels in CUDA C, compiled for this machine, answer as the Go functions do: with cuBLAS where there
// are many rows, in a graph where there are few.
func TestKernels(t *testing.T) {
	lib, compiler := blas(t), drvtest.Build(t, drvtest.Options{Compiler: true, CUDAC: "testdata"})
	flags := []string{"-size", "2x64", "-batch", "1,9", "-context", "32", "-tokens", "14", "-form", "lastuse",
		"-blas", lib, "-nvrtc", compiler}
	got, err := onStandIn(t, flags...)
	require.NoError(t, err, "%s", got)
	want, err := onStandIn(t, append(flags, "-host")...)
	require.NoError(t, err, "%s", want)
	assert.Contains(t, got, "device: cuda:0 stand-in\n")
	assert.Len(t, answers(want), 2)
	assert.Equal(t, answers(want), answers(got), "%s", got)
}

// What is missing is said, with what would help.
func TestMissing(t *testing.T) {
	d := drvtest.Build(t, drvtest.Options{Compiler: true})
	said, err := onStandIn(t, "-blas", "/nonexistent/libcublas.so", "-nvrtc", d)
	require.Error(t, err)
	assert.Contains(t, said, "llm: without frees: cuBLAS, which comes with the CUDA toolkit, is wanted: "+
		"-blas names its file: /nonexistent/libcublas.so: ")
	said, err = onStandIn(t, "-blas", blas(t), "-nvrtc", "/nonexistent/libnvrtc.so")
	require.Error(t, err)
	assert.Contains(t, said, "NVRTC, which comes with the CUDA toolkit, is wanted")
	said, err = onStandIn(t, "-blas", blas(t), "-nvrtc", d) // which compiles no CUDA C
	require.Error(t, err)
	assert.Contains(t, said, "kernels.cu(1): error: ")
}

// On a GPU the answers are those of the Go functions, as far as rounding lets them be.
func TestGPU(t *testing.T) {
	gpu, err := cuda.Open(0)
	if err != nil {
		t.Skip("not on a GPU: ", err)
	}
	require.NoError(t, gpu.Close())
	o, out := onHost()
	o.onHost, o.batches = false, []int{1, 9}
	require.NoError(t, o.run())
	here, want := onHost()
	here.batches = o.batches
	require.NoError(t, here.run())
	assert.Equal(t, answers(want.String()), answers(out.String()))
}
