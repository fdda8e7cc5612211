package probes

import h "github.com/lastuse/lastuse/cmd/memwatch/internal/heap"

// The CUDA driver's library. Functions without a suffix are those of the interface
// before 3.2, whose pointers and sizes have 32 bits; libraries still ask for them.
// Names that end in _ptsz use a stream of each thread for stream 0.
//
// Pools outlive contexts, and so does what came from them and physical memory; a
// reset of the device ends the former.
var cuda = Library{
	Name:        "CUDA driver",
	Files:       []string{"libcuda.so"},
	OutOfMemory: []int32{2},
	Probes: []Probe{
		// Linear memory.
		{Symbol: "cuMemAlloc_v2", Op: h.Alloc, Addr: out(0), Size: []Source{arg(1)}},
		{Symbol: "cuMemAlloc", Op: h.Alloc, Addr: out32(0), Size: []Source{arg32(1)}},
		{Symbol: "cuMemAllocPitch_v2", Op: h.Alloc, Addr: out(0), Size: []Source{out(1), arg(3)}},
		{Symbol: "cuMemAllocPitch", Op: h.Alloc, Addr: out32(0), Size: []Source{out32(1), arg32(3)}},
		{Symbol: "cuMemAllocManaged", Op: h.Alloc, Class: h.Managed, Addr: out(0), Size: []Source{arg(1)}},
		{Symbol: "cuMemFree_v2", Op: h.Free, Addr: arg(0)},
		{Symbol: "cuMemFree", Op: h.Free, Addr: arg32(0)},

		// Pinned and registered host memory.
		{Symbol: "cuMemHostAlloc", Op: h.Alloc, Class: h.Pinned, Space: h.Host, Addr: out(0), Size: []Source{arg(1)}},
		{Symbol: "cuMemAllocHost_v2", Op: h.Alloc, Class: h.Pinned, Space: h.Host, Addr: out(0), Size: []Source{arg(1)}},
		{Symbol: "cuMemAllocHost", Op: h.Alloc, Class: h.Pinned, Space: h.Host, Addr: out(0), Size: []Source{arg32(1)}},
		{Symbol: "cuMemFreeHost", Op: h.Free, Space: h.Host, Addr: arg(0)},
		{Symbol: "cuMemHostRegister_v2", Op: h.Alloc, Class: h.Registered, Space: h.Locked, Addr: arg(0), Size: []Source{arg(1)}},
		{Symbol: "cuMemHostRegister", Op: h.Alloc, Class: h.Registered, Space: h.Locked, Addr: arg(0), Size: []Source{arg(1)}},
		{Symbol: "cuMemHostUnregister", Op: h.Free, Space: h.Locked, Addr: arg(0)},

		// Stream order and pools.
		{Symbol: "cuMemAllocAsync", Op: h.Alloc, Class: h.Pool, Owner: h.ByDevice, Addr: out(0), Size: []Source{arg(1)}, Stream: arg(2)},
		{Symbol: "cuMemAllocAsync_ptsz", Op: h.Alloc, Class: h.Pool, Owner: h.ByDevice, Addr: out(0), Size: []Source{arg(1)}, Stream: arg(2)},
		{Symbol: "cuMemAllocFromPoolAsync", Op: h.Alloc, Class: h.Pool, Owner: h.ByDevice, Addr: out(0), Size: []Source{arg(1)}, Pool: arg(2), Stream: arg(3)},
		{Symbol: "cuMemAllocFromPoolAsync_ptsz", Op: h.Alloc, Class: h.Pool, Owner: h.ByDevice, Addr: out(0), Size: []Source{arg(1)}, Pool: arg(2), Stream: arg(3)},
		{Symbol: "cuMemFreeAsync", Op: h.Free, Addr: arg(0), Stream: arg(1)},
		{Symbol: "cuMemFreeAsync_ptsz", Op: h.Free, Addr: arg(0), Stream: arg(1)},
		{Symbol: "cuMemPoolCreate", Op: h.PoolCreate, Class: h.Pool, Addr: out(0), location: cuLocation, where: structAt(1, 8, 8)},
		{Symbol: "cuMemPoolDestroy", Op: h.PoolDestroy, Addr: arg(0)}, // what came from it stays
		{Symbol: "cuMemPoolImportFromShareableHandle", Op: h.PoolCreate, Class: h.Imported, Addr: out(0)},
		{Symbol: "cuMemPoolImportPointer", Op: h.Alloc, Class: h.Imported, Owner: h.ByDevice, Addr: out(0)},
		{Symbol: "cuStreamBeginCapture", Op: h.CaptureBegin, Addr: arg(0)},
		{Symbol: "cuStreamBeginCapture_ptsz", Op: h.CaptureBegin, Addr: arg(0)},
		{Symbol: "cuStreamBeginCapture_v2", Op: h.CaptureBegin, Addr: arg(0)},
		{Symbol: "cuStreamBeginCapture_v2_ptsz", Op: h.CaptureBegin, Addr: arg(0)},
		{Symbol: "cuStreamBeginCaptureToGraph", Op: h.CaptureBegin, Addr: arg(0)},
		{Symbol: "cuStreamBeginCaptureToGraph_ptsz", Op: h.CaptureBegin, Addr: arg(0)},
		{Symbol: "cuStreamEndCapture", Op: h.CaptureEnd, Addr: arg(0)},
		{Symbol: "cuStreamEndCapture_ptsz", Op: h.CaptureEnd, Addr: arg(0)},

		// Virtual memory management.
		{Symbol: "cuMemCreate", Op: h.Create, Class: h.Physical, Addr: out(0), Size: []Source{arg(1)}, location: cuLocation, where: structAt(2, 8, 8)},
		{Symbol: "cuMemRelease", Op: h.Release, Addr: arg(0)},
		{Symbol: "cuMemMap", Op: h.Map, Addr: arg(0), Size: []Source{arg(1)}, Aux: arg(3)},
		{Symbol: "cuMemUnmap", Op: h.Unmap, Addr: arg(0), Size: []Source{arg(1)}},
		{Symbol: "cuMemAddressReserve", Op: h.Alloc, Class: h.Range, Space: h.Ranges, Owner: h.ByProcess, Addr: out(0), Size: []Source{arg(1)}},
		{Symbol: "cuMemAddressFree", Op: h.Free, Space: h.Ranges, Addr: arg(0)},
		{Symbol: "cuMemRetainAllocationHandle", Op: h.Retain, Aux: out(0), Addr: arg(1)},
		{Symbol: "cuMemImportFromShareableHandle", Op: h.Create, Class: h.Imported, Addr: out(0)},
		{Symbol: "cuMulticastCreate", Op: h.Create, Class: h.Imported, Addr: out(0), Size: []Source{in(1, 8)}},

		// Arrays.
		{Symbol: "cuArrayCreate_v2", Op: h.Alloc, Class: h.Array, Space: h.Arrays, Addr: out(0), shape: array, shapeOf: []Source{structAt(1, 0, 24)}},
		{Symbol: "cuArrayCreate", Op: h.Alloc, Class: h.Array, Space: h.Arrays, Addr: out(0), shape: array1, shapeOf: []Source{structAt(1, 0, 16)}},
		{Symbol: "cuArray3DCreate_v2", Op: h.Alloc, Class: h.Array, Space: h.Arrays, Addr: out(0), shape: array3D, shapeOf: []Source{structAt(1, 0, 32)}},
		{Symbol: "cuArray3DCreate", Op: h.Alloc, Class: h.Array, Space: h.Arrays, Addr: out(0), shape: array3D1, shapeOf: []Source{structAt(1, 0, 24)}},
		{Symbol: "cuArrayDestroy", Op: h.Free, Space: h.Arrays, Addr: arg(0)},
		{Symbol: "cuMipmappedArrayCreate", Op: h.Alloc, Class: h.Array, Space: h.Mipmaps, Addr: out(0), shape: mipmaps, shapeOf: []Source{structAt(1, 0, 32), arg32(2)}},
		{Symbol: "cuMipmappedArrayDestroy", Op: h.Free, Space: h.Mipmaps, Addr: arg(0)},

		// Memory of others.
		{Symbol: "cuIpcOpenMemHandle", Op: h.Alloc, Class: h.Imported, Addr: out(0)},
		{Symbol: "cuIpcOpenMemHandle_v2", Op: h.Alloc, Class: h.Imported, Addr: out(0)},
		{Symbol: "cuIpcCloseMemHandle", Op: h.Free, Addr: arg(0)},
		{Symbol: "cuImportExternalMemory", Op: h.Alloc, Class: h.Imported, Space: h.External, Addr: out(0), Size: []Source{in(1, 24)}},
		{Symbol: "cuExternalMemoryGetMappedBuffer", Op: h.Alloc, Class: h.Imported, Addr: out(0)},
		{Symbol: "cuExternalMemoryGetMappedMipmappedArray", Op: h.Alloc, Class: h.Imported, Space: h.Mipmaps, Addr: out(0)},
		{Symbol: "cuDestroyExternalMemory", Op: h.Free, Space: h.External, Addr: arg(0)},

		// Code. Its size is no argument, and much of it is loaded later.
		{Symbol: "cuModuleLoad", Op: h.Alloc, Class: h.Code, Space: h.Modules, Addr: out(0)},
		{Symbol: "cuModuleLoadData", Op: h.Alloc, Class: h.Code, Space: h.Modules, Addr: out(0)},
		{Symbol: "cuModuleLoadDataEx", Op: h.Alloc, Class: h.Code, Space: h.Modules, Addr: out(0)},
		{Symbol: "cuModuleLoadFatBinary", Op: h.Alloc, Class: h.Code, Space: h.Modules, Addr: out(0)},
		{Symbol: "cuModuleUnload", Op: h.Free, Space: h.Modules, Addr: arg(0)},
		{Symbol: "cuLibraryLoadData", Op: h.Alloc, Class: h.Code, Space: h.Libraries, Owner: h.ByProcess, Addr: out(0)},
		{Symbol: "cuLibraryLoadFromFile", Op: h.Alloc, Class: h.Code, Space: h.Libraries, Owner: h.ByProcess, Addr: out(0)},
		{Symbol: "cuLibraryUnload", Op: h.Free, Space: h.Libraries, Addr: arg(0)},

		// Graphs. A node's address is fixed when it is made; the graph owns it.
		{Symbol: "cuGraphAddMemAllocNode", Op: h.Alloc, Class: h.Graph, Addr: outAt(4, 112), Size: []Source{in(4, 104)}, Ctx: arg(1)},
		{Symbol: "cuGraphDestroy", Op: h.CtxDestroy, Addr: arg(0)},

		// Contexts, and what ends with them.
		{Symbol: "cuCtxCreate", Op: h.CtxCreate, Addr: out(0), Device: arg32(2)},
		{Symbol: "cuCtxCreate_v2", Op: h.CtxCreate, Addr: out(0), Device: arg32(2)},
		{Symbol: "cuCtxCreate_v3", Op: h.CtxCreate, Addr: out(0), Device: arg32(4)},
		{Symbol: "cuCtxCreate_v4", Op: h.CtxCreate, Addr: out(0), Device: arg32(3)},
		{Symbol: "cuCtxSetCurrent", Op: h.CtxSet, Addr: arg(0)},
		{Symbol: "cuCtxPushCurrent", Op: h.CtxPush, Addr: arg(0)},
		{Symbol: "cuCtxPushCurrent_v2", Op: h.CtxPush, Addr: arg(0)},
		{Symbol: "cuCtxPopCurrent", Op: h.CtxPop},
		{Symbol: "cuCtxPopCurrent_v2", Op: h.CtxPop},
		{Symbol: "cuCtxDestroy", Op: h.CtxDestroy, Addr: arg(0)},
		{Symbol: "cuCtxDestroy_v2", Op: h.CtxDestroy, Addr: arg(0)},
		{Symbol: "cuCtxDetach", Op: h.CtxDestroy, Addr: arg(0)},
		{Symbol: "cuDevicePrimaryCtxRetain", Op: h.Primary, Addr: out(0), Device: arg32(1)},
		{Symbol: "cuDevicePrimaryCtxRelease", Op: h.Unprimary, Device: arg32(0)},
		{Symbol: "cuDevicePrimaryCtxRelease_v2", Op: h.Unprimary, Device: arg32(0)},
		{Symbol: "cuDevicePrimaryCtxReset", Op: h.Reset, Device: arg32(0)},
		{Symbol: "cuDevicePrimaryCtxReset_v2", Op: h.Reset, Device: arg32(0)},
	},
}
