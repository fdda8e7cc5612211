//go:build cgo && linux

package linear

// #cgo CFLAGS: -O2
// #cgo LDFLAGS: -ldl
// #include "cublas.h"
// #cgo noescape linear_cublas_dot
// #cgo nocallback linear_cublas_dot
// #cgo noescape linear_cublas_axpy
// #cgo nocallback linear_cublas_axpy
// #cgo noescape linear_cublas_scale
// #cgo nocallback linear_cublas_scale
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/cuda"
)

// A library is cuBLAS, opened, with a handle. A handle is for one goroutine at a time.
type library struct {
	gpu *cuda.Device
	l   *C.linear_cublas
}

// libraries are the names that cuBLAS goes by, the newest first.
var libraries = []string{"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so", "libcublas.so"}

// openLibrary opens the first cuBLAS that there is, and makes a handle on the device.
func openLibrary(gpu *cuda.Device, files []string) (*library, error) {
	if files == nil {
		files = libraries
	}
	var missing []error
	for _, name := range files {
		lib := &library{gpu: gpu}
		err := gpu.Do(func() error {
			path := C.CString(name)
			defer C.free(unsafe.Pointer(path))
			var why *C.char
			if lib.l = C.linear_cublas_open(path, &why); lib.l != nil {
				return nil
			}
			defer C.free(unsafe.Pointer(why))
			return errors.New(C.GoString(why))
		})
		if err == nil {
			return lib, nil
		}
		missing = append(missing, fmt.Errorf("%s: %w", name, err))
	}
	return nil, errors.Join(missing...)
}

func (l *library) close() {
	_ = l.gpu.Do(func() error {
		C.linear_cublas_close(l.l)
		return nil
	})
}

// said returns the error of a call.
func (l *library) said(call string, r C.int) error {
	if r == 0 {
		return nil
	}
	return fmt.Errorf("cuBLAS: %s: %s", call, C.GoString(C.linear_cublas_text(l.l, r)))
}

// The methods below are called inside Do. C enqueues and returns, which lastuse cannot see; and an address
// keeps nothing alive, so that the buffers are kept until then.

//lastuse:effect args borrowed
func (l *library) dot(s *alloc.Stream, work alloc.Buffer[byte], to, x, y alloc.Buffer[float32]) error {
	r := C.linear_cublas_dot(l.l, C.uintptr_t(s.Handle()), C.uintptr_t(work.Ptr(s)), C.size_t(work.Len()),
		C.int(x.Len()), C.uintptr_t(to.Ptr(s)), C.uintptr_t(x.Ptr(s)), C.uintptr_t(y.Ptr(s)))
	runtime.KeepAlive(work)
	runtime.KeepAlive(to)
	runtime.KeepAlive(x)
	runtime.KeepAlive(y)
	return l.said("cublasSdot", r)
}

//lastuse:effect args borrowed
func (l *library) add(s *alloc.Stream, y, a, x alloc.Buffer[float32]) error {
	r := C.linear_cublas_axpy(l.l, C.uintptr_t(s.Handle()), C.int(x.Len()), C.uintptr_t(y.Ptr(s)),
		C.uintptr_t(a.Ptr(s)), C.uintptr_t(x.Ptr(s)))
	runtime.KeepAlive(y)
	runtime.KeepAlive(a)
	runtime.KeepAlive(x)
	return l.said("cublasSaxpy", r)
}

//lastuse:effect args borrowed
func (l *library) scale(s *alloc.Stream, x, a alloc.Buffer[float32]) error {
	r := C.linear_cublas_scale(l.l, C.uintptr_t(s.Handle()), C.int(x.Len()), C.uintptr_t(x.Ptr(s)),
		C.uintptr_t(a.Ptr(s)))
	runtime.KeepAlive(x)
	runtime.KeepAlive(a)
	return l.said("cublasSscal", r)
}
