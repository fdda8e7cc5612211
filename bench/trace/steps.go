package trace

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Step is an allocation or a free in the form in which it is replayed: what an address names in a trace
// has a place in a table, so that a replay looks nothing up.
type Step struct {
	Place  int32 // in a table of live buffers; one that was freed has its place taken again
	Stream int32
	Size   int64 // bytes; -1 is a free
}

// Steps are a trace as all peers of bench/report read it: a line with its lengths, then a line for each step,
// "place stream size".
type Steps struct {
	Name            string
	File            string
	Places, Streams int
	All             []Step
	spare           []int32 // places that nothing has
}

// make adds an allocation.
func (s *Steps) make(stream int32, size int64) Step {
	x := Step{int32(s.Places), stream, size}
	if k := len(s.spare); k > 0 {
		x.Place, s.spare = s.spare[k-1], s.spare[:k-1]
	} else {
		s.Places++
	}
	s.All = append(s.All, x)
	return x
}

// free adds a free of what has a place.
func (s *Steps) free(place, stream int32) {
	s.spare = append(s.spare, place)
	s.All = append(s.All, Step{place, stream, -1})
}

// Peak returns the most bytes that are asked for and not freed at one time.
func (s *Steps) Peak() (peak int64) {
	sizes := make([]int64, s.Places)
	var live int64
	for _, x := range s.All {
		if x.Size < 0 {
			live -= sizes[x.Place]
		} else {
			sizes[x.Place] = x.Size
			live += x.Size
			peak = max(peak, live)
		}
	}
	return peak
}

// Write puts steps into a folder.
func (s *Steps) Write(dir string) error {
	s.File = filepath.Join(dir, s.Name+".steps")
	f, err := os.Create(s.File)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "steps", len(s.All), s.Places, s.Streams)
	for _, x := range s.All {
		fmt.Fprintln(w, x.Place, x.Stream, x.Size)
	}
	return errors.Join(w.Flush(), f.Close())
}

// ReadSteps reads what Write has written.
func ReadSteps(file string) (*Steps, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	s := &Steps{File: file}
	var n int
	_, err = fmt.Fscanln(in, new(string), &n, &s.Places, &s.Streams)
	if err != nil || n < 0 || s.Streams < 1 {
		return nil, fmt.Errorf("%s: no steps", file)
	}
	s.All = make([]Step, n)
	for i := range s.All {
		x := &s.All[i]
		if _, err := fmt.Fscanln(in, &x.Place, &x.Stream, &x.Size); err != nil {
			return nil, fmt.Errorf("%s: step %d: %w", file, i, err)
		}
	}
	return s, nil
}

// Recorded returns the traces of files, each under its file's name up to the first point.
func Recorded(files []string) (all []*Steps, err error) {
	for _, file := range files {
		t, err := Open(file)
		if err != nil {
			return nil, err
		}
		s := t.Steps()
		s.Name, _, _ = strings.Cut(filepath.Base(file), ".")
		all = append(all, s)
	}
	return all, nil
}
