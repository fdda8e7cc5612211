package alloc

import (
	"fmt"
	"reflect"
	"unsafe"
)

// This file is what a package that launches work on a device builds on, as
// alloc/host and alloc/cuda do. Launching takes three steps:
//
//	params, err := s.Begin(scratch[:0], args...) // pins, resolves
//	if err == nil {
//		err = enqueue(s, params)             // copies what it needs of params
//		s.End(args...)                       // unpins
//	}
//
// A Free that happens in between takes effect at End, so the addresses in params
// are the caller's until then, and by then the work stands on s.

// An Arg is an argument of a launch: a buffer, a view or a scalar. It is eight words, which
// stay in registers on the way.
type Arg struct {
	part   part
	typ    unsafe.Pointer // word of the element type: see elemWord
	lo, hi uint64         // a scalar's bytes, if they fit
	boxed  unsafe.Pointer // to them otherwise
}

// isScalar is the number of elements of an Arg that is a scalar.
const isScalar = -1

// Scalar returns x as an argument of a launch. The value is copied now. T must be free
// of Go pointers, or the launch fails with [ErrType].
func Scalar[T any](x T) Arg {
	a := Arg{part: part{n: isScalar}, typ: elemWord((*T)(nil))}
	if unsafe.Sizeof(x) > 2*unsafe.Sizeof(a.lo) || pointerIn(reflect.TypeFor[T]()) != "" {
		boxed := new(T) // a copy, lest every x be on the heap
		*boxed = x
		a.boxed = unsafe.Pointer(boxed)
		return a
	}
	*(*T)(unsafe.Pointer(&a.lo)) = x // lo and hi lie side by side
	return a
}

// A Param is one argument of a launch, resolved.
type Param struct {
	Ptr  Ptr          // device address; zero for a scalar and for an empty buffer
	Len  int          // elements; 1 for a scalar
	Size int64        // bytes
	Type reflect.Type // of one element, or of the scalar

	scalar bool
	inline [2]uint64
	boxed  unsafe.Pointer
}

// IsScalar reports whether p is a scalar rather than a buffer or a view.
func (p *Param) IsScalar() bool { return p.scalar }

// Scalar returns where the p.Size bytes of a scalar's value are, aligned as its type
// wants. They belong to p: a caller that needs them longer copies them. It
// returns nil for buffers and views.
func (p *Param) Scalar() unsafe.Pointer {
	switch {
	case !p.scalar:
		return nil
	case p.boxed != nil:
		return p.boxed
	}
	return unsafe.Pointer(&p.inline)
}

// Begin resolves the arguments of a launch on s and appends them to params. It pins the
// buffers among them until [Stream.End], which must follow if the error is nil. If it is
// not, nothing is pinned and what it returns is of no use. It allocates nothing if
// params has room. Whether the stream is being captured is for the device to say, in the
// call that enqueues, with an error that is [ErrCapturing]: asking first would cost another call.
func (s *Stream) Begin(params []Param, args ...Arg) ([]Param, error) {
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("alloc: launch: %w", err)
	}
	if bare(args) && !s.core.estate.enter() {
		return nil, fmt.Errorf("alloc: launch: %w", errPoolClosed)
	}
	if m := s.member(); m != nil {
		m.capture.memory.mu.Lock()
		m.worked()
		m.capture.memory.mu.Unlock()
	}
	for i := range args {
		params = append(params, Param{})
		if !args[i].resolve(s, &params[len(params)-1]) {
			s.end(args, i)
			return nil, args[i].refused(s, i)
		}
	}
	return params, nil
}

// bare reports whether no buffer is among args. A launch with one is met by Close through what it pins;
// without, it has to be counted as inside, or its stream might be destroyed meanwhile.
func bare(args []Arg) bool {
	for i := range args {
		if args[i].part.header != nil {
			return false
		}
	}
	return true
}

// resolve pins a, if it has a buffer, and writes what it stands for on s to p, which is
// zero.
func (a *Arg) resolve(s *Stream, p *Param) (ok bool) {
	if a.typ == nil {
		return false
	}
	p.Type = elemType(a.typ)
	size := int64(p.Type.Size())
	if a.part.n == isScalar {
		p.Len, p.Size, p.scalar = 1, size, true
		p.inline, p.boxed = [2]uint64{a.lo, a.hi}, a.boxed
		return flat(p.Type) || s.core.checkFlat(p.Type) == nil
	}
	p.Len, p.Size = a.part.n, int64(a.part.n)*size
	p.Ptr, ok = a.part.pinOn(s)
	return ok
}

// refused returns the error for argument number i, which resolve does not pin.
func (a *Arg) refused(s *Stream, i int) error {
	op := fmt.Sprintf("launch: argument %d", i)
	switch {
	case a.typ == nil:
		return fmt.Errorf("alloc: %s: the zero Arg, which no Buffer, View or Scalar made: %w", op, ErrType)
	case a.part.n == isScalar:
		return fmt.Errorf("alloc: %s: %w", op, s.core.checkFlat(elemType(a.typ)))
	}
	return a.part.refused(s, op)
}

// End unpins what [Stream.Begin] pinned for the same arguments. The work is enqueued, or
// will not be.
func (s *Stream) End(args ...Arg) { s.end(args, len(args)) }

// end is End when only the first n arguments were pinned.
func (s *Stream) end(args []Arg, n int) {
	for i := range n {
		args[i].part.end(s) // a scalar has no header
	}
	if bare(args) {
		_ = s.core.leave()
	}
}

// Captured reports whether s is being captured by [Stream.Capture]: what it is given runs with the graph.
func (s *Stream) Captured() bool { return s.member() != nil }

// GraphKeeps is for a package that launches on a stream that is [Stream.Captured]: it calls keep, once for
// each key, and what that returns when the graph needs it no more. That must not wait.
func (s *Stream) GraphKeeps(key any, keep func() (letGo func())) {
	m := s.member()
	if m == nil {
		return
	}
	k := m.capture
	k.memory.mu.Lock()
	_, known := k.names.kept[key]
	k.memory.mu.Unlock()
	if known {
		return
	}
	letGo := keep()
	k.memory.mu.Lock()
	defer k.memory.mu.Unlock()
	if k.names.kept == nil {
		k.names.kept = make(map[any]func())
	}
	if _, known := k.names.kept[key]; known || k.over {
		go letGo()
		return
	}
	k.names.kept[key] = letGo
}

// Private reports whether the pool made s and has given its handle to nobody: s was not wrapped, and
// [Stream.Handle] was not called. Then nobody else can be capturing it, and a package that launches need not
// ask. The default stream of a device is everybody's all the same.
func (s *Stream) Private() bool { return !s.heap.line.exposed.Load() }

// LaunchHandle returns the device's handle of s for a package that launches with
// [Stream.Begin] and [Stream.End] and gives the handle to nobody else. Unlike
// [Stream.Handle] it does not make the pool reckon with captures by others.
func (s *Stream) LaunchHandle() uintptr { return s.heap.line.handle }
