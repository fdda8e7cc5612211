package probes

import h "github.com/lastuse/lastuse/cmd/memwatch/internal/heap"

// OpenCL's loader, which programs of all vendors go through. Memory objects are
// counted; a context keeps its objects alive, so that its end ends nothing. A
// sub-buffer is a view without memory that is released like any object.
var openCL = Library{
	Name:        "OpenCL loader",
	Files:       []string{"libOpenCL.so"},
	OutOfMemory: []int32{-4, -5, -6},
	Probes: []Probe{
		{Symbol: "clCreateBuffer", Op: h.Alloc, Space: h.Objects, Owner: h.ByProcess, Result: Pointer, Addr: ret(), Size: []Source{arg(2)}, Code: out32(4)},
		{Symbol: "clCreateBufferWithProperties", Op: h.Alloc, Space: h.Objects, Owner: h.ByProcess, Result: Pointer, Addr: ret(), Size: []Source{arg(3)}, Code: out32(5)},
		{Symbol: "clCreateSubBuffer", Op: h.Alloc, Class: h.Imported, Space: h.Objects, Owner: h.ByProcess, Result: Pointer, Addr: ret(), Code: out32(4)},
		{Symbol: "clCreateImage", Op: h.Alloc, Class: h.Array, Space: h.Objects, Owner: h.ByProcess, Result: Pointer, Addr: ret(), shape: clImage, shapeOf: []Source{structAt(2, 0, 8), structAt(3, 0, 40)}, Code: out32(5)},
		{Symbol: "clCreateImageWithProperties", Op: h.Alloc, Class: h.Array, Space: h.Objects, Owner: h.ByProcess, Result: Pointer, Addr: ret(), shape: clImage, shapeOf: []Source{structAt(3, 0, 8), structAt(4, 0, 40)}, Code: out32(6)},
		{Symbol: "clCreateImage2D", Op: h.Alloc, Class: h.Array, Space: h.Objects, Owner: h.ByProcess, Result: Pointer, Addr: ret(), shape: clFlat, shapeOf: []Source{structAt(2, 0, 8), arg(3), arg(4)}, Code: out32(7)},
		{Symbol: "clCreateImage3D", Op: h.Alloc, Class: h.Array, Space: h.Objects, Owner: h.ByProcess, Result: Pointer, Addr: ret(), shape: clFlat, shapeOf: []Source{structAt(2, 0, 8), arg(3), arg(4), arg(5)}, Code: out32(9)},
		{Symbol: "clCreatePipe", Op: h.Alloc, Space: h.Objects, Owner: h.ByProcess, Result: Pointer, Addr: ret(), Size: []Source{arg32(2), arg32(3)}, Code: out32(5)},
		{Symbol: "clCreateFromGLBuffer", Op: h.Alloc, Class: h.Imported, Space: h.Objects, Owner: h.ByProcess, Result: Pointer, Addr: ret(), Code: out32(3)},
		{Symbol: "clCreateFromGLTexture", Op: h.Alloc, Class: h.Imported, Space: h.Objects, Owner: h.ByProcess, Result: Pointer, Addr: ret(), Code: out32(5)},
		{Symbol: "clCreateFromGLRenderbuffer", Op: h.Alloc, Class: h.Imported, Space: h.Objects, Owner: h.ByProcess, Result: Pointer, Addr: ret(), Code: out32(3)},
		{Symbol: "clRetainMemObject", Op: h.Ref, Space: h.Objects, Addr: arg(0)},
		{Symbol: "clReleaseMemObject", Op: h.Drop, Space: h.Objects, Addr: arg(0)},
		{Symbol: "clSVMAlloc", Op: h.Alloc, Class: h.Managed, Owner: h.ByProcess, Result: Pointer, Addr: ret(), Size: []Source{arg(2)}},
		{Symbol: "clSVMFree", Op: h.Free, Result: Void, Addr: arg(1)},
		// A number of pointers and their list.
		{Symbol: "clEnqueueSVMFree", Op: h.Free, Aux: arg32(1), list: structAt(2, 0, 48)},
	},
}
