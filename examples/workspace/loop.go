package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/examples/workspace/foreign"
)

// loop makes a workspace per iteration and never frees one.
func loop(s *alloc.Stream, n, iterations int, sample func(i int)) error {
	for i := range iterations {
		w, err := foreign.ForeignAlloc[float32](s, n)
		if err != nil {
			return err
		}
		sample(i)
		if err := use(s, w, float32(i)); err != nil {
			return err
		}
	}
	return nil
}

// use computes in w and lets it go nowhere. It is not inlined, so that only an
// analysis across functions can know.
//
//go:noinline
func use(s *alloc.Stream, w alloc.Buffer[float32], x float32) error {
	if err := w.Fill(s, x); err != nil {
		return err
	}
	return host.Launch(s, func(a host.Args) {
		w := host.Slice[float32](a, 0)
		for i := range w {
			w[i] *= 2
		}
	}, w.Arg())
}

// branch is the case that a free at the end of the scope gets wrong: in the
// likely branch the buffer is dead before something long begins.
func branch(s *alloc.Stream, n int, likely bool, out io.Writer) error {
	a, err := foreign.ForeignAlloc[float32](s, n)
	if err != nil {
		return err
	}
	if likely {
		for i := range 1000 {
			fmt.Fprintln(out, "something long", i)
		}
	} else {
		if err := use(s, a, 1); err != nil {
			return err
		}
	}
	return nil
}

var errNegative = errors.New("workspace: negative value")

// early returns between the allocation and its last use.
func early(s *alloc.Stream, n int, x float32) error {
	a, err := foreign.ForeignAlloc[float32](s, n)
	if err != nil {
		return err
	}
	if x < 0 {
		return errNegative
	}
	return use(s, a, x)
}
