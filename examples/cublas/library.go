//go:build cgo && linux

package main

// #cgo CFLAGS: -O2
// #cgo LDFLAGS: -ldl
// #include "cublas.h"
// #cgo noescape cublas_multiply
// #cgo nocallback cublas_multiply
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
	gpu *cuda.Device // nil: the library needs no context
	l   *C.cublas
}

// workspace is how many bytes cuBLAS may use beside the matrices: what it would allocate itself on Hopper,
// out of sight of the pool.
const workspace = 32 << 20

// openLibrary opens the first cuBLAS that there is, and makes a handle on the device.
func openLibrary(gpu *cuda.Device, names []string) (*library, error) {
	var missing []error
	for _, name := range names {
		lib := &library{gpu: gpu}
		err := lib.do(func() error {
			path := C.CString(name)
			defer C.free(unsafe.Pointer(path))
			var why *C.char
			if lib.l = C.cublas_open(path, &why); lib.l != nil {
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

// do calls f on a thread whose current context is the device's: the library works on whatever is current.
func (l *library) do(f func() error) error {
	if l.gpu == nil {
		return f()
	}
	return l.gpu.Do(f)
}

func (l *library) close() {
	_ = l.do(func() error {
		C.cublas_close(l.l)
		return nil
	})
}

// version returns the library's version.
func (l *library) version() string {
	v := int(C.cublas_version(l.l))
	return fmt.Sprintf("%d.%d.%d", v/10000, v/100%100, v%100)
}

// multiply enqueues c = a*b on s. The workspace is the pool's: it may be freed at once, as the work that uses
// it is enqueued on s alone.
func (l *library) multiply(s *alloc.Stream, c, a, b alloc.Buffer[float32], n int) error {
	work, err := alloc.Make[byte](s, workspace)
	if err != nil {
		return err
	}
	defer work.Free()
	err = l.do(func() error {
		r := C.cublas_multiply(l.l, C.uintptr_t(s.Handle()), C.uintptr_t(work.Ptr(s)), C.size_t(work.Len()), C.int(n),
			C.uintptr_t(c.Ptr(s)), C.uintptr_t(a.Ptr(s)), C.uintptr_t(b.Ptr(s)))
		if r != 0 {
			return fmt.Errorf("cuBLAS: cublasSgemm: %s", C.GoString(C.cublas_text(l.l, r)))
		}
		return nil
	})
	// An address keeps nothing alive. Had the last handle of a buffer died during the call, the net could
	// have freed its memory before the work on it was enqueued.
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	runtime.KeepAlive(c)
	return err
}
