//go:build cgo && linux

package main

// #cgo CFLAGS: -O2
// #cgo LDFLAGS: -ldl
// #include "cublas.h"
// #cgo noescape cublas_multiply
// #cgo nocallback cublas_multiply
// #cgo noescape product
// #cgo nocallback product
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

const language = "a C function"

// A library is cuBLAS, opened, with a handle.
type library struct{ l *C.cublas }

// openLibrary opens cuBLAS by its file.
func openLibrary(path string) (*library, error) {
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	var why *C.char
	l := C.cublas_open(cpath, &why)
	if l == nil {
		defer C.free(unsafe.Pointer(why))
		return nil, fmt.Errorf("cuBLAS: %s: %s", path, C.GoString(why))
	}
	return &library{l}, nil
}

func (l *library) close() { C.cublas_close(l.l) }

// multiply enqueues c = a*b on s.
func (l *library) multiply(s *alloc.Stream, c, a, b alloc.Buffer[float32], n int) error {
	// The library uses the context that is current on its thread. Once a stream's handle is out, asking for an address
	// makes the device's context that, so both are done on one thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stream := s.Handle()
	r := C.cublas_multiply(l.l, C.uintptr_t(stream), C.int(n), C.uintptr_t(c.Ptr(s)), C.uintptr_t(a.Ptr(s)), C.uintptr_t(b.Ptr(s)))
	// An address keeps nothing alive. Had the last handle of a buffer died during the call, the net could have freed its
	// memory before the work on it was enqueued.
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	runtime.KeepAlive(c)
	if r != 0 {
		return fmt.Errorf("cuBLAS: cublasSgemm: %s", C.GoString(C.cublas_text(l.l, r)))
	}
	return nil
}

// product is c = a*b in this machine's memory, by C code.
func product(c, a, b []float32, n int) {
	p := func(x []float32) *C.float { return (*C.float)(unsafe.SliceData(x)) }
	C.product(p(c), p(a), p(b), C.long(n))
}
