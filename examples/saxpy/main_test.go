package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	for _, n := range []int{1, 1000, 1 << 18} {
		for _, onHost := range []bool{true, false} {
			var out strings.Builder
			require.NoError(t, run(&out, n, onHost))
			assert.Contains(t, out.String(), "right\n")
		}
	}
}
