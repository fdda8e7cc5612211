package byhand

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/examples/llm/model"
)

// A step costs no Go memory: neither where a block of the cache is full nor else.
func TestStepAllocatesNothing(t *testing.T) {
	t.Run("host", func(t *testing.T) {
		dev, err := host.Open(host.Options{})
		require.NoError(t, err)
		allocatesNothing(t, dev, nil)
	})
	t.Run("cuda", func(t *testing.T) {
		gpu, err := cuda.Open(0)
		if err != nil {
			t.Skip("not on a GPU: ", err)
		}
		allocatesNothing(t, gpu, gpu)
		require.NoError(t, gpu.Close())
	})
}

// allocatesNothing is for a device, which is the GPU if there is one.
func allocatesNothing(t *testing.T, dev alloc.Device, gpu *cuda.Device) {
	pool, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	c, err := model.Sized("1x32", 256)
	require.NoError(t, err)
	k, err := model.Open(pool, c, model.Options{GPU: gpu, Narrow: -1})
	if err != nil && gpu != nil && strings.Contains(err.Error(), "is wanted") {
		t.Skip("not on a GPU with cuBLAS and NVRTC: ", err)
	}
	require.NoError(t, err)
	s, err := pool.NewStream()
	require.NoError(t, err)
	m, err := model.Load(s, k, c, model.Random(1))
	require.NoError(t, err)
	cache, err := model.NewCache(s, c, 40, 2)
	require.NoError(t, err)
	b, err := model.NewBatch(c, []model.Request{{Prompt: []int32{1, 2, 3}, Tokens: 250}, {Prompt: []int32{9}, Tokens: 250}}, 40, 2)
	require.NoError(t, err)
	require.NoError(t, admit(s, k, m, cache, b))
	g, err := capture(s, k, m, cache, b.Rows())
	require.NoError(t, err)
	step := func() {
		if b.Step(s, cache) != nil || g.Launch(s) != nil || s.Sync() != nil {
			t.Error("a step failed")
		}
	}
	for range 3 {
		step()
	}
	require.Zero(t, testing.AllocsPerRun(100, step))
	require.Greater(t, b.Result.Steps, 100)
	g.Close()
	cache.Close()
	m.Close()
	k.Close()
	require.NoError(t, pool.Close())
}
