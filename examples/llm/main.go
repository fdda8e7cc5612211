// Llm answers requests with a small transformer: on a GPU with kernels in CUDA C and cuBLAS, elsewhere with
// Go functions on this machine's memory. Its weights are made at random from a seed, or read from a
// safetensors file.
//
//	go run ./examples/llm                                                      a tiny one, here
//	go run ./examples/llm -size 22x2048 -batch 1,16 -context 1024 -tokens 128  the size that is measured, on a GPU
//
// It shows what a program of some size looks like on alloc, and what its frees are worth. The program that
// answers, package plain, is written without any Free. Package rewritten is what lastuse -fix makes of it
// (testdata/fix.diff), and package byhand is the same program freed by a person. All three run, on one model,
// and are compared: tokens per second, the peak of the foreign heap, and with -limit how many requests at
// once fit into so much memory.
//
// Package model walks a token through the model, and says how keys and values lie in blocks. A request's
// prompt goes through at once; then a step for each token, which is one captured graph: tokens, positions and
// the choice of the likeliest token stay on the device, so that a step is one launch and costs no Go memory.
package main

//go:generate go run rewrite.go

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/lastuse/lastuse/examples/llm/model"
)

func main() {
	o := options{out: os.Stdout}
	var batches, limit, blas string
	flag.StringVar(&o.size, "size", "2x64", "layers x width; the rest follows from the width")
	flag.StringVar(&batches, "batch", "1,4", "requests that are answered at once, one run for each number")
	flag.IntVar(&o.context, "context", 64, "tokens of a request, its prompt and what it is answered")
	flag.IntVar(&o.tokens, "tokens", 0, "tokens that each request is answered; 0 means a quarter of the context")
	flag.IntVar(&o.requests, "requests", 0, "requests in all; 0 means as many as are answered at once")
	flag.StringVar(&limit, "limit", "", "say how many requests at once fit under so much memory, such as 6GiB")
	flag.StringVar(&o.form, "form", "", "run this form only: plain, lastuse or hand")
	flag.StringVar(&o.weights, "weights", "", "safetensors file of the weights, with the names of the Llama family")
	flag.Uint64Var(&o.seed, "seed", 1, "of random weights and prompts")
	flag.Float64Var(&o.bandwidth, "bandwidth", 0, "GB/s of the device's memory, to say which share of it was used")
	flag.BoolVar(&o.onHost, "host", false, "do not use a GPU")
	flag.StringVar(&blas, "blas", "", "file of cuBLAS, if the system's loader does not find it")
	flag.StringVar(&o.kernels.NVRTC, "nvrtc", "", "file of NVRTC, likewise")
	flag.IntVar(&o.kernels.Narrow, "narrow", -1, "most rows that go through our projection instead of cuBLAS's, up to 16; -1: 8")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "llm: %q: there are flags only, see -h\n", flag.Args())
		os.Exit(2)
	}
	err := o.parse(batches, limit, blas)
	if err == nil {
		err = o.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "llm:", err)
		os.Exit(1)
	}
}

// maxBatch is how many requests there may be, at once and in all.
const maxBatch = 1 << 16

// parse checks the flags, and takes those that are no plain values.
func (o *options) parse(batches, limit, blas string) error {
	for text := range strings.SplitSeq(batches, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxBatch {
			return fmt.Errorf("-batch %s: want numbers such as 1,16, up to %d", batches, maxBatch)
		}
		o.batches = append(o.batches, n)
	}
	if limit != "" {
		n, err := humanize.ParseBytes(limit)
		if err != nil || n > 1<<62 {
			return fmt.Errorf("-limit %s: want bytes, such as 6GiB", limit)
		}
		o.limit = int64(n)
	}
	switch {
	case o.requests < 0 || o.requests > maxBatch:
		return fmt.Errorf("-requests %d: want 0, or up to %d", o.requests, maxBatch)
	case o.tokens < 0:
		return fmt.Errorf("-tokens %d: want 0, or how many each request is answered", o.tokens)
	case !(o.bandwidth >= 0):
		return fmt.Errorf("-bandwidth %v: want GB/s, such as 4800", o.bandwidth)
	case o.kernels.Narrow < -1 || o.kernels.Narrow > model.MaxNarrow:
		return fmt.Errorf("-narrow %d: want -1, or up to %d", o.kernels.Narrow, model.MaxNarrow)
	}
	if blas != "" {
		o.kernels.BLAS = []string{blas}
	}
	if o.tokens == 0 {
		o.tokens = max(1, o.context/4)
	}
	return nil
}
