//go:build cgo && linux

package cudadrv

// #include "nvrtc.h"
// #include <stdlib.h>
// #cgo nocallback calloc
// #cgo noescape calloc
// #cgo nocallback lu_rtc_Open
// #cgo noescape lu_rtc_Open
// #cgo nocallback lu_rtc_ErrorString
// #cgo noescape lu_rtc_ErrorString
// #cgo nocallback lu_rtc_Compile
// #cgo noescape lu_rtc_Compile
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// A Compiler is an opened NVRTC library. Its methods may be called by any goroutine at any time.
type Compiler struct {
	rtc          *C.lu_rtc
	Major, Minor int
}

// OpenCompiler opens the first of some libraries that there is.
func OpenCompiler(paths ...string) (*Compiler, error) {
	var why []string
	for _, path := range paths {
		cpath := C.CString(path)
		o := C.lu_rtc_Open(cpath)
		C.free(unsafe.Pointer(cpath))
		if o.rtc != nil {
			return &Compiler{o.rtc, int(o.major), int(o.minor)}, nil
		}
		why = append(why, C.GoString(o.why))
		C.free(unsafe.Pointer(o.why))
	}
	return nil, fmt.Errorf("cuda: open NVRTC: %s: %w", strings.Join(why, "; "), ErrUnavailable)
}

// Compile compiles CUDA C into a cubin.
func (c *Compiler) Compile(s Source) (image []byte, lowered []string, err error) {
	var all texts
	defer all.free()
	src := C.lu_source{text: all.one(s.Text), name: all.one(s.Name)}
	src.headers, src.header_texts = C.int(len(s.Headers)), all.list(s.Headers)
	src.header_names = all.list(s.HeaderNames)
	src.options, src.option_texts = C.int(len(s.Options)), all.list(s.Options)
	src.names, src.name_texts = C.int(len(s.Names)), all.list(s.Names)
	if all.err != nil {
		return nil, nil, all.err
	}

	o := C.lu_rtc_Compile(c.rtc, &src)
	runtime.KeepAlive(&all)
	defer C.free(unsafe.Pointer(o.image))
	defer C.free(unsafe.Pointer(o.log))
	defer C.free(unsafe.Pointer(o.lowered))
	if o.r != 0 {
		e := &Error{Call: C.GoString(o.call), Name: C.GoString(C.lu_rtc_ErrorString(c.rtc, o.r))}
		if e.Call == "nvrtcGetLoweredName" {
			e.Name += fmt.Sprintf(": %q of Names is no kernel or variable of the source", s.Names[o.at])
		}
		if o.log != nil {
			e.Log = strings.TrimSpace(C.GoString(o.log))
		}
		return nil, nil, e
	}
	at := unsafe.Pointer(o.lowered) // C memory, a name and a zero for each of s.Names
	for range s.Names {
		name := C.GoString((*C.char)(at))
		lowered = append(lowered, name)
		at = unsafe.Add(at, len(name)+1)
	}
	return C.GoBytes(unsafe.Pointer(o.image), C.int(o.size)), lowered, nil
}

// texts are copies of Go strings in C memory.
type texts struct {
	all []unsafe.Pointer
	err error // of one that C would take for shorter than it is
}

func (s *texts) one(x string) *C.char {
	if i := strings.IndexByte(x, 0); i >= 0 && s.err == nil {
		s.err = fmt.Errorf("cuda: compile: byte %d of %.40q is zero, where C ends a text: remove it", i, x)
	}
	p := C.CString(x)
	s.all = append(s.all, unsafe.Pointer(p))
	return p
}

// list returns an array of strings, which is C memory too: C keeps Go's rule for pointers so.
func (s *texts) list(xs []string) **C.char {
	p := C.calloc(C.size_t(len(xs)+1), C.size_t(unsafe.Sizeof(uintptr(0))))
	s.all = append(s.all, p)
	for i, x := range xs {
		unsafe.Slice((**C.char)(p), len(xs))[i] = s.one(x)
	}
	return (**C.char)(p)
}

func (s *texts) free() {
	for _, p := range s.all {
		C.free(p)
	}
}
