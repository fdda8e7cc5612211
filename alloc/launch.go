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

// An Arg is an argument of a launch: a buffer, a view or a scalar.
type Arg struct {
	part
	size int64 // bytes
	typ  reflect.Type

	scalar bool
	inline [2]uint64
	boxed  unsafe.Pointer
}

// Scalar returns x as an argument of a launch. The value is copied now. T must be free
// of Go pointers, or the launch fails with [ErrType].
func Scalar[T any](x T) Arg {
	a := Arg{part: part{n: 1}, size: int64(unsafe.Sizeof(x)), typ: reflect.TypeFor[T](), scalar: true}
	if unsafe.Sizeof(x) <= unsafe.Sizeof(a.inline) {
		if flat(a.typ) || pointerIn(a.typ) == "" {
			*(*T)(unsafe.Pointer(&a.inline)) = x
		}
	} else {
		boxed := new(T)
		*boxed = x
		a.boxed = unsafe.Pointer(boxed)
	}
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
// params has room.
func (s *Stream) Begin(params []Param, args ...Arg) ([]Param, error) {
	if err := s.ready(); err != nil {
		return nil, fmt.Errorf("alloc: launch: %w", err)
	}
	for i := range args {
		a := &args[i]
		p := Param{Len: a.n, Size: a.size, Type: a.typ, scalar: a.scalar}
		var err error
		if a.scalar {
			p.inline, p.boxed = a.inline, a.boxed
			err = s.core.checkFlat(a.typ)
		} else {
			p.Ptr, err = a.resolve(s, "launch")
		}
		if err != nil {
			s.End(args[:i]...)
			return nil, fmt.Errorf("alloc: launch: argument %d: %w", i, err)
		}
		params = append(params, p)
	}
	return params, nil
}

// End unpins what [Stream.Begin] pinned for the same arguments. The work is enqueued, or
// will not be.
func (s *Stream) End(args ...Arg) {
	for i := range args {
		if !args[i].scalar {
			args[i].end()
		}
	}
}

// LaunchHandle returns the device's handle of s for a package that launches with
// [Stream.Begin] and [Stream.End] and gives the handle to nobody else. Unlike
// [Stream.Handle] it does not make the pool reckon with captures by others.
func (s *Stream) LaunchHandle() uintptr { return s.lane.handle }
