//go:build cgo && linux

package cudadrv

// #include "shim_graph.h"
// #cgo nocallback lu_StreamBeginCapture
// #cgo noescape lu_StreamBeginCapture
// #cgo nocallback lu_StreamEndCapture
// #cgo noescape lu_StreamEndCapture
// #cgo nocallback lu_CaptureOwn
// #cgo noescape lu_CaptureOwn
// #cgo nocallback lu_GraphDestroy
// #cgo noescape lu_GraphDestroy
// #cgo nocallback lu_GraphInstantiate
// #cgo noescape lu_GraphInstantiate
// #cgo nocallback lu_GraphExecUpdate
// #cgo noescape lu_GraphExecUpdate
// #cgo nocallback lu_GraphExecDestroy
// #cgo noescape lu_GraphExecDestroy
// #cgo nocallback lu_GraphLaunch
// #cgo noescape lu_GraphLaunch
import "C"

// StreamBeginCapture begins a capture in one of the modes above.
func (c *Context) StreamBeginCapture(s uintptr, mode int) error {
	if r := C.lu_StreamBeginCapture(c.c, C.uintptr_t(s), C.int(mode)); r != 0 {
		return c.fail("cuStreamBeginCapture", Code(r))
	}
	return nil
}

// StreamEndCapture ends a capture, whatever it returns. The graph is 0 if there is an error.
func (c *Context) StreamEndCapture(s uintptr) (graph uintptr, err error) {
	o := C.lu_StreamEndCapture(c.c, C.uintptr_t(s))
	if o.r != 0 {
		return 0, c.fail("cuStreamEndCapture", Code(o.r))
	}
	return uintptr(o.v), nil
}

// CaptureOwn says whether a capture of the stream is the caller's own: while it is, launches, fills, copies
// within the device, MemcpyHtoDCaptured and MemcpyDtoHCaptured, events and waits are given to it.
func (c *Context) CaptureOwn(s uintptr, on bool) error {
	var own C.int
	if on {
		own = 1
	}
	if r := C.lu_CaptureOwn(C.uintptr_t(s), own); r != 0 {
		return c.fail("CaptureOwn", Code(r))
	}
	return nil
}

// GraphDestroy gives a graph back.
func (c *Context) GraphDestroy(graph uintptr) error {
	if r := C.lu_GraphDestroy(c.c, C.uintptr_t(graph)); r != 0 {
		return c.fail("cuGraphDestroy", Code(r))
	}
	return nil
}

// GraphInstantiate makes an executable of a graph.
func (c *Context) GraphInstantiate(graph uintptr) (exec uintptr, err error) {
	o := C.lu_GraphInstantiate(c.c, C.uintptr_t(graph))
	if o.r != 0 {
		return 0, c.fail("cuGraphInstantiateWithFlags", Code(o.r))
	}
	return uintptr(o.v), nil
}

// GraphExecUpdate makes an executable do what a graph says from its next launch on. It reports false if the
// two differ by too much for that; then nothing has changed.
func (c *Context) GraphExecUpdate(exec, graph uintptr) (bool, error) {
	r := Code(C.lu_GraphExecUpdate(c.c, C.uintptr_t(exec), C.uintptr_t(graph)))
	if r == 0 || r == CodeGraphUpdate {
		return r == 0, nil
	}
	return false, c.fail("cuGraphExecUpdate", r)
}

// GraphExecDestroy gives an executable back.
func (c *Context) GraphExecDestroy(exec uintptr) error {
	if r := C.lu_GraphExecDestroy(c.c, C.uintptr_t(exec)); r != 0 {
		return c.fail("cuGraphExecDestroy", Code(r))
	}
	return nil
}

// GraphLaunch enqueues an executable behind its earlier launches.
func (c *Context) GraphLaunch(exec, s uintptr) error {
	if r := C.lu_GraphLaunch(c.c, C.uintptr_t(exec), C.uintptr_t(s)); r != 0 {
		return c.fail("cuGraphLaunch", Code(r))
	}
	return nil
}
