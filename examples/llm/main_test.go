package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/examples/llm/model"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

func TestMain(m *testing.M) { drvtest.Main(m, main) }

// onHost returns options for a run on this machine's memory, and what it says.
func onHost() (*options, *strings.Builder) {
	var out strings.Builder
	return &options{out: &out, size: "1x32", batches: []int{1, 3}, context: 32, tokens: 8, seed: 1, onHost: true,
		kernels: model.Options{Narrow: -1}}, &out
}

func TestRun(t *testing.T) {
	o, out := onHost()
	o.requests, o.limit, o.bandwidth = 2, 1<<20, 10
	require.NoError(t, o.run())
	for _, want := range []string{
		"device: host\nmodel: 1 layers, width 32, 2 heads, 1 of keys, hidden 128, 256 tokens: weights 62 KiB\n",
		"batch 1: 2 requests, each a prompt of 24 tokens and an answer of 8, cache 2.0 KiB\n",
		"  without frees:   ", "  frees by lastuse:", "  frees by hand:   ",
		"batch 3: 3 requests, each a prompt of 24 tokens and an answer of 8, cache 6.0 KiB\n",
		" % of the memory's); prompts ",
		"buffers freed late, live at the end 0 B\n", "  the first answer of each: [",
		"under 1.0 MiB fit, without frees: ", "under 1.0 MiB fit, frees by lastuse: ", "under 1.0 MiB fit, frees by hand: ",
	} {
		assert.Contains(t, out.String(), want)
	}
	again, other := onHost()
	again.requests, again.form = 2, "lastuse"
	require.NoError(t, again.run())
	assert.Equal(t, answers(out.String()), answers(other.String()), "one seed, one answer")
	assert.NotContains(t, other.String(), "without frees")
	again.seed = 2
	require.NoError(t, again.run())
	assert.NotEqual(t, answers(out.String()), answers(other.String()))
}

// answers returns the lines that show tokens.
func answers(text string) (all []string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, "answer of each: ") {
			all = append(all, line)
		}
	}
	return all
}

func TestFlags(t *testing.T) {
	for _, tt := range []struct{ batches, limit, want string }{
		{"1,16", "6GiB", ""},
		{"1;16", "", "-batch 1;16: want numbers such as 1,16, up to 65536"},
		{"0", "", "-batch 0: want numbers such as 1,16, up to 65536"},
		{"65537", "", "-batch 65537: want numbers such as 1,16, up to 65536"},
		{"1", "much", "-limit much: want bytes, such as 6GiB"},
	} {
		o := options{context: 64}
		err := o.parse(tt.batches, tt.limit, "")
		if tt.want == "" {
			require.NoError(t, err)
			assert.Equal(t, []int{1, 16}, o.batches)
			assert.EqualValues(t, 6<<30, o.limit)
			assert.Equal(t, 16, o.tokens)
		} else {
			assert.EqualError(t, err, tt.want)
		}
	}
	for want, o := range map[string]options{
		"-requests -3: want 0, or up to 65536":                     {requests: -3},
		"-tokens -1: want 0, or how many each request is answered": {tokens: -1},
		"-bandwidth -1: want GB/s, such as 4800":                   {bandwidth: -1},
		"-bandwidth NaN: want GB/s, such as 4800":                  {bandwidth: math.NaN()},
		"-narrow 99: want -1, or up to 16":                         {kernels: model.Options{Narrow: 99}},
	} {
		assert.EqualError(t, o.parse("1", "", ""), want)
	}
	for _, size := range []struct {
		size    string
		context int
	}{{"2x64", 1 << 40}, {"99999999999x64", 64}, {"2x4503599627370496", 64}} {
		_, err := model.Sized(size.size, size.context)
		assert.ErrorContains(t, err, "no size may exceed 1048576")
	}
	o, _ := onHost()
	o.form = "other"
	assert.EqualError(t, o.run(), "-form other: want plain, lastuse or hand")
	o, _ = onHost()
	o.weights = filepath.Join(t.TempDir(), "none")
	assert.ErrorIs(t, o.run(), os.ErrNotExist)
	require.NoError(t, os.WriteFile(o.weights, []byte("no tensors at all"), 0o666))
	assert.ErrorIs(t, o.run(), model.ErrSafetensors)
	o, _ = onHost()
	o.tokens = 33
	assert.EqualError(t, o.run(), "without frees: request 0: 33 tokens behind a prompt of 1: the context has 32")
}
