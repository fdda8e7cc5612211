package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/lastuse/lastuse/alloc"
)

// A Request asks for so many tokens behind a prompt.
type Request struct {
	Prompt []int32
	Tokens int
}

// A Batch is requests that are answered beside each other, as many at once as there are sequences and blocks
// of the cache for. It holds no memory of the device.
//
// A running request has a row and a sequence. Its blocks are promised when it is admitted, so that none waits
// for another one's, and given when it comes to their positions. Rows are 0 to Rows()-1: when one ends, those
// behind it close up.
type Batch struct {
	Result

	c         Config
	waiting   []*running
	rows      []*running
	sequences []int32 // free ones
	blocks    []int32 // free ones
	promised  int     // of them
	table     []int32 // as the cache has it, or is to have it
	scratch   []int32

	weights, position int64 // see StepBytes
}

// A running request.
type running struct {
	Request
	number   int // among the requests
	sequence int32
	position int // of the token that is given to the next step
	given    int // blocks
}

func (r *running) end() int { return len(r.Prompt) + r.Tokens - 1 }

func blocksFor(tokens int) int { return (tokens + BlockLen - 1) / BlockLen }

// A Result is what came of a batch so far.
type Result struct {
	Tokens          [][]int32     // by request
	Prompted        int           // tokens of prompts
	Decoded         int           // tokens that steps have made
	Steps           int           // that many
	Bytes           int64         // that the steps had to read at least
	Prefill, Decode time.Duration // how long prompts and steps took
}

// NewBatch returns the books of a cache.
func NewBatch(c Config, requests []Request, blocks, sequences int) (*Batch, error) {
	b := &Batch{c: c, Result: Result{Tokens: make([][]int32, len(requests))},
		table: make([]int32, sequences*c.Context/BlockLen), scratch: make([]int32, sequences)}
	b.weights, b.position = c.StepBytes()
	for i, r := range requests {
		n := len(r.Prompt) + r.Tokens
		switch {
		case len(r.Prompt) < 1 || r.Tokens < 1:
			return nil, fmt.Errorf("request %d: %d tokens behind a prompt of %d: want one of either at least", i,
				r.Tokens, len(r.Prompt))
		case n > c.Context:
			return nil, fmt.Errorf("request %d: %d tokens behind a prompt of %d: the context has %d", i, r.Tokens,
				len(r.Prompt), c.Context)
		case blocksFor(n-1) > blocks || sequences < 1:
			return nil, fmt.Errorf("request %d: %d tokens want %d blocks of the cache, which has %d", i, n,
				blocksFor(n-1), blocks)
		}
		for _, t := range r.Prompt {
			if t < 0 || int(t) >= c.Vocab {
				return nil, fmt.Errorf("request %d: token %d: there are %d", i, t, c.Vocab)
			}
		}
		b.waiting = append(b.waiting, &running{Request: r, number: i})
	}
	for i := range sequences {
		b.sequences = append(b.sequences, int32(sequences-1-i))
	}
	for i := range blocks {
		b.blocks = append(b.blocks, int32(blocks-1-i))
	}
	return b, nil
}

// Rows returns how many requests are running.
func (b *Batch) Rows() int { return len(b.rows) }

// A Prompt is the prompts of all rows that Admit has added, a row for each of their tokens.
type Prompt struct {
	Tokens, Positions, Sequences []int32
	Last                         []int32 // number of each prompt's last row
	First                        int     // row of the batch that the first prompt gets
}

// Admit gives requests that wait rows, as many as can be had, and returns their prompts, or false if there
// are none.
func (b *Batch) Admit() (p Prompt, any bool) {
	p.First = len(b.rows)
	for len(b.waiting) > 0 && len(b.sequences) > 0 {
		r := b.waiting[0]
		want := blocksFor(r.end())
		if b.promised+want > len(b.blocks) {
			break
		}
		b.promised += want
		b.waiting = b.waiting[1:]
		r.sequence = b.sequences[len(b.sequences)-1]
		b.sequences = b.sequences[:len(b.sequences)-1]
		b.rows = append(b.rows, r)
		b.give(r, len(r.Prompt)-1)
		for i, t := range r.Prompt {
			p.Tokens = append(p.Tokens, t)
			p.Positions = append(p.Positions, int32(i))
			p.Sequences = append(p.Sequences, r.sequence)
		}
		p.Last = append(p.Last, int32(len(p.Tokens)-1))
		r.position = len(r.Prompt) // which pick chooses
		b.Prompted += len(r.Prompt)
	}
	return p, len(p.Last) > 0
}

