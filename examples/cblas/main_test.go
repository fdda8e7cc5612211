package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	for _, n := range []int{1, 7, 64} {
		for _, onHost := range []bool{true, false} {
			var out strings.Builder
			require.NoError(t, run(&out, n, onHost, libraries))
			assert.Contains(t, out.String(), ": right\n")
			assert.Contains(t, out.String(), "live at the end: 0 bytes\n")
		}
	}
}

func TestCheck(t *testing.T) {
	x, y := []float32{1, 2, 3, 4}, []float32{5, 6, 7, 8}
	require.NoError(t, check([]float32{19, 22, 43, 50}, x, y, 2))
	assert.EqualError(t, check([]float32{19, 43, 22, 50}, x, y, 2), "row 0, column 1 is 43, want 22", "transposed")
}
