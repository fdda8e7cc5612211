package cuda

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

// A Global is a variable of a module, declared __device__ or __constant__: memory that the module owns, as
// elements of type T. Like a view it owns nothing; it keeps the module loaded for as long as it can be
// reached, and after Unload its methods fail with [ErrUnloaded]. It may be used on streams of any pool on the
// device.
type Global[T any] struct{ v variable }

// A variable is the untyped core of a Global.
type variable struct {
	module *Module
	name   string
	ptr    alloc.Ptr
	n      int // elements
}

// Global returns the module's variable of a name, as bytes. C++ compilers mangle the names of variables in
// namespaces; an expression for one, such as "&table<4>", may be among the Names of [CompileOptions].
//
//lastuse:effect result 0 views recv
func (m *Module) Global(name string) (Global[byte], error) { return GlobalOf[byte](m, name) }

// GlobalOf is [Module.Global] for elements of type T, which has no Go pointers. A variable whose size is no
// multiple of an element's is an error.
//
//lastuse:effect result 0 views arg m
func GlobalOf[T any](m *Module, name string) (Global[T], error) {
	ptr, n, err := m.global(name, int64(unsafe.Sizeof(*(*T)(nil))))
	if err != nil {
		return Global[T]{}, err
	}
	return Global[T]{variable{m, name, ptr, n}}, nil
}

// global returns a variable's address and how many elements of a size it has.
func (m *Module) global(name string, elem int64) (alloc.Ptr, int, error) {
	l := m.loaded
	if !l.enter() {
		return 0, 0, fmt.Errorf("cuda: global %s: %w", name, ErrUnloaded)
	}
	defer l.leave()
	in, ok := m.names[name]
	if !ok {
		in = name
	}
	p, size, err := l.b.ctx.ModuleGetGlobal(l.handle, in)
	if err != nil {
		return 0, 0, fmt.Errorf("cuda: global %s: %w", name, l.absent(err))
	}
	if elem == 0 || size%elem != 0 {
		return 0, 0, fmt.Errorf("cuda: global %s: it has %d bytes, an element %d: %w", name, size, elem,
			alloc.ErrSize)
	}
	return alloc.Ptr(p), int(size / elem), nil
}

// Len returns the number of elements.
//
//lastuse:effect recv borrowed
func (g Global[T]) Len() int { return g.v.n }

// Bytes returns the size in bytes.
//
//lastuse:effect recv borrowed
func (g Global[T]) Bytes() int64 { return int64(g.v.n) * int64(unsafe.Sizeof(*(*T)(nil))) }

// Ptr returns the variable's device address, for kernels and foreign code. It is good until the module is
// unloaded: keep g, as the address keeps nothing.
//
//lastuse:effect result 0 views recv
func (g Global[T]) Ptr() alloc.Ptr { return g.v.ptr }

// CopyFrom copies src to the first elements, in stream order on s. It returns when src may be changed: a
// graph copies what src holds when it is captured.
//
//lastuse:effect recv borrowed, arg src borrowed, arg s borrowed
func (g Global[T]) CopyFrom(s *alloc.Stream, src []T) error {
	return g.v.copy(s, refused[T](s), true, unsafe.Pointer(unsafe.SliceData(src)), len(src),
		unsafe.Sizeof(*(*T)(nil)))
}

// CopyTo copies the first elements to dst, as many as it has, in stream order on s, and returns when they are
// there.
//
//lastuse:effect recv borrowed, arg dst borrowed, arg s borrowed
func (g Global[T]) CopyTo(s *alloc.Stream, dst []T) error {
	return g.v.copy(s, refused[T](s), false, unsafe.Pointer(unsafe.SliceData(dst)), len(dst),
		unsafe.Sizeof(*(*T)(nil)))
}

// refused returns what a Make of nothing is refused for: a T with Go pointers, a stream that is not ready.
func refused[T any](s *alloc.Stream) error {
	b, err := alloc.Make[T](s, 0)
	b.Free()
	return err
}

// copy copies n elements between the variable and host memory, unless refused says why not.
func (v *variable) copy(s *alloc.Stream, refused error, in bool, host unsafe.Pointer, n int,
	elem uintptr) error {
	b, err := v.begin(s, refused, n)
	if err != nil {
		return fmt.Errorf("cuda: global %s: copy: %w", v.name, err)
	}
	defer v.end(s)
	size := int64(n) * int64(elem)
	switch {
	case size == 0:
		return nil
	case s.Captured() && in:
		return v.capture(b, s, host, size)
	case s.Captured():
		return fmt.Errorf("cuda: global %s: copy: it is there when the graph has run: copy behind its Launch: %w",
			v.name, alloc.ErrCapturing)
	case in:
		return b.CopyIn(s.LaunchHandle(), v.ptr, host, size)
	}
	return b.CopyOut(s.LaunchHandle(), host, v.ptr, size)
}

// capture has the graph that s is captured into copy n bytes as they are now, from page-locked memory that
// only the graph keeps.
func (v *variable) capture(b *base, s *alloc.Stream, host unsafe.Pointer, n int64) error {
	h, err := alloc.MakePinned[byte](s.Pool(), int(n))
	if err != nil {
		return fmt.Errorf("cuda: global %s: copy: %w", v.name, err)
	}
	defer h.Free()
	use, err := alloc.BeginPinned(s, h)
	if err != nil {
		return fmt.Errorf("cuda: global %s: copy: %w", v.name, err)
	}
	defer use.End()
	copy(h.Slice(), unsafe.Slice((*byte)(host), n))
	s.GraphKeeps(v.module.loaded, v.module.loaded.keep)
	return b.Transfer(s.LaunchHandle(), v.ptr, use.Ptr, n, true)
}

// begin keeps the module loaded, and s as it is, for work with n elements. If the error is nil, end must
// follow.
func (v *variable) begin(s *alloc.Stream, refused error, n int) (*base, error) {
	switch {
	case v.module == nil:
		return nil, fmt.Errorf("no variable: the zero Global: %w", ErrArguments)
	case refused != nil:
		return nil, refused
	case n > v.n:
		return nil, fmt.Errorf("%d elements of %d: %w", n, v.n, alloc.ErrSize)
	}
	l := v.module.loaded
	if b, err := device(s.Pool().Device()); err != nil || b != l.b {
		return nil, fmt.Errorf("it is on %s, the stream on %s: use one of its own device: %w", l.b.name,
			s.Pool().Device().Name(), alloc.ErrForeign)
	}
	if !l.enter() {
		return nil, ErrUnloaded
	}
	if _, err := s.Begin(nil); err != nil {
		l.leave()
		return nil, err
	}
	return l.b, nil
}

func (v *variable) end(s *alloc.Stream) {
	s.End()
	v.module.loaded.leave()
	runtime.KeepAlive(v.module)
}
