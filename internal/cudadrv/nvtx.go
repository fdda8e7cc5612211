//go:build cgo && linux

package cudadrv

// #include "nvtx.h"
// #include <stdlib.h>
// #cgo nocallback lu_ranges_Open
// #cgo noescape lu_ranges_Open
// #cgo nocallback lu_ranges_Start
// #cgo noescape lu_ranges_Start
// #cgo nocallback lu_ranges_End
// #cgo noescape lu_ranges_End
import "C"

import "unsafe"

// Ranges is the opened library that tells profilers of ranges. Its methods may be called by any goroutine at
// any time.
type Ranges struct{ t *C.lu_ranges }

// OpenRanges opens the first of some libraries that there is, or returns nil.
func OpenRanges(paths ...string) *Ranges {
	for _, path := range paths {
		cpath := C.CString(path)
		t := C.lu_ranges_Open(cpath)
		C.free(unsafe.Pointer(cpath))
		if t != nil {
			return &Ranges{t}
		}
	}
	return nil
}

// Start begins a range and returns what ends it. Ranges are the process's and may end on another thread. Of a
// long name the first 255 bytes count.
func (r *Ranges) Start(name string) uint64 {
	return uint64(C.lu_ranges_Start(r.t, (*C.char)(unsafe.Pointer(unsafe.StringData(name))), C.size_t(len(name))))
}

// End ends a range.
func (r *Ranges) End(id uint64) { C.lu_ranges_End(r.t, C.uint64_t(id)) }