// give gives r the blocks up to a position.
func (b *Batch) give(r *running, position int) (changed bool) {
	for r.given <= position/BlockLen {
		last := len(b.blocks) - 1
		b.table[int(r.sequence)*b.c.Context/BlockLen+r.given] = b.blocks[last]
		b.blocks = b.blocks[:last]
		b.promised--
		r.given++
		changed = true
	}
	return changed
}

// Ahead returns how many steps there are until a request ends.
func (b *Batch) Ahead() int {
	if len(b.rows) == 0 {
		return 0
	}
	n := b.c.Context
	for _, r := range b.rows {
		n = min(n, r.end()-r.position)
	}
	return n
}

// Step writes the table to the cache if the step that is about to be launched comes to new blocks.
func (b *Batch) Step(s *alloc.Stream, k *Cache) error {
	changed, before := false, 0
	for _, r := range b.rows {
		changed = b.give(r, r.position) || changed
		r.position++
		before += r.position
	}
	b.Steps++
	b.Decoded += len(b.rows)
	b.Bytes += b.weights + b.position*int64(before)
	if changed {
		return k.Table.CopyFrom(s, b.table)
	}
	return nil
}

// Place writes to the cache where the rows of a prompt's requests stand, from row first on: at their prompts'
// last tokens.
func (b *Batch) Place(s *alloc.Stream, k *Cache, first int) error {
	return b.place(s, k, first, -1)
}

func (b *Batch) place(s *alloc.Stream, k *Cache, first, offset int) error {
	if err := k.Table.CopyFrom(s, b.table); err != nil {
		return err
	}
	n := len(b.rows)
	for i, r := range b.rows[first:] {
		b.scratch[i] = int32(r.position + offset)
	}
	if err := k.Positions.View(first, n).CopyFrom(s, b.scratch[:n-first]); err != nil {
		return err
	}
	for i, r := range b.rows[first:] {
		b.scratch[i] = r.sequence
	}
	return k.Sequences.View(first, n).CopyFrom(s, b.scratch[:n-first])
}

// Collect waits for the steps, takes the results of requests that have ended, and closes the other rows up.
func (b *Batch) Collect(s *alloc.Stream, k *Cache) error {
	n := len(b.rows)
	tokens := b.scratch[:n]
	if err := k.Tokens.View(0, n).CopyTo(s, tokens); err != nil {
		return err
	}
	kept := 0
	for i, r := range b.rows {
		if r.position < r.end() {
			b.rows[kept], tokens[kept] = r, tokens[i]
			kept++
			continue
		}
		if err := b.end(s, k, r); err != nil {
			return err
		}
	}
	if kept == n {
		return nil
	}
	clear(b.rows[kept:])
	b.rows = b.rows[:kept]
	if kept == 0 {
		return nil
	}
	if err := k.Tokens.View(0, kept).CopyFrom(s, tokens[:kept]); err != nil {
		return err
	}
	return b.place(s, k, 0, 0)
}

// end takes what a request has been answered, and its sequence and blocks back.
func (b *Batch) end(s *alloc.Stream, k *Cache, r *running) error {
	out := make([]int32, r.Request.Tokens)
	from := int(r.sequence)*b.c.Context + len(r.Prompt)
	if err := k.Out.View(from, from+len(out)).CopyTo(s, out); err != nil {
		return err
	}
	b.Tokens[r.number] = out
	first := int(r.sequence) * b.c.Context / BlockLen
	given := b.table[first : first+r.given]
	slices.Reverse(given) // the first one is the next to be given
	b.blocks = append(b.blocks, given...)
	b.promised -= blocksFor(r.end()) - r.given
	b.sequences = append(b.sequences, r.sequence)
	return nil
}
