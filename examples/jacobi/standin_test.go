//go:build cgo && linux

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// The kernel in CUDA C, compiled for this machine, and the library, in graphs that are updated and in turn.
func TestProgram(t *testing.T) {
	lib := drvtest.Build(t, drvtest.Options{BLAS: true})
	compiler := drvtest.Build(t, drvtest.Options{Compiler: true, CUDAC: t.TempDir()})
	said, err := drvtest.Program(t, "", "-n", "700", "-lib", lib, "-nvrtc", compiler)
	require.NoError(t, err, "%s", said)
	assert.Contains(t, said, "device: cuda:0 stand-in\ncall by call: 700 rows, ")
	assert.Regexp(t, `(?s)(: 700 rows, (\d+) steps, [^\n]*, largest error of a row: [0-9.]+e-0[5-9]\n.*){3}`, said)
	assert.Contains(t, said, "live at the end: 0 bytes, ")
}
