package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out, madeUp(300), false))
	assert.Contains(t, out.String(), "  250 kernels")
	assert.Contains(t, out.String(), "4.0 KiB live in the books")
}

func TestLines(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out, strings.NewReader("set 5\n\nmul 3\n add 1\nmul 2\n"), true))
	assert.Contains(t, out.String(), "    1 kernels, the last set 5    = 5 ")
	for _, bad := range []string{"pow 2", "set", "set x", "add -1"} {
		assert.Error(t, run(&out, strings.NewReader(bad), true), bad)
	}
}
