//go:build cgo && linux

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// The kernels in CUDA C, compiled for this machine.
func TestProgram(t *testing.T) {
	compiler := drvtest.Build(t, drvtest.Options{Compiler: true, CUDAC: t.TempDir()})
	said, err := drvtest.Program(t, "", "-n", "20001", "-batches", "5", "-nvrtc", compiler)
	require.NoError(t, err, "%s", said)
	assert.Contains(t, said, "device: cuda:0 stand-in\n5 batches of 20001 numbers: right, ")
}

// What is missing is said, with what would help.
func TestMissing(t *testing.T) {
	said, err := drvtest.Program(t, "", "-nvrtc", "/nonexistent/libnvrtc.so")
	require.Error(t, err)
	assert.Contains(t, said, "reduction: cuda: compile: NVRTC, which comes with the CUDA toolkit, is wanted")
}
