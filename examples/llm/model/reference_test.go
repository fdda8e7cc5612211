package model_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/examples/llm/model"
	"github.com/lastuse/lastuse/examples/llm/rewritten"
)

// A reference is the model as a textbook has it: float64, no cache, no blocks, no rounding but that of the
// weights.
type reference struct {
	model.Config
	weights []float64 // in the order of Config.tensors
}

func (f *reference) take(n int) []float64 {
	w := f.weights[:n]
	f.weights = f.weights[n:]
	return w
}

func multiply(w, x []float64) []float64 {
	y := make([]float64, len(w)/len(x))
	for o := range y {
		for i := range x {
			y[o] += w[o*len(x)+i] * x[i]
		}
	}
	return y
}

func normalize(x, gain []float64) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	y := make([]float64, len(x))
	for i := range x {
		y[i] = x[i] / math.Sqrt(sum/float64(len(x))+1e-5) * gain[i]
	}
	return y
}

// turn turns a query or a key by its position: as complex numbers whose real part is half a head before the
// other.
func turn(x []float64, position int) {
	half := len(x) / 2
	for i := range half {
		sin, cos := math.Sincos(float64(position) * math.Pow(10000, -float64(i)/float64(half)))
		x[i], x[half+i] = x[i]*cos-x[half+i]*sin, x[half+i]*cos+x[i]*sin
	}
}

// logits returns what follows each of the tokens.
func (f reference) logits(tokens []int32) [][]float64 {
	w, head := f.Width, f.Width/f.Heads
	embedding := f.take(f.Vocab * w)
	var rows [][]float64
	for _, t := range tokens {
		rows = append(rows, append([]float64(nil), embedding[int(t)*w:(int(t)+1)*w]...))
	}
	for range f.Layers {
		norm1, wq := f.take(w), f.take(w*w)
		wk, wv, wo := f.take(f.KVHeads*head*w), f.take(f.KVHeads*head*w), f.take(w*w)
		norm2, wg, wu, wd := f.take(w), f.take(f.Hidden*w), f.take(f.Hidden*w), f.take(w*f.Hidden)
		var keys, values [][]float64
		for p, x := range rows {
			n := normalize(x, norm1)
			q, k := multiply(wq, n), multiply(wk, n)
			for i := 0; i < len(q); i += head {
				turn(q[i:i+head], p)
			}
			for i := 0; i < len(k); i += head {
				turn(k[i:i+head], p)
			}
			keys, values = append(keys, k), append(values, multiply(wv, n))
			a := make([]float64, w)
			for h := range f.Heads {
				at, total := h/(f.Heads/f.KVHeads)*head, 0.0
				sum := a[h*head : (h+1)*head]
				for b := range keys {
					dot := 0.0
					for i := range head {
						dot += q[h*head+i] * keys[b][at+i]
					}
					e := math.Exp(dot / math.Sqrt(float64(head)))
					total += e
					for i := range sum {
						sum[i] += e * values[b][at+i]
					}
				}
				for i := range sum {
					sum[i] /= total
				}
			}
			for i, v := range multiply(wo, a) {
				x[i] += v
			}
			n = normalize(x, norm2)
			g, u := multiply(wg, n), multiply(wu, n)
			for i := range g {
				g[i] = g[i] / (1 + math.Exp(-g[i])) * u[i]
			}
			for i, v := range multiply(wd, g) {
				x[i] += v
			}
		}
	}
	norm, out := f.take(w), f.take(f.Vocab*w)
	var all [][]float64
	for _, x := range rows {
		all = append(all, multiply(out, normalize(x, norm)))
	}
	return all
}

// Each token that the model picks is the likeliest one, or within what rounding to 16 bits makes of it, by a
// model that shares no line with it.
func TestReference(t *testing.T) {
	c, err := model.Sized("2x64", 64)
	require.NoError(t, err)
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	pool, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	k, err := model.Open(pool, c, model.Options{Narrow: -1})
	require.NoError(t, err)
	s, err := pool.NewStream()
	require.NoError(t, err)
	f := reference{Config: c, weights: weights(t, s, k, model.Random(5))}

	job := model.Job{Weights: model.Random(5), Blocks: 8, Sequences: 2}
	for _, n := range []int{1, 30, 17} {
		prompt := make([]int32, n)
		for i := range prompt {
			prompt[i] = int32(i * i % c.Vocab)
		}
		job.Requests = append(job.Requests, model.Request{Prompt: prompt, Tokens: 30})
	}
	r, err := rewritten.Run(s, k, job)
	require.NoError(t, err)
	likeliest, all := 0, 0
	for i, q := range job.Requests {
		tokens := append(append([]int32(nil), q.Prompt...), r.Tokens[i]...)
		logits := f.logits(tokens)
		for j, picked := range r.Tokens[i] {
			row := logits[len(q.Prompt)+j-1]
			most := math.Inf(-1)
			for _, x := range row {
				most = max(most, x)
			}
			// Logits are about 1 in size, and 16 bits have 8 that count.
			require.InDelta(t, most, row[picked], 0.05, "request %d, token %d", i, j)
			all++
			if row[picked] == most {
				likeliest++
			}
		}
	}
	require.Greater(t, likeliest, all*8/10)
	k.Close()
	require.NoError(t, pool.Close())
}

// weights returns a model's weights.
func weights(t *testing.T, s *alloc.Stream, k *model.Kernels, from model.Source) []float64 {
	m, err := model.Load(s, k, k.Config, from)
	require.NoError(t, err)
	all := make([]model.Half, k.Weights())
	require.NoError(t, m.CopyWeights(s, all))
	m.Close()
	numbers := make([]float64, len(all))
	for i, h := range all {
		numbers[i] = float64(h.Float32())
	}
	return numbers
}
