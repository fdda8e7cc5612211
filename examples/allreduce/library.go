//go:build cgo && linux

package main

// #cgo CFLAGS: -O2
// #cgo LDFLAGS: -ldl
// #include "nccl.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// A library is NCCL, opened, with a communicator on each rank's device.
type library struct {
	ranks []rank
	l     *C.nccl
}

// openLibrary opens the first NCCL that there is, and makes the communicators.
func openLibrary(ranks []rank, names []string) (*library, error) {
	var missing []error
	for _, name := range names {
		path := C.CString(name)
		var why *C.char
		l := C.nccl_open(path, C.int(len(ranks)), &why)
		C.free(unsafe.Pointer(path))
		if l != nil {
			lib := &library{ranks, l}
			if err := lib.each("ncclCommInitRank", func(i int) C.int { return C.nccl_init(l, C.int(i)) }); err != nil {
				lib.close()
				return nil, err
			}
			return lib, nil
		}
		missing = append(missing, fmt.Errorf("%s: %s", name, C.GoString(why)))
		C.free(unsafe.Pointer(why))
	}
	return nil, errors.Join(missing...)
}

// each calls f for every rank with that rank's context current, as one group: NCCL begins when all have been
// told, since each waits for the others. The outer Do keeps the goroutine on one thread, whose group it is.
func (l *library) each(call string, f func(i int) C.int) error {
	return l.ranks[0].gpu.Do(func() error {
		if r := C.nccl_start(l.l); r != 0 {
			return l.failed("ncclGroupStart", r)
		}
		err := l.inTurn(call, f)
		if r := C.nccl_end(l.l); r != 0 && err == nil { // whatever was said: the thread's group has to end
			err = l.failed(call, r)
		}
		return err
	})
}

// inTurn calls f for every rank with that rank's context current.
func (l *library) inTurn(call string, f func(i int) C.int) error {
	for i, r := range l.ranks {
		err := r.gpu.Do(func() error {
			if r := f(i); r != 0 {
				return l.failed(call, r)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *library) failed(call string, r C.int) error {
	return fmt.Errorf("%s: %s: %s", call, C.GoString(C.nccl_text(l.l, r)), C.GoString(C.nccl_last(l.l)))
}

// sum enqueues the sum on each part's stream.
func (l *library) sum(parts []part) error {
	err := l.each("ncclAllReduce", func(i int) C.int {
		p := parts[i]
		return C.nccl_sum(l.l, C.int(i), C.uintptr_t(p.s.Handle()), C.uintptr_t(p.total.Ptr(p.s)),
			C.uintptr_t(p.mine.Ptr(p.s)), C.size_t(p.mine.Len()))
	})
	runtime.KeepAlive(parts) // the group's end has enqueued it: an address keeps nothing alive
	return err
}

// version returns the library's version.
func (l *library) version() string {
	var text [32]C.char
	C.nccl_number(l.l.version, &text[0], C.size_t(len(text)))
	return C.GoString(&text[0])
}

func (l *library) close() {
	_ = l.inTurn("ncclCommDestroy", func(i int) C.int { return C.nccl_destroy(l.l, C.int(i)) })
	C.nccl_free(l.l)
}
