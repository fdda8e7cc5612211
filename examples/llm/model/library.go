//go:build cgo && linux

package model

// #cgo CFLAGS: -O2
// #cgo LDFLAGS: -ldl
// #include "cublas.h"
// #cgo noescape llm_cublas_multiply
// #cgo nocallback llm_cublas_multiply
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
	l   *C.llm_cublas
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
		err := lib.do(func() error {
			path := C.CString(name)
			defer C.free(unsafe.Pointer(path))
			var why *C.char
			if lib.l = C.llm_cublas_open(path, &why); lib.l != nil {
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
		C.llm_cublas_close(l.l)
		return nil
	})
}

// version returns the library's version.
func (l *library) version() string {
	v := int(C.llm_cublas_version(l.l))
	return fmt.Sprintf("%d.%d.%d", v/10000, v/100%100, v%100)
}

// multiply enqueues y = w*x, or y += w*x, on s.
func (l *library) multiply(s *alloc.Stream, y, w, x alloc.View[Half], work alloc.View[byte], rows int,
	adding bool) error {
	return l.gemm(s, y.Ptr(s), false, adding, y.Len()/rows, w, x, work, rows, y)
}

// multiplyLogits enqueues y = w*x with results of 32 bits.
func (l *library) multiplyLogits(s *alloc.Stream, y alloc.View[float32], w, x alloc.View[Half],
	work alloc.View[byte], rows int) error {
	return l.gemm(s, y.Ptr(s), true, false, y.Len()/rows, w, x, work, rows, y)
}

// gemm makes the call. What owns the memory at the address y is kept until then, as all else is: an address
// keeps nothing.
func (l *library) gemm(s *alloc.Stream, y alloc.Ptr, wide, adding bool, outputs int, w, x alloc.View[Half],
	work alloc.View[byte], rows int, keep any) error {
	err := l.do(func() error {
		r := C.llm_cublas_multiply(l.l, C.uintptr_t(s.Handle()), C.uintptr_t(work.Ptr(s)), C.size_t(work.Len()),
			C.int(rows), C.int(x.Len()/rows), C.int(outputs), C.uintptr_t(y), C.uintptr_t(w.Ptr(s)),
			C.uintptr_t(x.Ptr(s)), C.bool(wide), C.bool(adding))
		if r != 0 {
			return fmt.Errorf("cuBLAS: cublasGemmEx: %s", C.GoString(C.llm_cublas_text(l.l, r)))
		}
		return nil
	})
	runtime.KeepAlive(keep)
	runtime.KeepAlive(w)
	runtime.KeepAlive(x)
	runtime.KeepAlive(work)
	return err
}
