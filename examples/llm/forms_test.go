package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/examples/llm/model"
	"github.com/lastuse/lastuse/internal/built"
)

// tiny is a model that is quick.
func tiny(t testing.TB) model.Config {
	c, err := model.Sized("2x64", 64)
	require.NoError(t, err)
	return c
}

// ragged returns requests of many lengths, more than run at once: rows end and others take their place,
// blocks are used again in another order, the last steps have fewer rows.
func ragged(c model.Config) model.Job {
	r := rand.New(rand.NewPCG(7, 7))
	j := model.Job{Weights: model.Random(3), Sequences: 3, Blocks: 9}
	for i := range 8 {
		prompt := make([]int32, 1+r.IntN(c.Context/2))
		for i := range prompt {
			prompt[i] = int32(r.IntN(c.Vocab))
		}
		j.Requests = append(j.Requests, model.Request{Prompt: prompt, Tokens: []int{1, 20, 32, 5}[i%4]})
	}
	return j
}

func hostDevice(t testing.TB) alloc.Device {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	return dev
}

// use runs a form on a device.
func use(dev alloc.Device, c model.Config, f form, j model.Job, o alloc.Options) (ran, error) {
	return useWith(dev, c, f, j, o, model.Options{Narrow: -1})
}

func useWith(dev alloc.Device, c model.Config, f form, j model.Job, o alloc.Options, with model.Options) (r ran, err error) {
	pool, err := alloc.NewPool(dev, o)
	if err != nil {
		return r, err
	}
	k, err := model.Open(pool, c, with)
	if err != nil {
		return r, errors.Join(err, pool.Close())
	}
	defer k.Close()
	s, err := pool.NewStream()
	if err != nil {
		return r, errors.Join(err, pool.Close())
	}
	r.Result, err = f.run(s, k, j)
	_ = s.Sync()
	r.Stats = pool.Stats()
	if f.name == "plain" {
		return r, err
	}
	return r, errors.Join(err, pool.Close())
}

// All forms answer alike. Those with frees hold less, both the same, and leave nothing.
func TestForms(t *testing.T) {
	c := tiny(t)
	results := map[string]ran{}
	for _, f := range forms {
		r, err := use(hostDevice(t), c, f, ragged(c), alloc.Options{})
		require.NoError(t, err)
		results[f.name] = r
		assert.Equal(t, results["plain"].Tokens, r.Tokens)
	}
	plain, rewritten, hand := results["plain"], results["lastuse"], results["hand"]
	assert.Equal(t, hand.PeakLive, rewritten.PeakLive)
	assert.Equal(t, hand.Made, rewritten.Made)
	assert.Greater(t, plain.PeakLive, rewritten.PeakLive)
	for _, r := range []ran{rewritten, hand} {
		assert.Zero(t, r.Live)
		assert.Zero(t, r.Late)
	}
	assert.Positive(t, plain.Live)
	for i, r := range ragged(c).Requests {
		assert.Len(t, plain.Tokens[i], r.Tokens)
	}
}

// However the requests share the cache, each is answered as if it were alone. (What many rows and few make of
// the same numbers differs in how it is rounded: so here there are always many.)
func TestAlone(t *testing.T) {
	c, j := tiny(t), ragged(tiny(t))
	r, err := useWith(hostDevice(t), c, forms[1], j, alloc.Options{}, model.Options{})
	require.NoError(t, err)
	for i, q := range j.Requests {
		one := model.Job{Weights: j.Weights, Sequences: 1, Blocks: 4, Requests: []model.Request{q}}
		alone, err := useWith(hostDevice(t), c, forms[1], one, alloc.Options{}, model.Options{})
		require.NoError(t, err)
		assert.Equal(t, alone.Tokens[0], r.Tokens[i], "request %d", i)
	}
}

// Neither Check mode nor the order checker has anything to say.
func TestChecked(t *testing.T) {
	c := tiny(t)
	for _, f := range forms[1:] {
		_, err := use(hostDevice(t), c, f, ragged(c), alloc.Options{Check: true})
		require.NoError(t, err)
		_, err = use(alloctest.Ordered(t, hostDevice(t)), c, f, ragged(c), alloc.Options{})
		require.NoError(t, err)
	}
}

// Whichever call of the device fails, what was made is freed: by the collector where nobody else does it.
func TestFailures(t *testing.T) {
	c, err := model.Sized("1x32", 32)
	require.NoError(t, err)
	j := model.Job{Weights: model.Random(1), Sequences: 2, Blocks: 4, Requests: []model.Request{
		{Prompt: make([]int32, 20), Tokens: 2}, {Prompt: []int32{1}, Tokens: 4}, {Prompt: []int32{2}, Tokens: 3}}}
	for _, f := range forms[1:] {
		failed := 0
		for n := int64(1); ; n++ {
			dev := alloctest.NewFaulty(hostDevice(t))
			pool, err := alloc.NewPool(dev, alloc.Options{})
			require.NoError(t, err)
			s, err := pool.NewStream()
			require.NoError(t, err)
			k, err := model.Open(pool, c, model.Options{})
			require.NoError(t, err)
			before := dev.Calls()
			dev.FailNth(n)
			r, err := f.run(s, k, j)
			made := dev.Calls() - before
			dev.Heal()
			require.NoError(t, s.Sync())
			require.Zero(t, pool.Stats().Live, "%s, call %d: %v", f.name, n, err)
			if err != nil {
				failed++
			} else {
				require.NotNil(t, r)
			}
			k.Close()
			require.NoError(t, pool.Close())
			if made < n {
				break
			}
		}
		require.Greater(t, failed, 20)
	}
}

// What does not fit is an error that says so, with frees and without.
func TestLimit(t *testing.T) {
	c := tiny(t)
	for _, f := range forms {
		r, err := use(hostDevice(t), c, f, ragged(c), alloc.Options{Limit: 100 << 10})
		require.ErrorIs(t, err, alloc.ErrOutOfMemory)
		require.ErrorContains(t, err, "weights: ")
		require.Zero(t, r.Live)
	}
}

// What -fix writes is in the repository.
func TestRewrite(t *testing.T) {
	if testing.Short() {
		t.Skip("builds lastuse: seconds")
	}
	tool, err := built.Command("cmd/lastuse")
	require.NoError(t, err)
	diff, err := exec.Command(tool, "-diff", "./plain").Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.ExitCode(), "findings")
	want, err := os.ReadFile("testdata/fix.diff")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(diff), "go generate ./examples/llm")
	out, err := exec.Command(tool, "-test=false", "./rewritten", "./byhand", "./model", ".").CombinedOutput()
	require.NoError(t, err, "findings are left: %s", out)
}

// BenchmarkForms times the forms; see bench/results/cuda.md for a GPU.
func BenchmarkForms(b *testing.B) {
	c := tiny(b)
	for _, f := range forms {
		b.Run(f.name, func(b *testing.B) {
			for b.Loop() {
				r, err := use(hostDevice(b), c, f, ragged(c), alloc.Options{})
				require.NoError(b, err)
				b.ReportMetric(float64(r.PeakLive), "peak-B")
			}
			runtime.GC()
		})
	}
}
