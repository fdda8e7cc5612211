package host

import (
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"sync"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

// Args are the arguments of a launched function, resolved when it was enqueued. They
// are good until the function returns.
type Args struct{ params []alloc.Param }

// Len returns the number of arguments.
func (a Args) Len() int { return len(a.params) }

// Launch enqueues f on s, a stream of a pool on a host device: the stream calls f once
// all earlier work has run. It returns when f is enqueued. f gets its memory from its Args,
// never from buffers that it captures: those may be freed by the time it runs, and
// may be freed by the caller as soon as Launch has returned.
//
// f must not enqueue work on s and wait for it. If it panics the program ends.
//
//lastuse:effect arg args borrowed, arg s borrowed
func Launch(s *alloc.Stream, f func(Args), args ...alloc.Arg) error {
	if f == nil {
		return errors.New("host: launch: no function")
	}
	if s.Pool() == nil {
		_, err := s.Begin(nil) // says so
		return err
	}
	dev := s.Pool().Device()
	for {
		if d, ok := dev.(*Device); ok {
			return d.launch(s, f, args)
		}
		w, ok := dev.(interface{ Unwrap() alloc.Device }) // a device around another one
		if !ok {
			return fmt.Errorf("host: launch: %s is no host device", dev.Name())
		}
		dev = w.Unwrap()
	}
}

func (d *Device) launch(s *alloc.Stream, f func(Args), args []alloc.Arg) error {
	la := d.spares.getArgs()
	params, err := s.Begin(la.params[:0], args...)
	if err != nil {
		d.spares.putArgs(la)
		return err
	}
	la.params = params
	st, err := d.takes(s.LaunchHandle())
	if err != nil {
		s.End(args...)
		d.spares.putArgs(la)
		return fmt.Errorf("alloc: launch: %w", err) // as Begin's
	}
	st.enqueue(d, op{kind: opCall, fn: f, args: la})
	s.End(args...)
	return nil
}

// Slice returns the memory of argument i, a buffer or a view of T. It panics if the
// argument is something else.
func Slice[T any](a Args, i int) []T {
	p := a.param(i)
	if p.IsScalar() || p.Type != reflect.TypeFor[T]() {
		panic(fmt.Errorf("host: argument %d is %s, not a buffer of %v: %w", i, describe(p),
			reflect.TypeFor[T](), alloc.ErrType))
	}
	if p.Ptr == 0 {
		return make([]T, p.Len) // of no bytes
	}
	return unsafe.Slice((*T)(pointer(uintptr(p.Ptr))), p.Len)
}

// Value returns argument i, a scalar of type T. It panics if the argument is something
// else.
func Value[T any](a Args, i int) T {
	p := a.param(i)
	if !p.IsScalar() || p.Type != reflect.TypeFor[T]() {
		panic(fmt.Errorf("host: argument %d is %s, not a scalar %v: %w", i, describe(p), reflect.TypeFor[T](),
			alloc.ErrType))
	}
	return *(*T)(p.Scalar())
}

func (a Args) param(i int) *alloc.Param {
	if i < 0 || i >= len(a.params) {
		panic(fmt.Errorf("host: argument %d of %d: %w", i, len(a.params), alloc.ErrSize))
	}
	return &a.params[i]
}

func describe(p *alloc.Param) string {
	if p.IsScalar() {
		return fmt.Sprintf("a scalar %v", p.Type)
	}
	return fmt.Sprintf("a buffer of %v", p.Type)
}

// launchArgs are the arguments of one function in a queue.
type launchArgs struct {
	params []alloc.Param
	next   *launchArgs
}

const (
	asideMax   = 4 << 20  // bytes; larger copies are not put aside
	asideAll   = 64 << 20 // bytes put aside at the most
	asideLeast = 10       // log2 of the least size of a spare
)

// Spares are things that operations need for a while, used again and again.
type spares struct {
	mu    sync.Mutex
	args  *launchArgs
	aside [32][][]byte // by log2 of the size
	out   int64        // bytes put aside now
}

// get returns memory to put n bytes aside, or nil if that is too much.
func (s *spares) get(n int64) []byte {
	if n > asideMax {
		return nil
	}
	c := max(asideLeast, bits.Len64(uint64(n-1)))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out+1<<c > asideAll {
		return nil
	}
	s.out += 1 << c
	if k := len(s.aside[c]); k > 0 {
		b := s.aside[c][k-1]
		s.aside[c] = s.aside[c][:k-1]
		return b[:n]
	}
	return make([]byte, n, 1<<c)
}

func (s *spares) put(b []byte) {
	c := bits.Len64(uint64(cap(b))) - 1
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out -= 1 << c
	s.aside[c] = append(s.aside[c], b)
}

func (s *spares) getArgs() *launchArgs {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.args
	if a == nil {
		return new(launchArgs)
	}
	s.args, a.next = a.next, nil
	return a
}

func (s *spares) putArgs(a *launchArgs) {
	clear(a.params[:cap(a.params)])
	s.mu.Lock()
	defer s.mu.Unlock()
	a.next, s.args = s.args, a
}
