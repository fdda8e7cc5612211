package model

import (
	"fmt"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

// Kernels are what a model computes with, for one Config on one device. On a GPU they are kernels in CUDA C
// and cuBLAS, elsewhere Go functions.
type Kernels struct {
	Config
	// Narrow is the largest number of rows for which Project is to be used in place of Norm, Multiply and
	// Gate.
	Narrow int

	gpu    *gpu
	onHost [numKernels]func(host.Args)
}

// MaxNarrow is the largest number of rows that Project takes.
const MaxNarrow = 16

// usualNarrow is as good as any other for one row, and for 16 rows cuBLAS is faster on an H200
// (bench/results/cuda.md).
const usualNarrow = 8

// The kinds of work. Kernel and Go function of a kind have the same arguments.
type kernel int

const (
	random     kernel = iota // numbers, seed, scale
	gather                   // to, table, index
	norm                     // to, rows, gain
	project11                // to, weights, rows, gain, inputs, outputs, number of rows, what to do
	project12                // the same for more than 8 rows
	project21                // the same for the gate
	project22                // the same for the gate and more than 8 rows
	store                    // queries keys values, keys, values, angles, positions, sequences, table
	attendFew                // to, queries keys values, keys, values, positions, sequences, table
	attendMany               // the same for more than 8 rows
	gate                     // to, rows
	pick                     // logits, tokens, positions, sequences, out
	numKernels
)

// names are those that kernels.cu has.
var names = [numKernels]string{"random_numbers", "gather_rows", "normalize", "project11", "project12", "project21",
	"project22", "store_keys", "attend_few", "attend_many", "gate", "pick_tokens"}

// What project does with its sums; kernel.cu has the same numbers.
const (
	set   int32 = iota // writes them
	add                // adds them to what is there
	gated              // multiplies the first half's, gated, with the second half's
	real               // writes them as float32
)

// Options are what a GPU needs, and Narrow.
type Options struct {
	GPU    *cuda.Device // the pool's device, or nil if that is this machine's memory
	BLAS   []string     // files of cuBLAS, to be tried in turn; nil means what the loader finds
	NVRTC  string       // file of NVRTC; "" means what the loader finds
	Narrow int          // see Kernels; less than 0 means usualNarrow
}

// Open returns the kernels for a pool's device. Close must follow.
//
//lastuse:effect result 0 owned on success
func Open(p *alloc.Pool, c Config, o Options) (*Kernels, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if o.Narrow < 0 {
		o.Narrow = usualNarrow
	}
	o.Narrow = min(o.Narrow, MaxNarrow)
	k := &Kernels{Config: c, Narrow: o.Narrow}
	if o.GPU == nil {
		k.onHost = onHost(c)
		return k, nil
	}
	var err error
	if k.gpu, err = openGPU(p, c, o); err != nil {
		return nil, err
	}
	return k, nil
}

// Close gives the module and cuBLAS back. What was enqueued still runs.
//
//lastuse:effect recv freed
func (k *Kernels) Close() {
	if k.gpu != nil {
		k.gpu.close()
	}
}

// Describe says what computes.
func (k *Kernels) Describe() string {
	if k.gpu == nil {
		return "Go functions"
	}
	return "kernels in CUDA C and cuBLAS " + k.gpu.blas.version()
}

func (k *Kernels) launch(s *alloc.Stream, what kernel, grid cuda.Dim, threads int, args ...alloc.Arg) error {
	var err error
	if k.gpu == nil {
		err = host.Launch(s, k.onHost[what], args...)
	} else {
		err = k.gpu.kernels[what].Launch(s, grid, cuda.Dim{X: threads}, 0, args...)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", names[what], err)
	}
	return nil
}

func (k *Kernels) random(s *alloc.Stream, y alloc.View[Half], seed uint32, scale float32) error {
	return k.launch(s, random, cuda.Dim{X: (y.Len() + 1023) / 1024}, 256, y.Arg(), alloc.Scalar(seed),
		alloc.Scalar(scale), alloc.Scalar(uint32(y.Len())))
}

// Gather enqueues the copying of rows of a table: y has those whose numbers are in index.
func (k *Kernels) Gather(s *alloc.Stream, y alloc.Buffer[Half], table alloc.View[Half], index alloc.View[int32]) error {
	return k.launch(s, gather, cuda.Dim{X: index.Len()}, 128, y.Arg(), table.Arg(), index.Arg())
}

// Norm enqueues the normalization of each row of x, which is then multiplied by gain.
func (k *Kernels) Norm(s *alloc.Stream, y, x alloc.Buffer[Half], gain alloc.View[Half]) error {
	return k.launch(s, norm, cuda.Dim{X: x.Len() / k.Width}, 256, y.Arg(), x.Arg(), gain.Arg())
}

// Project enqueues y = w*x, or y += w*x, for at most Narrow rows of x, normalized first if there is a gain.
func (k *Kernels) Project(s *alloc.Stream, y alloc.Buffer[Half], w alloc.View[Half], x alloc.Buffer[Half],
	gain alloc.View[Half], rows int, adding bool) error {
	what := set
	if adding {
		what = add
	}
	return k.project(s, project11, 16, y.Arg(), w, x, gain, rows, y.Len()/rows, what)
}

// ProjectGate is Project and Gate in one.
func (k *Kernels) ProjectGate(s *alloc.Stream, y alloc.Buffer[Half], w alloc.View[Half], x alloc.Buffer[Half],
	gain alloc.View[Half], rows int) error {
	return k.project(s, project21, 16, y.Arg(), w, x, gain, rows, k.Hidden, gated)
}

// ProjectLogits is Project with results of 32 bits, whose ties are fewer.
func (k *Kernels) ProjectLogits(s *alloc.Stream, y alloc.Buffer[float32], w alloc.View[Half], x alloc.Buffer[Half],
	gain alloc.View[Half], rows int) error {
	return k.project(s, project11, 16, y.Arg(), w, x, gain, rows, k.Vocab, real)
}

// project enqueues a kernel whose blocks make so many outputs each, or the one behind it for more than 8
// rows.
func (k *Kernels) project(s *alloc.Stream, kind kernel, each int, y alloc.Arg, w alloc.View[Half],
	x alloc.Buffer[Half], gain alloc.View[Half], rows, outputs int, what int32) error {
	if rows > 8 {
		kind++
	}
	return k.launch(s, kind, cuda.Dim{X: outputs / each}, 256, y, w.Arg(), x.Arg(), gain.Arg(),
		alloc.Scalar(int32(x.Len()/rows)), alloc.Scalar(int32(outputs)), alloc.Scalar(int32(rows)), alloc.Scalar(what))
}

// Store enqueues the turning of queries and keys in qkv, a row each, and the writing of keys and values to
// the cache of a layer.
func (k *Kernels) Store(s *alloc.Stream, qkv alloc.Buffer[Half], m *Model, layer int, c *Cache,
	at Rows) error {
	keys, values := c.Layer(layer)
	return k.launch(s, store, cuda.Dim{X: at.Positions.Len()}, 256, qkv.Arg(), keys.Arg(), values.Arg(),
		m.Angles.Arg(), at.Positions.Arg(), at.Sequences.Arg(), c.Table.Arg())
}

// Attend enqueues the attention of each row's queries to what its sequence has in the cache of a layer.
func (k *Kernels) Attend(s *alloc.Stream, y, qkv alloc.Buffer[Half], layer int, c *Cache, at Rows) error {
	keys, values := c.Layer(layer)
	kind := attendFew
	if at.Positions.Len() > 8 {
		kind = attendMany
	}
	return k.launch(s, kind, cuda.Dim{X: at.Positions.Len(), Y: k.Heads}, 256, y.Arg(), qkv.Arg(), keys.Arg(),
		values.Arg(), at.Positions.Arg(), at.Sequences.Arg(), c.Table.Arg())
}

// Gate enqueues y = silu(first half) * second half, for each row of x.
func (k *Kernels) Gate(s *alloc.Stream, y, x alloc.Buffer[Half]) error {
	return k.launch(s, gate, cuda.Dim{X: y.Len() / k.Hidden}, 256, y.Arg(), x.Arg())
}

// Pick enqueues the choice of the next tokens: of each row the one with the largest logit, of equal ones the
// first. The rows move on by one position.
func (k *Kernels) Pick(s *alloc.Stream, logits alloc.Buffer[float32], c *Cache, rows alloc.View[int32],
	at Rows) error {
	return k.launch(s, pick, cuda.Dim{X: rows.Len()}, 1024, logits.Arg(), rows.Arg(), at.Positions.Arg(),
		at.Sequences.Arg(), c.Out.Arg())
}

// Rows say where each row of a step stands.
type Rows struct {
	Positions, Sequences alloc.View[int32]
}

// Multiply enqueues y = w*x, or y += w*x, for any number of rows of x. The library that does it on a GPU uses
// work, of WorkBytes, which may be freed at once.
//
//lastuse:effect args borrowed
func (k *Kernels) Multiply(s *alloc.Stream, y alloc.Buffer[Half], w alloc.View[Half], x alloc.Buffer[Half],
	work alloc.Buffer[byte], rows int, adding bool) error {
	if k.gpu != nil {
		return k.gpu.multiply(s, y, w, x, work, rows, adding)
	}
	return k.Project(s, y, w, x, alloc.View[Half]{}, rows, adding)
}

// MultiplyLogits is Multiply with results of 32 bits.
//
//lastuse:effect args borrowed
func (k *Kernels) MultiplyLogits(s *alloc.Stream, y alloc.Buffer[float32], w alloc.View[Half], x alloc.Buffer[Half],
	work alloc.Buffer[byte], rows int) error {
	if k.gpu != nil {
		return k.gpu.multiplyLogits(s, y, w, x, work, rows)
	}
	return k.ProjectLogits(s, y, w, x, alloc.View[Half]{}, rows)
}

// WorkBytes returns how many bytes Multiply works with.
func (k *Kernels) WorkBytes() int {
	if k.gpu == nil {
		return 0
	}
	return 32 << 20 // what cuBLAS would allocate itself on Hopper, out of sight of the pool
}
