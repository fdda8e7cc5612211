//go:build cgo && linux

package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// Each call of the library has its rank's context, and all are one group.
func TestProgram(t *testing.T) {
	lib := drvtest.Build(t, drvtest.Options{NCCL: 22809})
	said, err := drvtest.Program(t, "", "-n", "1000", "-lib", lib)
	require.NoError(t, err, "%s", said)
	assert.Contains(t, said, "device: cuda:0 stand-in\ndevice: cuda:1 stand-in\n"+
		"1000 numbers of each of 2 devices added up by NCCL 2.28.9: right, ")
	said, err = drvtest.Program(t, "", "-n", "10", "-gpus", "1", "-lib", lib)
	require.NoError(t, err, "%s", said)
	assert.Contains(t, said, "10 numbers of each of 1 devices added up by NCCL 2.28.9: right, ")
}

// What is missing or too old is said, with what would help.
func TestMissing(t *testing.T) {
	const wanted = "allreduce: NCCL, a package of its own beside the CUDA toolkit, is wanted: -lib names its file: "
	said, err := drvtest.Program(t, "", "-lib", "/nonexistent/libnccl.so")
	require.Error(t, err)
	assert.Contains(t, said, wanted+"/nonexistent/libnccl.so: ")
	assert.Contains(t, said, "No such file or directory")
	old := drvtest.Build(t, drvtest.Options{NCCL: 2803})
	said, err = drvtest.Program(t, "", "-lib", old)
	require.Error(t, err)
	assert.Contains(t, said, wanted+old+": NCCL 2.8.3 is older than 2.13.0\n")
	libc, err := filepath.Glob("/lib/*/libm.so.6")
	require.NoError(t, err)
	if len(libc) > 0 {
		said, err = drvtest.Program(t, "", "-lib", libc[0])
		require.Error(t, err)
		assert.Contains(t, said, "libm.so.6 has no ncclGetVersion: not NCCL\n")
	}
	said, err = drvtest.Program(t, "", "-gpus", "3", "-n", "10")
	require.NoError(t, err)
	assert.Contains(t, said, "not on GPUs: there are 2, not 3\n")
	assert.Contains(t, said, "added up by a Go function: right, ")
}
