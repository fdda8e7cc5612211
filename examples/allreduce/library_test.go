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

// build compiles the library that stands in for NCCL.
func build(t *testing.T, flags ...string) string {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skip("no C compiler: ", err)
	}
	path := filepath.Join(t.TempDir(), "libnccl.so")
	flags = append(flags, "-O1", "-shared", "-fPIC", "-o", path, "testdata/nccl.c", "-ldl")
	text, err := exec.Command(cc, flags...).CombinedOutput()
	require.NoError(t, err, "%s", text)
	return path
}

// onStandIn returns what the program says on the stand-in driver, which has two devices.
func onStandIn(t *testing.T, flags ...string) (string, error) {
	d := drvtest.OpenStandIn(t, drvtest.Options{})
	cmd := exec.Command(os.Args[0], flags...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "LD_LIBRARY_PATH="+filepath.Dir(d.Path))
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// Each call of the library has its rank's context, and all are one group.
func TestProgram(t *testing.T) {
	said, err := onStandIn(t, "-n", "1000", "-lib", build(t))
	require.NoError(t, err, "%s", said)
	assert.Contains(t, said, "device: cuda:0 stand-in\ndevice: cuda:1 stand-in\n"+
		"1000 numbers of each of 2 devices added up by NCCL 2.28.9: right, ")
	said, err = onStandIn(t, "-n", "10", "-gpus", "1", "-lib", build(t))
	require.NoError(t, err, "%s", said)
	assert.Contains(t, said, "10 numbers of each of 1 devices added up by NCCL 2.28.9: right, ")
}

// What is missing or too old is said, with what would help.
func TestMissing(t *testing.T) {
	const wanted = "allreduce: NCCL, a package of its own beside the CUDA toolkit, is wanted: -lib names its file: "
	said, err := onStandIn(t, "-lib", "/nonexistent/libnccl.so")
	require.Error(t, err)
	assert.Contains(t, said, wanted+"/nonexistent/libnccl.so: ")
	assert.Contains(t, said, "No such file or directory")
	old := build(t, "-DVERSION=2803")
	said, err = onStandIn(t, "-lib", old)
	require.Error(t, err)
	assert.Contains(t, said, wanted+old+": NCCL 2.8.3 is older than 2.13.0\n")
	libc, err := filepath.Glob("/lib/*/libm.so.6")
	require.NoError(t, err)
	if len(libc) > 0 {
		said, err = onStandIn(t, "-lib", libc[0])
		require.Error(t, err)
		assert.Contains(t, said, "libm.so.6 has no ncclGetVersion: not NCCL\n")
	}
	said, err = onStandIn(t, "-gpus", "3", "-n", "10")
	require.NoError(t, err)
	assert.Contains(t, said, "not on GPUs: there are 2, not 3\n")
	assert.Contains(t, said, "added up by a Go function: right, ")
}
