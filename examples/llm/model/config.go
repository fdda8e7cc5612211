package model

import (
	"fmt"
	"strings"

	"github.com/lastuse/lastuse/alloc/half"
)

// Half is the type of weights and activations.
type Half = half.BFloat16

// maxSize bounds every size, so that no product of two, or of rows with one, is beyond an int.
const maxSize = 1 << 20

const (
	theta   = 10000 // of the rotation by position
	epsilon = 1e-5  // of norm
)

// A Config is the sizes of a model.
type Config struct {
	Layers  int
	Width   int // numbers of a row between layers
	Heads   int // queries of a row
	KVHeads int // keys and values of a row; each serves Heads/KVHeads queries
	Hidden  int // numbers between the two projections behind the attention
	Vocab   int // tokens that there are
	Context int // tokens that a sequence may have
}

// Head returns how many numbers a query, a key or a value has.
func (c Config) Head() int { return c.Width / c.Heads }

// Inner returns how many numbers the queries, keys and values of a row have.
func (c Config) Inner() int { return (c.Heads + 2*c.KVHeads) * c.Head() }

// Sized returns the Config of a size such as "22x2048": layers and width. The rest follows from the width, as
// in TinyLlama, which that size is.
func Sized(size string, context int) (Config, error) {
	var c Config
	if n, err := fmt.Sscanf(size+"\n", "%dx%d\n", &c.Layers, &c.Width); n != 2 || err != nil {
		return c, fmt.Errorf("size %q: want layers x width, such as 22x2048", size)
	}
	head := 64
	c.Vocab = 32000
	if c.Width < 512 {
		head, c.Vocab = 16, 256
	}
	c.Heads = c.Width / head
	c.KVHeads = max(1, c.Heads/8)
	c.Hidden = (c.Width*11/4 + 63) / 64 * 64
	c.Context = context
	return c, c.check()
}

// check reports sizes that the kernels cannot do.
func (c Config) check() error {
	var wrong []string
	say := func(bad bool, what string) {
		if bad {
			wrong = append(wrong, what)
		}
	}
	say(c.Layers < 1 || c.Width < 1 || c.Heads < 1 || c.KVHeads < 1 || c.Hidden < 1 || c.Vocab < 1,
		"every size must be positive")
	say(max(c.Layers, c.Width, c.Hidden, c.Vocab, c.Context) > maxSize, fmt.Sprintf("no size may exceed %d", maxSize))
	say(c.Context < BlockLen || c.Context%BlockLen != 0, fmt.Sprintf("the context must be a multiple of %d", BlockLen))
	if len(wrong) == 0 {
		say(c.Width%c.Heads != 0, "the heads must divide the width")
		say(c.Heads%c.KVHeads != 0, "the heads of keys must divide the heads of queries")
		head := c.Head()
		say(head != 16 && head != 32 && head != 64 && head != 128, "a head must have 16, 32, 64 or 128 numbers")
		say(c.Width%32 != 0 || c.Hidden%32 != 0, "width and hidden size must be multiples of 32")
		say(c.Vocab%16 != 0, "the vocabulary must be a multiple of 16")
	}
	if len(wrong) > 0 {
		return fmt.Errorf("model %+v: %s", c, strings.Join(wrong, "; "))
	}
	return nil
}

// A tensor is a matrix of the model: rows outputs of cols inputs each. A gain is a single row.
type tensor struct {
	name       string // in a safetensors file
	rows, cols int
}

func (t tensor) gain() bool { return strings.HasSuffix(t.name, "norm.weight") }

func (t tensor) len() int { return t.rows * t.cols }

// tensors returns all weights, in the order in which they lie in memory: matrices that are multiplied at once
// lie side by side.
func (c Config) tensors() []tensor {
	all := []tensor{{"model.embed_tokens.weight", c.Vocab, c.Width}}
	for i := range c.Layers {
		for _, t := range []tensor{
			{"input_layernorm.weight", 1, c.Width},
			{"self_attn.q_proj.weight", c.Heads * c.Head(), c.Width},
			{"self_attn.k_proj.weight", c.KVHeads * c.Head(), c.Width},
			{"self_attn.v_proj.weight", c.KVHeads * c.Head(), c.Width},
			{"self_attn.o_proj.weight", c.Width, c.Width},
			{"post_attention_layernorm.weight", 1, c.Width},
			{"mlp.gate_proj.weight", c.Hidden, c.Width},
			{"mlp.up_proj.weight", c.Hidden, c.Width},
			{"mlp.down_proj.weight", c.Width, c.Hidden},
		} {
			t.name = fmt.Sprintf("model.layers.%d.%s", i, t.name)
			all = append(all, t)
		}
	}
	return append(all, tensor{"model.norm.weight", 1, c.Width}, tensor{"lm_head.weight", c.Vocab, c.Width})
}

// Weights returns how many numbers all weights have.
func (c Config) Weights() int {
	n := 0
	for _, t := range c.tensors() {
		n += t.len()
	}
	return n
}

// StepBytes returns the bytes that a step must read at least: those of the weights, of whose embedding only
// the rows' own are read, and those of the keys and values of one position.
func (c Config) StepBytes() (weights, position int64) {
	const size = 2
	return size * int64(c.Weights()-c.Vocab*c.Width), size * int64(2*c.Layers*c.KVHeads*c.Head())
}

// A Job is what a program is to do.
type Job struct {
	Weights           Source
	Requests          []Request
	Blocks, Sequences int // of the cache
}
