//go:build cgo && linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
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
		"-narrow", "16", "-blas", lib, "-nvrtc", compiler}
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
