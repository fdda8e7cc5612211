package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lastuse/lastuse/bench/trace"
)

// steps are a trace as all peers read it: a line with its lengths, then a line for each step, "place stream
// size", where a size of -1 is a free.
type steps struct {
	name            string
	file            string
	places, streams int
	all             []trace.Step
	peak            int64 // bytes asked for at one time
}

// write puts steps into a folder.
func (s *steps) write(dir string) error {
	s.file = filepath.Join(dir, s.name+".steps")
	f, err := os.Create(s.file)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "steps", len(s.all), s.places, s.streams)
	for _, x := range s.all {
		fmt.Fprintln(w, x.Place, x.Stream, x.Size)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// readSteps reads what write has written.
func readSteps(file string) (*steps, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	s := &steps{file: file}
	var n int
	_, err = fmt.Fscanln(in, new(string), &n, &s.places, &s.streams)
	if err != nil || n < 0 || s.streams < 1 {
		return nil, fmt.Errorf("%s: no steps", file)
	}
	s.all = make([]trace.Step, n)
	for i := range s.all {
		x := &s.all[i]
		if _, err := fmt.Fscanln(in, &x.Place, &x.Stream, &x.Size); err != nil {
			return nil, fmt.Errorf("%s: step %d: %w", file, i, err)
		}
	}
	return s, nil
}

// randoms returns RMM's random_allocations by numbers and largest sizes in MiB.
func randoms(numbers []int, most []int64) (all []*steps) {
	for _, n := range numbers {
		for _, m := range most {
			s := &steps{name: fmt.Sprintf("random-%d-%dMiB", n, m), streams: 1}
			s.all, s.places = trace.Random(n, m)
			s.peak = trace.Peak(s.all)
			all = append(all, s)
		}
	}
	return all
}

// recorded returns the traces of files, each under its file's name up to the first point.
func recorded(files []string) (all []*steps, err error) {
	for _, file := range files {
		t, err := trace.Open(file)
		if err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		s := &steps{name: name, streams: t.Streams(), peak: t.Peak()}
		s.all, s.places = t.Steps()
		all = append(all, s)
	}
	return all, nil
}
