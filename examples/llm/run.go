package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/examples/llm/byhand"
	"github.com/lastuse/lastuse/examples/llm/model"
	"github.com/lastuse/lastuse/examples/llm/plain"
	"github.com/lastuse/lastuse/examples/llm/rewritten"
)

type options struct {
	out             io.Writer
	size            string
	batches         []int
	context, tokens int
	requests        int
	limit           int64
	form, weights   string
	seed            uint64
	bandwidth       float64 // GB/s
	onHost          bool
	kernels         model.Options
}

// A form is the program that answers, with its frees written in one way.
type form struct {
	name, says string
	run        func(*alloc.Stream, *model.Kernels, model.Job) (*model.Result, error)
}

var forms = []form{
	{"plain", "without frees", plain.Run},
	{"lastuse", "frees by lastuse", rewritten.Run},
	{"hand", "frees by hand", byhand.Run},
}

// run runs all forms for each number of requests at once.
func (o *options) run() error {
	dev, done, err := o.open()
	if err != nil {
		return err
	}
	defer done()
	fmt.Fprintln(o.out, "device:", dev.Name())
	c, from, err := o.model()
	if err != nil {
		return err
	}
	if closer, ok := from.(io.Closer); ok {
		defer closer.Close()
	}
	chosen := forms
	if o.form != "" {
		chosen = slices.DeleteFunc(slices.Clone(forms), func(f form) bool { return f.name != o.form })
	}
	if len(chosen) == 0 {
		return fmt.Errorf("-form %s: want plain, lastuse or hand", o.form)
	}
	fmt.Fprintf(o.out, "model: %d layers, width %d, %d heads, %d of keys, hidden %d, %d tokens: weights %s\n", c.Layers,
		c.Width, c.Heads, c.KVHeads, c.Hidden, c.Vocab, size(2*int64(c.Weights())))
	for _, n := range o.batches {
		if err := o.compare(dev, c, from, chosen, n); err != nil {
			return err
		}
	}
	if o.limit > 0 {
		return o.fits(dev, c, from, chosen)
	}
	return nil
}

// open opens a GPU, or this machine's memory as a device.
func (o *options) open() (alloc.Device, func() error, error) {
	if !o.onHost {
		gpu, err := cuda.Open(0)
		if err == nil {
			o.kernels.GPU = gpu
			return gpu, gpu.Close, nil
		}
		fmt.Fprintln(o.out, "not on a GPU:", err)
	}
	dev, err := host.Open(host.Options{})
	return dev, func() error { return nil }, err
}

// model returns the sizes of the model and where its weights come from.
func (o *options) model() (model.Config, model.Source, error) {
	if o.weights == "" {
		c, err := model.Sized(o.size, o.context)
		return c, model.Random(o.seed), err
	}
	f, err := os.Open(o.weights)
	if err != nil {
		return model.Config{}, nil, err
	}
	st, err := model.OpenSafetensors(f)
	if err != nil {
		f.Close()
		return model.Config{}, nil, err
	}
	c, err := st.Config(o.context)
	return c, st, err
}

// job returns requests with prompts made up from the seed, whose answers all are as long, and a cache for so
// many at once.
func (o *options) job(c model.Config, from model.Source, atOnce, requests, tokens int) model.Job {
	r := rand.New(rand.NewPCG(o.seed, 0))
	j := model.Job{Weights: from, Sequences: atOnce, Blocks: atOnce * c.Context / model.BlockLen}
	for range requests {
		prompt := make([]int32, max(1, o.context-o.tokens))
		for i := range prompt {
			prompt[i] = int32(r.IntN(c.Vocab))
		}
		j.Requests = append(j.Requests, model.Request{Prompt: prompt, Tokens: tokens})
	}
	return j
}

// A ran is what a run did, and what its pool says of it.
type ran struct {
	*model.Result
	alloc.Stats
}

