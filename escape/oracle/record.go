package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/lastuse/lastuse/escape/oracle/gen"
)

// A Record is what one run of one side of a program showed.
type Record struct {
	ID       int
	Fixed    bool // the rewritten program
	Run      int
	Fault    gen.Fault
	Panicked bool
	Crash    string // a panic that is neither injected nor the program's own
	Ops      int
	Events   []Seen
	Frees    []int // by site: calls that freed a buffer
	Most     []int // by site: the most such calls for one buffer
	Twice    int   // double frees of pointer resources
	UAF      []string
}

// Seen is one event of a run.
type Seen struct {
	Kind  gen.EventKind
	Value int64
	Bytes int64 // live bytes of the pool, 0 with the ledger
	Live  []int // live buffers by site
}

type reader struct {
	r   *bufio.Reader
	err error
}

func (r *reader) int() int64 {
	x, err := binary.ReadVarint(r.r)
	if err != nil && r.err == nil {
		r.err = err
	}
	return x
}

func (r *reader) text() string {
	n := r.int()
	if r.err != nil || n < 0 || n > 1<<20 {
		if r.err == nil {
			r.err = fmt.Errorf("a text of %d bytes", n)
		}
		return ""
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r.r, b); err != nil && r.err == nil {
		r.err = err
	}
	return string(b)
}

// read calls do for each record; sites says how many sites a program has.
// The sizes come first: what the pool counts for a buffer of each number of
// elements, nil for the ledger.
func read(src io.Reader, sites func(id int) int, do func(r *Record, sizes []int64)) error {
	r := &reader{r: bufio.NewReader(src)}
	var sizes []int64
	for range r.int() {
		if r.err != nil {
			break
		}
		sizes = append(sizes, r.int())
	}
	for {
		if _, err := r.r.Peek(1); errors.Is(err, io.EOF) {
			return nil
		}
		rec := &Record{ID: int(r.int()), Fixed: r.int() == 1, Run: int(r.int())}
		rec.Fault = gen.Fault{Op: int(r.int()), Panic: r.int() == 1}
		rec.Panicked = r.int() == 1
		rec.Crash = r.text()
		rec.Ops = int(r.int())
		k := sites(rec.ID)
		n := r.int()
		for range n {
			if r.err != nil {
				break
			}
			e := Seen{Kind: gen.EventKind(r.int()), Value: r.int()}
			if e.Kind != gen.EOut {
				e.Bytes = r.int()
				e.Live = make([]int, k)
				for i := range e.Live {
					e.Live[i] = int(r.int())
				}
			}
			rec.Events = append(rec.Events, e)
		}
		for range k {
			rec.Frees = append(rec.Frees, int(r.int()))
			rec.Most = append(rec.Most, int(r.int()))
		}
		rec.Twice = int(r.int())
		for range r.int() {
			if r.err != nil {
				break
			}
			rec.UAF = append(rec.UAF, r.text())
		}
		if r.err != nil {
			return fmt.Errorf("read what the batch showed: %w", r.err)
		}
		do(rec, sizes)
	}
}
