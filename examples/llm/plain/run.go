// Package plain answers requests with a model, and frees nothing. Its memory comes back when the collector
// finds that nobody leads to it any more.
package plain

import (
	"time"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/examples/llm/model"
)

// Run loads a model and answers requests with it, as many at once as the cache has sequences.
func Run(s *alloc.Stream, k *model.Kernels, job model.Job) (*model.Result, error) {
	m, err := model.Load(s, k, k.Config, job.Weights)
	if err != nil {
		return nil, err
	}
	c, err := model.NewCache(s, k.Config, job.Blocks, job.Sequences)
	if err != nil {
		return nil, err
	}
	b, err := model.NewBatch(k.Config, job.Requests, job.Blocks, job.Sequences)
	if err != nil {
		return nil, err
	}
	err = answer(s, k, m, c, b)
	return &b.Result, err
}

// answer runs a batch: prompts as they come, and between them steps, as many as there are until a request
// ends. A step of so many rows is captured once and then launched. An update of the graph keeps what its
// function names, as far as lastuse knows; but the graph stays here, so the model and the cache are borrowed.
//
//lastuse:effect arg m borrowed, arg c borrowed
func answer(s *alloc.Stream, k *model.Kernels, m *model.Model, c *model.Cache, b *model.Batch) error {
	if err := admit(s, k, m, c, b); err != nil {
		return err
	}
	rows := b.Rows()
	g, err := capture(s, k, m, c, rows)
	if err != nil {
		return err
	}
	for b.Rows() > 0 {
		begin := time.Now()
		for range b.Ahead() {
			if err := b.Step(s, c); err != nil {
				return err
			}
			if err := g.Launch(s); err != nil {
				return err
			}
		}
		if err := b.Collect(s, c); err != nil {
			return err
		}
		b.Decode += time.Since(begin)
		if err := admit(s, k, m, c, b); err != nil {
			return err
		}
		if n := b.Rows(); n != rows && n > 0 {
			rows = n
			if err := update(g, s, k, m, c, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// capture captures a step of so many rows.
func capture(s *alloc.Stream, k *model.Kernels, m *model.Model, c *model.Cache, rows int) (*alloc.Graph, error) {
	return s.Capture(func() error { return step(s, k, m, c, rows) })
}

// update makes g a step of another number of rows.
func update(g *alloc.Graph, s *alloc.Stream, k *model.Kernels, m *model.Model, c *model.Cache, rows int) error {
	return g.Update(func() error { return step(s, k, m, c, rows) })
}

// admit takes in the prompts of requests for which there is room.
func admit(s *alloc.Stream, k *model.Kernels, m *model.Model, c *model.Cache, b *model.Batch) error {
	begin := time.Now()
	p, any := b.Admit()
	if !any {
		return nil
	}
	if err := b.Place(s, c, p.First); err != nil {
		return err
	}
	tokens, err := upload(s, p.Tokens)
	if err != nil {
		return err
	}
	positions, err := upload(s, p.Positions)
	if err != nil {
		return err
	}
	sequences, err := upload(s, p.Sequences)
	if err != nil {
		return err
	}
	x, err := forward(s, k, m, c, tokens.All(), model.Rows{Positions: positions.All(), Sequences: sequences.All()})
	if err != nil {
		return err
	}
	last, err := upload(s, p.Last)
	if err != nil {
		return err
	}
	ends, err := alloc.Make[model.Half](s, last.Len()*k.Width)
	if err != nil {
		return err
	}
	if err := k.Gather(s, ends, x.All(), last.All()); err != nil {
		return err
	}
	first, n := p.First, b.Rows()
	err = next(s, k, m, c, ends, c.Tokens.View(first, n),
		model.Rows{Positions: c.Positions.View(first, n), Sequences: c.Sequences.View(first, n)})
	if err != nil {
		return err
	}
	err = s.Sync()
	b.Prefill += time.Since(begin)
	return err
}

// upload returns a buffer with what words holds.
func upload(s *alloc.Stream, words []int32) (alloc.Buffer[int32], error) {
	b, err := alloc.Make[int32](s, len(words))
	if err != nil {
		return b, err
	}
	if err := b.CopyFrom(s, words); err != nil {
		return alloc.Buffer[int32]{}, err
	}
	return b, nil
}

// step gives each row its next token.
func step(s *alloc.Stream, k *model.Kernels, m *model.Model, c *model.Cache, rows int) error {
	tokens := c.Tokens.View(0, rows)
	at := model.Rows{Positions: c.Positions.View(0, rows), Sequences: c.Sequences.View(0, rows)}
	x, err := forward(s, k, m, c, tokens, at)
	if err != nil {
		return err
	}
	return next(s, k, m, c, x, tokens, at)
}

// forward takes rows through all layers.
func forward(s *alloc.Stream, k *model.Kernels, m *model.Model, c *model.Cache, tokens alloc.View[int32],
	at model.Rows) (alloc.Buffer[model.Half], error) {
	rows := tokens.Len()
	x, err := alloc.Make[model.Half](s, rows*k.Width)
	if err != nil {
		return x, err
	}
	if err := k.Gather(s, x, m.Embedding, tokens); err != nil {
		return alloc.Buffer[model.Half]{}, err
	}
	for i, l := range m.Layers {
		if err := attention(s, k, m, c, i, x, at); err != nil {
			return alloc.Buffer[model.Half]{}, err
		}
		if err := feed(s, k, l, x, rows); err != nil {
			return alloc.Buffer[model.Half]{}, err
		}
	}
	return x, nil
}

// attention adds to x what each row finds in its sequence.
func attention(s *alloc.Stream, k *model.Kernels, m *model.Model, c *model.Cache, layer int,
	x alloc.Buffer[model.Half], at model.Rows) error {
	l, rows := m.Layers[layer], at.Positions.Len()
	qkv, err := alloc.Make[model.Half](s, rows*k.Inner())
	if err != nil {
		return err
	}
	if rows <= k.Narrow {
		err = k.Project(s, qkv, l.QKV, x, l.Norm1, rows, false)
	} else {
		err = normed(s, k, qkv, l.QKV, x, l.Norm1, rows)
	}
	if err != nil {
		return err
	}
	if err := k.Store(s, qkv, m, layer, c, at); err != nil {
		return err
	}
	a, err := alloc.Make[model.Half](s, rows*k.Width)
	if err != nil {
		return err
	}
	if err := k.Attend(s, a, qkv, layer, c, at); err != nil {
		return err
	}
	return onto(s, k, x, l.O, a, rows)
}

// feed adds to x what the two projections behind the attention make of it.
func feed(s *alloc.Stream, k *model.Kernels, l model.Layer, x alloc.Buffer[model.Half], rows int) error {
	h, err := alloc.Make[model.Half](s, rows*k.Hidden)
	if err != nil {
		return err
	}
	if rows <= k.Narrow {
		if err := k.ProjectGate(s, h, l.GateUp, x, l.Norm2, rows); err != nil {
			return err
		}
		return onto(s, k, x, l.Down, h, rows)
	}
	both, err := alloc.Make[model.Half](s, 2*rows*k.Hidden)
	if err != nil {
		return err
	}
	if err := normed(s, k, both, l.GateUp, x, l.Norm2, rows); err != nil {
		return err
	}
	if err := k.Gate(s, h, both); err != nil {
		return err
	}
	return onto(s, k, x, l.Down, h, rows)
}

// normed is y = w * the normalized x, for many rows.
func normed(s *alloc.Stream, k *model.Kernels, y alloc.Buffer[model.Half], w alloc.View[model.Half],
	x alloc.Buffer[model.Half], gain alloc.View[model.Half], rows int) error {
	n, err := alloc.Make[model.Half](s, x.Len())
	if err != nil {
		return err
	}
	if err := k.Norm(s, n, x, gain); err != nil {
		return err
	}
	work, err := alloc.Make[byte](s, k.WorkBytes())
	if err != nil {
		return err
	}
	return k.Multiply(s, y, w, n, work, rows, false)
}

// onto is y += w*x.
func onto(s *alloc.Stream, k *model.Kernels, y alloc.Buffer[model.Half], w alloc.View[model.Half],
	x alloc.Buffer[model.Half], rows int) error {
	if rows <= k.Narrow {
		return k.Project(s, y, w, x, alloc.View[model.Half]{}, rows, true)
	}
	work, err := alloc.Make[byte](s, k.WorkBytes())
	if err != nil {
		return err
	}
	return k.Multiply(s, y, w, x, work, rows, true)
}

// next picks each row's next token.
func next(s *alloc.Stream, k *model.Kernels, m *model.Model, c *model.Cache, x alloc.Buffer[model.Half],
	tokens alloc.View[int32], at model.Rows) error {
	rows := tokens.Len()
	logits, err := alloc.Make[float32](s, rows*k.Vocab)
	if err != nil {
		return err
	}
	if rows <= k.Narrow {
		if err := k.ProjectLogits(s, logits, m.Out, x, m.Norm, rows); err != nil {
			return err
		}
		return k.Pick(s, logits, c, tokens, at)
	}
	n, err := alloc.Make[model.Half](s, x.Len())
	if err != nil {
		return err
	}
	if err := k.Norm(s, n, x, m.Norm); err != nil {
		return err
	}
	work, err := alloc.Make[byte](s, k.WorkBytes())
	if err != nil {
		return err
	}
	if err := k.MultiplyLogits(s, logits, m.Out, n, work, rows); err != nil {
		return err
	}
	return k.Pick(s, logits, c, tokens, at)
}