// once runs a form in a pool of its own.
func (o *options) once(dev alloc.Device, c model.Config, f form, j model.Job, limit int64) (r ran, err error) {
	runtime.GC() // what a former run has left is not this one's
	pool, err := alloc.NewPool(dev, alloc.Options{Limit: limit})
	if err != nil {
		return r, err
	}
	defer func() {
		var live *alloc.LiveError // what the form without frees leaves is its result
		if closed := pool.Close(); !errors.As(closed, &live) {
			err = errors.Join(err, closed)
		}
	}()
	k, err := model.Open(pool, c, o.kernels)
	if err != nil {
		return r, err
	}
	defer k.Close()
	s, err := pool.NewStream()
	if err != nil {
		return r, err
	}
	r.Result, err = f.run(s, k, j)
	if err := s.Sync(); err != nil {
		return r, err
	}
	r.Stats = pool.Stats()
	return r, err
}

// compare runs the forms for so many requests at once, and says what each took.
func (o *options) compare(dev alloc.Device, c model.Config, from model.Source, chosen []form, atOnce int) error {
	j := o.job(c, from, atOnce, max(atOnce, o.requests), o.tokens)
	fmt.Fprintf(o.out, "batch %d: %d requests, each a prompt of %d tokens and an answer of %d, cache %s\n", atOnce,
		len(j.Requests), len(j.Requests[0].Prompt), o.tokens,
		size(int64(4*c.Layers*j.Blocks*model.BlockLen*c.KVHeads*c.Head())))
	var first [][]int32
	for _, f := range chosen {
		r, err := o.once(dev, c, f, j, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", f.says, err)
		}
		fmt.Fprintf(o.out, "  %-17s%s\n", f.says+":", o.describe(r))
		if first == nil {
			first = r.Tokens
		}
		for i := range first {
			if !slices.Equal(first[i], r.Tokens[i]) {
				return fmt.Errorf("%s: request %d: tokens %v, %s: %v", f.says, i, r.Tokens[i], chosen[0].says, first[i])
			}
		}
	}
	fmt.Fprintf(o.out, "  the first answer of each: %v\n", first[0][:min(8, len(first[0]))])
	return nil
}

// describe says how fast a run was and what it held.
func (o *options) describe(r ran) string {
	step := r.Decode / time.Duration(max(1, r.Result.Steps))
	rate := float64(r.Result.Bytes) / r.Decode.Seconds() / 1e9
	share := ""
	if o.bandwidth > 0 {
		share = fmt.Sprintf(", %.0f %% of the memory's", 100*rate/o.bandwidth)
	}
	return fmt.Sprintf("%.1f tokens/s, %v a step (%.3g GB/s%s); prompts %.0f tokens/s; peak %s, reserved %s; "+
		"%d of %d buffers freed late, live at the end %s", float64(r.Decoded)/r.Decode.Seconds(),
		step.Round(100*time.Nanosecond), rate, share, float64(r.Prompted)/r.Prefill.Seconds(), size(r.PeakLive),
		size(r.PeakReserved), r.Late, r.Made, size(r.Live))
}

// most bounds the search for what fits.
const most = 4096

// fits says for each form how many requests at once it can answer under the limit. Two tokens of each show
// it: the prompts take most.
func (o *options) fits(dev alloc.Device, c model.Config, from model.Source, chosen []form) error {
	for _, f := range chosen {
		begin := time.Now()
		fits, fails := 0, most+1
		for n := 1; fails-fits > 1; n = min((fits+fails)/2, max(1, 2*fits)) {
			j := o.job(c, from, n, n, min(2, o.tokens))
			switch _, err := o.once(dev, c, f, j, o.limit); {
			case err == nil:
				fits = n
			case errors.Is(err, alloc.ErrOutOfMemory):
				fails = n
			default:
				return fmt.Errorf("%s: %w", f.says, err)
			}
		}
		fmt.Fprintf(o.out, "under %s fit, %s: %d requests at once (%v)\n", size(o.limit), f.says, fits,
			time.Since(begin).Round(time.Millisecond))
	}
	return nil
}

func size(n int64) string { return humanize.IBytes(uint64(n)) }
