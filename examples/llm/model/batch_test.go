package model_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/examples/llm/model"
)

func TestBadRequests(t *testing.T) {
	c, err := model.Sized("1x32", 64)
	require.NoError(t, err)
	for _, tt := range []struct {
		blocks, sequences int
		r                 model.Request
		want              string
	}{
		{4, 1, model.Request{Prompt: make([]int32, 60), Tokens: 4}, ""},
		{4, 1, model.Request{Prompt: make([]int32, 60), Tokens: 5}, "request 0: 5 tokens behind a prompt of 60: the context has 64"},
		{4, 1, model.Request{Tokens: 5}, "request 0: 5 tokens behind a prompt of 0: want one of either at least"},
		{4, 1, model.Request{Prompt: []int32{1}}, "request 0: 0 tokens behind a prompt of 1: want one of either at least"},
		{1, 1, model.Request{Prompt: make([]int32, 16), Tokens: 1}, ""},
		{1, 1, model.Request{Prompt: make([]int32, 16), Tokens: 2}, "request 0: 18 tokens want 2 blocks of the cache, which has 1"},
		{1, 0, model.Request{Prompt: make([]int32, 1), Tokens: 2}, "request 0: 3 tokens want 1 blocks of the cache, which has 1"},
		{4, 1, model.Request{Prompt: []int32{256}, Tokens: 1}, "request 0: token 256: there are 256"},
		{4, 1, model.Request{Prompt: []int32{-1}, Tokens: 1}, "request 0: token -1: there are 256"},
	} {
		_, err := model.NewBatch(c, []model.Request{tt.r}, tt.blocks, tt.sequences)
		if tt.want == "" {
			require.NoError(t, err)
		} else {
			assert.EqualError(t, err, tt.want)
		}
	}
}

// A request waits until the blocks for all of it are there, and no other one takes them.
func TestAdmit(t *testing.T) {
	c, err := model.Sized("1x32", 64)
	require.NoError(t, err)
	one := model.Request{Prompt: make([]int32, 16), Tokens: 17} // two blocks
	b, err := model.NewBatch(c, []model.Request{one, one, one}, 5, 3)
	require.NoError(t, err)
	p, any := b.Admit()
	require.True(t, any)
	assert.Equal(t, 2, b.Rows())
	assert.Equal(t, []int32{15, 31}, p.Last)
	assert.Equal(t, 16, b.Ahead())
	assert.Equal(t, 32, b.Prompted)
	_, any = b.Admit()
	assert.False(t, any, "one block is left, and two more are promised")
}

func TestSizes(t *testing.T) {
	c, err := model.Sized("22x2048", 1024)
	require.NoError(t, err)
	assert.Equal(t, model.Config{Layers: 22, Width: 2048, Heads: 32, KVHeads: 4, Hidden: 5632, Vocab: 32000, Context: 1024}, c)
	assert.Equal(t, 1_100_048_384, c.Weights(), "TinyLlama's")
	for _, tt := range []struct {
		size    string
		context int
		want    string
	}{
		{"22", 64, `size "22": want layers x width, such as 22x2048`},
		{"2x64x", 64, `size "2x64x": want layers x width, such as 22x2048`},
		{"0x64", 64, "every size must be positive"},
		{"2x8", 64, "every size must be positive"},
		{"2x2064", 64, "the heads must divide the width"},
		{"2x576", 64, ""},
		{"2x48", 64, "width and hidden size must be multiples of 32"},
		{"2x64", 65, "the context must be a multiple of 16"},
		{"2x64", 0, "the context must be a multiple of 16"},
	} {
		_, err := model.Sized(tt.size, tt.context)
		if tt.want == "" {
			assert.NoError(t, err, tt.size)
		} else {
			assert.ErrorContains(t, err, tt.want, tt.size)
		}
	}
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	pool, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	_, err = model.Open(pool, model.Config{}, model.Options{})
	assert.ErrorContains(t, err, "every size must be positive")
	require.NoError(t, pool.Close())
}
