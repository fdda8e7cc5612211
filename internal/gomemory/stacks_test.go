package gomemory

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sink []byte

func TestStacks(t *testing.T) {
	n := 0
	f := func() {
		sink = make([]byte, 100)
		if n++; n == 7 {
			sink = append(sink, make([]byte, 1000)...)
		}
	}
	stacks := Stacks(50, f)
	require.Len(t, stacks, 1)
	assert.Contains(t, stacks[0], "50 allocations at\nruntime.")
	assert.Contains(t, stacks[0], "gomemory.TestStacks.func1")
	assert.Empty(t, Stacks(50, func() { n++ }))

	const here = "github.com/lastuse/lastuse/internal/gomemory"
	assert.Empty(t, Stacks(50, f, "strings", here))
	assert.Empty(t, Stacks(50, func() { sink = slices.Clone(sink) }, here), "by way of another package")
	assert.Len(t, Stacks(50, f, "strings", here+"/other", here[:len(here)-1]), 1)
}
