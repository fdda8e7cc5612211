//go:build cgo && linux

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/examples/llm/model"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// The kernels in CUDA C, compiled for this machine, answer as the Go functions do: with cuBLAS where there
// are many rows, in a graph where there are few.
func TestKernels(t *testing.T) {
	lib := drvtest.Build(t, drvtest.Options{BLAS: true})
	compiler := drvtest.Build(t, drvtest.Options{Compiler: true, CUDAC: "testdata"})
	flags := []string{"-size", "2x64", "-batch", "1,9", "-context", "32", "-tokens", "14", "-form", "lastuse",
		"-narrow", "16", "-blas", lib, "-nvrtc", compiler}
	got, err := drvtest.Program(t, "", flags...)
	require.NoError(t, err, "%s", got)
	want, err := drvtest.Program(t, "", append(flags, "-host")...)
	require.NoError(t, err, "%s", want)
	assert.Contains(t, got, "device: cuda:0 stand-in\n")
	assert.Len(t, answers(want), 2)
	assert.Equal(t, answers(want), answers(got), "%s", got)
}

// What is missing is said, with what would help.
func TestMissing(t *testing.T) {
	lib, compiler := drvtest.Build(t, drvtest.Options{BLAS: true}), drvtest.Build(t, drvtest.Options{Compiler: true})
	said, err := drvtest.Program(t, "", "-blas", "/nonexistent/libcublas.so", "-nvrtc", compiler)
	require.Error(t, err)
	assert.Contains(t, said, "llm: without frees: cuBLAS, which comes with the CUDA toolkit, is wanted: "+
		"-blas names its file: /nonexistent/libcublas.so: ")
	said, err = drvtest.Program(t, "", "-blas", lib, "-nvrtc", "/nonexistent/libnvrtc.so")
	require.Error(t, err)
	assert.Contains(t, said, "NVRTC, which comes with the CUDA toolkit, is wanted")
	said, err = drvtest.Program(t, "", "-blas", lib, "-nvrtc", compiler) // which compiles no CUDA C
	require.Error(t, err)
	assert.Contains(t, said, "kernels.cu(1): error: ")
}

// On a GPU all forms answer alike, and begin as the Go functions do, before rounding may lead elsewhere. The
// order checker has nothing to say.
func TestGPU(t *testing.T) {
	gpu, err := cuda.Open(0)
	if err != nil {
		t.Skip("not on a GPU: ", err)
	}
	c := tiny(t)
	for _, narrow := range []int{model.MaxNarrow, 0} { // our projection in the graph, and cuBLAS
		for _, f := range forms[1:] {
			r, err := useWith(alloctest.Ordered(t, gpu), c, f, ragged(c), alloc.Options{},
				model.Options{GPU: gpu, Narrow: narrow})
			if err != nil && strings.Contains(err.Error(), "is wanted") {
				t.Skip("not on a GPU with cuBLAS and NVRTC: ", err)
			}
			require.NoError(t, err)
			want, err := useWith(hostDevice(t), c, f, ragged(c), alloc.Options{},
				model.Options{Narrow: narrow})
			require.NoError(t, err)
			for i := range want.Tokens {
				assert.Equal(t, want.Tokens[i][0], r.Tokens[i][0], "request %d", i)
			}
			assert.Zero(t, r.Late)
		}
	}
	require.NoError(t, gpu.Close())
	o, _ := onHost()
	o.onHost = false
	require.NoError(t, o.run())
}
