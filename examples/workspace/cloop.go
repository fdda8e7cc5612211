package main

import (
	"github.com/lastuse/lastuse/examples/workspace/cmem"
	"github.com/lastuse/lastuse/tracker"
)

// cLoop is loop over C memory: each block is tracked by hand and released by a
// finalizer that its constructor armed.
func cLoop(t *tracker.Tracker, n, iterations int, sample func(i int)) error {
	for i := range iterations {
		w, err := cmem.Alloc(t, 4*n)
		if err != nil {
			return err
		}
		sample(i)
		fill(w, byte(i))
	}
	return nil
}

//go:noinline
func fill(w *cmem.Block, x byte) {
	p := w.Bytes()
	for i := range p {
		p[i] = x
	}
}
