package model

import (
	"errors"
	"fmt"
	"math"

	"github.com/lastuse/lastuse/alloc"
)

// A Model is the weights on a device. Close gives them back.
type Model struct {
	Config
	Embedding alloc.View[Half]
	Layers    []Layer
	Norm      alloc.View[Half]
	Out       alloc.View[Half]    // from a row to logits
	Angles    alloc.View[float32] // cosine and sine for each position and pair of numbers of a head

	weights alloc.Buffer[Half]
	angles  alloc.Buffer[float32]
}

// A Layer is the weights of one layer.
type Layer struct {
	Norm1  alloc.View[Half]
	QKV    alloc.View[Half] // of queries, keys and values, below one another
	O      alloc.View[Half]
	Norm2  alloc.View[Half]
	GateUp alloc.View[Half] // of the gate, and below it of what is gated
	Down   alloc.View[Half]
}

// A Source is where weights come from.
type Source interface {
	// load writes the weights, tensor behind tensor, in stream order on s.
	load(s *alloc.Stream, k *Kernels, c Config, weights alloc.Buffer[Half]) error
}

// Load returns a model with the weights of a source.
//
//lastuse:effect result 0 owned on success
func Load(s *alloc.Stream, k *Kernels, c Config, from Source) (*Model, error) {
	weights, err := alloc.Make[Half](s, c.Weights())
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	angles, err := alloc.Make[float32](s, c.Context*c.Head())
	if err == nil {
		err = errors.Join(angles.CopyFrom(s, rotations(c)), from.load(s, k, c, weights))
	}
	if err != nil {
		weights.Free()
		angles.Free()
		return nil, fmt.Errorf("weights: %w", err)
	}
	m := &Model{Config: c, weights: weights, angles: angles, Angles: angles.All()}
	at := 0
	next := func(n int) alloc.View[Half] {
		at += n
		return weights.View(at-n, at)
	}
	m.Embedding = next(c.Vocab * c.Width)
	for range c.Layers {
		m.Layers = append(m.Layers, Layer{Norm1: next(c.Width), QKV: next(c.Inner() * c.Width),
			O: next(c.Width * c.Width), Norm2: next(c.Width), GateUp: next(2 * c.Hidden * c.Width),
			Down: next(c.Width * c.Hidden)})
	}
	m.Norm = next(c.Width)
	m.Out = next(c.Vocab * c.Width)
	return m, nil
}

// CopyWeights copies all weights to numbers, of which there must be Weights.
func (m *Model) CopyWeights(s *alloc.Stream, numbers []Half) error {
	return m.weights.CopyTo(s, numbers)
}

// Close gives the weights back, in stream order.
//
//lastuse:effect recv freed repeatable
func (m *Model) Close() {
	m.weights.Free()
	m.angles.Free()
}

// rotations returns cosine and sine of the angle by which a pair of numbers is turned at each position.
func rotations(c Config) []float32 {
	all := make([]float32, 0, c.Context*c.Head())
	for p := range c.Context {
		for i := range c.Head() / 2 {
			angle := float64(p) * math.Pow(theta, -2*float64(i)/float64(c.Head()))
			all = append(all, float32(math.Cos(angle)), float32(math.Sin(angle)))
		}
	}
	return all
}

// Random weights are made on the device from a seed, the same ones on every device.
type Random uint32

func (seed Random) load(s *alloc.Stream, k *Kernels, c Config, weights alloc.Buffer[Half]) error {
	at := 0
	for i, t := range c.tensors() {
		view := weights.View(at, at+t.len())
		at += t.len()
		var err error
		if t.gain() {
			err = view.Fill(s, one)
		} else { // a variance that keeps the size of what goes through
			err = k.random(s, view, uint32(seed)+uint32(i)<<8, float32(math.Sqrt(3/float64(t.cols))))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const one Half = 0x3f80
