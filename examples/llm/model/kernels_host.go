package model

import (
	"math"
	"sync"

	"github.com/lastuse/lastuse/alloc/half"
	"github.com/lastuse/lastuse/alloc/host"
)

// onHost returns the Go functions that compute for a Config. They do what the kernels of kernels.cu do, one
// row after the other, and round where those round.
func onHost(c Config) [numKernels]func(host.Args) {
	h := onHostOf{Config: c, scratch: &sync.Pool{New: func() any {
		n := make([]float32, max(c.Width, c.Hidden, c.Context+c.Head()))
		return &n
	}}}
	project := h.project
	return [numKernels]func(host.Args){random: h.random, gather: h.gather, norm: h.norm, project11: project,
		project12: project, project21: project, project22: project, store: h.store, attendFew: h.attend,
		attendMany: h.attend, gate: h.gate, pick: h.pick}
}

type onHostOf struct {
	Config
	scratch *sync.Pool // of *[]float32, for what is too long for the stack
}

func halves(a host.Args, i int) []Half { return host.Slice[Half](a, i) }
func words(a host.Args, i int) []int32 { return host.Slice[int32](a, i) }

func (onHostOf) random(a host.Args) {
	seed, scale := host.Value[uint32](a, 1), host.Value[float32](a, 2)
	for i, y := 0, halves(a, 0); i < len(y); i++ {
		y[i] = half.ToBFloat16(scale * unit(seed, uint32(i)))
	}
}

// unit returns the i-th number of a seed, from -1 to 1. A float32 holds it exactly.
func unit(seed, i uint32) float32 {
	x := i*0x9e3779b9 + seed
	x = (x ^ x>>16) * 0x85ebca6b
	x = (x ^ x>>13) * 0xc2b2ae35
	x ^= x >> 16
	return float32(int32(x)>>8) / (1 << 23)
}

func (h onHostOf) gather(a host.Args) {
	y, table := halves(a, 0), halves(a, 1)
	for i, n := range words(a, 2) {
		copy(y[i*h.Width:(i+1)*h.Width], table[int(n)*h.Width:])
	}
}

func (h onHostOf) norm(a host.Args) {
	y, gain := halves(a, 0), halves(a, 2)
	for x := halves(a, 1); len(x) > 0; x, y = x[h.Width:], y[h.Width:] {
		f := factor(x[:h.Width])
		for i := range h.Width {
			y[i] = half.ToBFloat16(x[i].Float32() * f * gain[i].Float32())
		}
	}
}

// factor returns what brings the mean square of x to 1.
func factor(x []Half) float32 {
	var sum float32
	for _, v := range x {
		f := v.Float32()
		sum += f * f
	}
	return float32(1 / math.Sqrt(float64(sum/float32(len(x))+epsilon)))
}

// project multiplies the rows by their gain, then by the weights, then by what normalizes them.
func (h onHostOf) project(a host.Args) {
	w, x, gain := halves(a, 1), halves(a, 2), halves(a, 3)
	inputs, outputs := int(host.Value[int32](a, 4)), int(host.Value[int32](a, 5))
	what := host.Value[int32](a, 7)
	scratch := h.scratch.Get().(*[]float32)
	defer h.scratch.Put(scratch)
	row := (*scratch)[:inputs]
	for r := range int(host.Value[int32](a, 6)) {
		from, f := x[r*inputs:(r+1)*inputs], float32(1)
		for i, v := range from {
			row[i] = v.Float32()
			if len(gain) > 0 {
				row[i] = half.ToBFloat16(row[i] * gain[i].Float32()).Float32()
			}
		}
		if len(gain) > 0 {
			f = factor(from)
		}
		for o := range outputs {
			sum := f * dot(row, w[o*inputs:])
			switch at := r*outputs + o; what {
			case set:
				halves(a, 0)[at] = half.ToBFloat16(sum)
			case add:
				y := halves(a, 0)
				y[at] = half.ToBFloat16(y[at].Float32() + sum)
			case gated:
				halves(a, 0)[at] = half.ToBFloat16(silu(sum) * f * dot(row, w[(outputs+o)*inputs:]))
			case real:
				host.Slice[float32](a, 0)[at] = sum
			}
		}
	}
}

