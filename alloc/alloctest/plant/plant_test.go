package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "../../.."

// Every fault still fits the pool as it is. Whether each is found is what the command says: it takes minutes.
func TestFaultsApply(t *testing.T) {
	faults, err := load(module + "/alloc/alloctest/testdata/faults")
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(faults), 20)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			files, err := f.apply(module)
			require.NoError(t, err)
			assert.NotEmpty(t, files)
			assert.True(t, strings.HasSuffix(f.what, "."), f.what)
			for name := range files {
				assert.True(t, strings.HasPrefix(name, "alloc/"), name)
				assert.False(t, strings.HasSuffix(name, "_test.go"), name)
			}
		})
	}
}

func TestParse(t *testing.T) {
	const good = "# It is wrong.\n--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@ func f\n a\n-b\n+c\n"
	f, err := parse(good)
	require.NoError(t, err)
	assert.Equal(t, fault{what: "It is wrong.", hunks: []hunk{{"x.go", "a\nb\n", "a\nc\n"}}}, f)
	for _, c := range []struct{ text, want string }{
		{strings.TrimPrefix(good, "# "), "does not say what it is"},
		{"# It is wrong.\n", "it changes nothing"},
		{"# It is wrong.\n+a\n", "a line of no hunk"},
		{good + "x\n", "not a line of a patch"},
	} {
		_, err := parse(c.text)
		assert.ErrorContains(t, err, c.want)
	}
}

func TestFirst(t *testing.T) {
	const order = "    fuzz_test.go:56: seed 12: alloctest: order: memory is lost: 512 bytes at 0x7f00\n"
	assert.Equal(t, "script 12: order: memory is lost", first(order))
	assert.Equal(t, "panic: it broke", first("x\npanic: it broke\n"))
	assert.Equal(t, "the tests fail", first("FAIL\n"))
}
