//go:build cgo && linux

package cudadrv

// #cgo linux LDFLAGS: -ldl -lpthread
// #cgo CFLAGS: -O2 -Wall -Wextra -Wno-unused-parameter
// #include "shim_device.h"
// #cgo nocallback lu_Open
// #cgo noescape lu_Open
// #cgo nocallback lu_Missing
// #cgo noescape lu_Missing
// #cgo nocallback lu_Init
// #cgo noescape lu_Init
// #cgo nocallback lu_ErrorName
// #cgo noescape lu_ErrorName
// #cgo nocallback lu_ErrorString
// #cgo noescape lu_ErrorString
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// A Driver is an opened driver library. Its methods may be called by any goroutine at any time.
type Driver struct {
	table   C.uintptr_t
	version int
}

// Open opens the installed driver and initialises it. It may take a second.
func Open() (*Driver, error) { return OpenAt(Library) }

// OpenAt opens a driver library by its path; tests name their stand-in.
func OpenAt(path string) (*Driver, error) {
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	o := C.lu_Open(cpath)
	if o.why != nil {
		defer C.free(unsafe.Pointer(o.why))
		return nil, fmt.Errorf("cuda: open driver: %s: %w", C.GoString(o.why), ErrUnavailable)
	}
	d := &Driver{table: C.uintptr_t(o.table)}
	version := "of unknown version"
	if v, err := d.DriverGetVersion(); err == nil {
		d.version = v
		version = Version(v)
	}
	var missing []string
	for i := 0; ; i++ {
		s := C.lu_Missing(d.table, C.int(i))
		if s == nil {
			break
		}
		missing = append(missing, C.GoString(s))
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("cuda: open driver: %s: driver %s lacks %s: %w",
			path, version, strings.Join(missing, ", "), ErrUnavailable)
	}
	if d.version < MinVersion {
		return nil, fmt.Errorf("cuda: open driver: %s: driver %s is older than %s: %w",
			path, version, Version(MinVersion), ErrUnavailable)
	}
	if r := C.lu_Init(d.table); r != 0 {
		return nil, fmt.Errorf("%w: %w", d.fail("cuInit", Code(r)), ErrUnavailable)
	}
	return d, nil
}

// Version returns the driver's API version, 1000*major + 10*minor.
func (d *Driver) Version() int { return d.version }

// fail makes the error of a call. It is kept out of the wrappers, which inline, so that they show no
// allocation.
//
//go:noinline
func (d *Driver) fail(name call, code Code) error {
	return d.failLog(name, code, "")
}

func (d *Driver) failLog(name call, code Code, log string) error {
	e := &Error{Call: name, Code: code, Log: strings.TrimSpace(log)}
	if code >= 0 {
		e.Name = C.GoString(C.lu_ErrorName(d.table, C.int(code)))
		e.Text = C.GoString(C.lu_ErrorString(d.table, C.int(code)))
	}
	return e
}

//go:noinline
func (c *Context) fail(name call, code Code) error { return c.drv.fail(name, code) }

//go:noinline
func (c *Context) failLoad(code Code, log unsafe.Pointer) error {
	text := C.GoString((*C.char)(log))
	C.free(log)
	return c.drv.failLog("cuModuleLoadData", code, text)
}