func dot(x []float32, w []Half) float32 {
	var sum float32
	for i, v := range x {
		sum += v * w[i].Float32()
	}
	return sum
}

func silu(x float32) float32 { return x / (1 + float32(math.Exp(-float64(x)))) }

func (h onHostOf) gate(a host.Args) {
	y := halves(a, 0)
	for x := halves(a, 1); len(x) > 0; x, y = x[2*h.Hidden:], y[h.Hidden:] {
		for i := range h.Hidden {
			y[i] = half.ToBFloat16(silu(x[i].Float32()) * x[h.Hidden+i].Float32())
		}
	}
}

// slot returns where a position of a sequence lies in the cache of a layer.
func (h onHostOf) slot(table []int32, sequence, position int) int {
	block := table[sequence*h.Context/BlockLen+position/BlockLen]
	return (int(block)*BlockLen + position%BlockLen) * h.KVHeads * h.Head()
}

func (h onHostOf) store(a host.Args) {
	keys, values, angles := halves(a, 1), halves(a, 2), host.Slice[float32](a, 3)
	positions, sequences, table := words(a, 4), words(a, 5), words(a, 6)
	head := h.Head()
	for r, position := range positions {
		row := halves(a, 0)[r*h.Inner() : (r+1)*h.Inner()]
		for i := range h.Heads + h.KVHeads {
			turn(row[i*head:(i+1)*head], angles[int(position)*head:])
		}
		at := h.slot(table, int(sequences[r]), int(position))
		copy(keys[at:], row[h.Heads*head:(h.Heads+h.KVHeads)*head])
		copy(values[at:], row[(h.Heads+h.KVHeads)*head:])
	}
}

// turn turns the pairs of x that lie half a head apart.
func turn(x []Half, angles []float32) {
	n := len(x) / 2
	for i := range n {
		cos, sin, a, b := angles[2*i], angles[2*i+1], x[i].Float32(), x[n+i].Float32()
		x[i], x[n+i] = half.ToBFloat16(a*cos-b*sin), half.ToBFloat16(b*cos+a*sin)
	}
}

func (h onHostOf) attend(a host.Args) {
	y, qkv, keys, values := halves(a, 0), halves(a, 1), halves(a, 2), halves(a, 3)
	positions, sequences, table := words(a, 4), words(a, 5), words(a, 6)
	head := h.Head()
	scratch := h.scratch.Get().(*[]float32)
	defer h.scratch.Put(scratch)
	scores, sum := (*scratch)[:h.Context], (*scratch)[h.Context:h.Context+head]
	for r, last := range positions {
		for i := range h.Heads {
			q := qkv[r*h.Inner()+i*head:][:head]
			offset := i / (h.Heads / h.KVHeads) * head
			most, total := float32(math.Inf(-1)), float32(0)
			for p := range int(last) + 1 {
				scores[p] = 0
				for j, k := range keys[h.slot(table, int(sequences[r]), p)+offset:][:head] {
					scores[p] += q[j].Float32() * k.Float32()
				}
				scores[p] /= float32(math.Sqrt(float64(head)))
				most = max(most, scores[p])
			}
			clear(sum)
			for p := range int(last) + 1 {
				e := float32(math.Exp(float64(scores[p] - most)))
				total += e
				for j, v := range values[h.slot(table, int(sequences[r]), p)+offset:][:head] {
					sum[j] += e * v.Float32()
				}
			}
			for j := range sum {
				y[(r*h.Heads+i)*head+j] = half.ToBFloat16(sum[j] / total)
			}
		}
	}
}

func (h onHostOf) pick(a host.Args) {
	logits, tokens := host.Slice[float32](a, 0), words(a, 1)
	positions, sequences, out := words(a, 2), words(a, 3), words(a, 4)
	for r := range tokens {
		best := 0
		for i, x := range logits[r*h.Vocab : (r+1)*h.Vocab] {
			if x > logits[r*h.Vocab+best] {
				best = i
			}
		}
		tokens[r] = int32(best)
		positions[r]++
		if int(positions[r]) < h.Context {
			out[int(sequences[r])*h.Context+int(positions[r])] = int32(best)
		}
	}
}
