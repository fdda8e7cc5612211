package main

import (
	"errors"
	"fmt"

	"github.com/lastuse/lastuse/alloc"
)

// pieces is how many pieces a batch goes up in, each on a stream of its own.
const pieces = 2

// A turn is room for a batch, and the graph that adds it up. Another turn's graph may run meanwhile.
type turn struct {
	numbers [pieces]alloc.Pinned[float32]
	sum     alloc.Pinned[float64]
	graph   *alloc.Graph
	ran     alloc.Event // the latest launch
}

// newTurn makes room for n numbers, and the graph. Close must follow.
func newTurn(streams *[pieces]*alloc.Stream, k kernels, n int) (_ *turn, err error) {
	t := new(turn)
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	for i, s := range streams {
		if t.numbers[i], err = alloc.MakePinned[float32](s.Pool(), n*(i+1)/pieces-n*i/pieces); err != nil {
			return nil, err
		}
	}
	if t.sum, err = alloc.MakePinned[float64](streams[0].Pool(), 1); err != nil {
		return nil, err
	}
	t.graph, err = t.capture(streams, k)
	return t, err
}

// capture makes the graph. All that lies on the device is the graph's own.
func (t *turn) capture(streams *[pieces]*alloc.Stream, k kernels) (*alloc.Graph, error) {
	s := streams[0]
	return s.Capture(func() error {
		parts, err := alloc.Make[float64](s, pieces*blocks)
		if err != nil {
			return err
		}
		defer parts.Free()
		for _, u := range streams[1:] {
			u.Wait(s) // takes part from here on
		}
		for i, u := range streams {
			if err := t.add(u, k, i, parts.View(i*blocks, (i+1)*blocks)); err != nil {
				return err
			}
		}
		for _, u := range streams[1:] {
			s.Wait(u)
		}
		sum, err := alloc.Make[float64](s, 1)
		if err != nil {
			return err
		}
		defer sum.Free()
		return errors.Join(k.finish(s, sum, parts), alloc.Download(s, t.sum, sum))
	})
}

// add enqueues what adds up piece i.
func (t *turn) add(s *alloc.Stream, k kernels, i int, parts alloc.View[float64]) error {
	numbers, err := alloc.Make[float32](s, t.numbers[i].Len())
	if err != nil {
		return err
	}
	defer numbers.Free()
	return errors.Join(alloc.Upload(s, numbers, t.numbers[i]), k.reduce(s, parts, numbers))
}

// fill writes the numbers of a batch: small and whole ones, of which every order of adding makes the same.
func (t *turn) fill(batch int) {
	at := 0
	for _, piece := range t.numbers {
		memory := piece.Slice()
		for i := range memory {
			memory[i] = float32((at + batch) % 7)
			at++
		}
	}
}

// check waits for the sum of a batch, and compares it.
func (t *turn) check(batch int) error {
	if err := t.ran.Sync(); err != nil {
		return err
	}
	want, n := 0, 0
	for _, piece := range t.numbers {
		n += piece.Len()
	}
	for i := range n {
		want += (i + batch) % 7
	}
	if got := t.sum.Slice()[0]; got != float64(want) {
		return fmt.Errorf("batch %d: the sum is %v, want %d", batch, got, want)
	}
	return nil
}

// close gives the graph and the room up. What has been launched still runs.
func (t *turn) close() {
	t.graph.Close()
	for _, piece := range t.numbers {
		piece.Free()
	}
	t.sum.Free()
}
