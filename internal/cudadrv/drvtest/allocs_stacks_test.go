package drvtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sink []byte

func TestGoStacks(t *testing.T) {
	n := 0
	stacks := GoStacks(50, func() {
		sink = make([]byte, 100)
		if n++; n == 7 {
			sink = append(sink, make([]byte, 1000)...)
		}
	})
	require.Len(t, stacks, 1)
	assert.Contains(t, stacks[0], "50 allocations at\nruntime.")
	assert.Contains(t, stacks[0], "drvtest.TestGoStacks.func1")
	assert.Empty(t, GoStacks(50, func() { n++ }))
}
