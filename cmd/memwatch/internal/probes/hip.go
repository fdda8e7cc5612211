package probes

import h "github.com/lastuse/lastuse/cmd/memwatch/internal/heap"

// HIP's library. Its contexts are devices: the current one is what hipSetDevice
// says, and a reset ends what was made on it.
var hip = Library{
	Name:        "HIP",
	Files:       []string{"libamdhip64.so"},
	OutOfMemory: []int32{2},
	Probes: []Probe{
		{Symbol: "hipMalloc", Op: h.Alloc, Addr: out(0), Size: []Source{arg(1)}},
		{Symbol: "hipExtMallocWithFlags", Op: h.Alloc, Addr: out(0), Size: []Source{arg(1)}},
		{Symbol: "hipMallocManaged", Op: h.Alloc, Class: h.Managed, Addr: out(0), Size: []Source{arg(1)}},
		{Symbol: "hipMallocPitch", Op: h.Alloc, Addr: out(0), Size: []Source{out(1), arg(3)}},
		{Symbol: "hipMemAllocPitch", Op: h.Alloc, Addr: out(0), Size: []Source{out(1), arg(3)}},
		// The extent comes by value, on the stack: width, height, depth.
		{Symbol: "hipMalloc3D", Op: h.Alloc, Addr: out(0), Size: []Source{outAt(0, 8), arg(7), arg(8)}},
		{Symbol: "hipFree", Op: h.Free, Addr: arg(0)},
		{Symbol: "hipHostMalloc", Op: h.Alloc, Class: h.Pinned, Space: h.Host, Addr: out(0), Size: []Source{arg(1)}},
		{Symbol: "hipHostAlloc", Op: h.Alloc, Class: h.Pinned, Space: h.Host, Addr: out(0), Size: []Source{arg(1)}},
		{Symbol: "hipMallocHost", Op: h.Alloc, Class: h.Pinned, Space: h.Host, Addr: out(0), Size: []Source{arg(1)}},
		{Symbol: "hipMemAllocHost", Op: h.Alloc, Class: h.Pinned, Space: h.Host, Addr: out(0), Size: []Source{arg(1)}},
		{Symbol: "hipHostFree", Op: h.Free, Space: h.Host, Addr: arg(0)},
		{Symbol: "hipFreeHost", Op: h.Free, Space: h.Host, Addr: arg(0)},
		{Symbol: "hipHostRegister", Op: h.Alloc, Class: h.Registered, Space: h.Locked, Addr: arg(0), Size: []Source{arg(1)}},
		{Symbol: "hipHostUnregister", Op: h.Free, Space: h.Locked, Addr: arg(0)},

		{Symbol: "hipMallocAsync", Op: h.Alloc, Class: h.Pool, Addr: out(0), Size: []Source{arg(1)}, Stream: arg(2)},
		{Symbol: "hipMallocFromPoolAsync", Op: h.Alloc, Class: h.Pool, Addr: out(0), Size: []Source{arg(1)}, Pool: arg(2), Stream: arg(3)},
		{Symbol: "hipFreeAsync", Op: h.Free, Addr: arg(0), Stream: arg(1)},
		{Symbol: "hipMemPoolCreate", Op: h.PoolCreate, Class: h.Pool, Addr: out(0), location: cuLocation, where: structAt(1, 8, 8)},
		{Symbol: "hipMemPoolDestroy", Op: h.PoolDestroy, Addr: arg(0)},
		{Symbol: "hipMemPoolImportFromShareableHandle", Op: h.PoolCreate, Class: h.Imported, Addr: out(0)},
		{Symbol: "hipMemPoolImportPointer", Op: h.Alloc, Class: h.Imported, Addr: out(0)},
		{Symbol: "hipStreamBeginCapture", Op: h.CaptureBegin, Addr: arg(0)},
		{Symbol: "hipStreamEndCapture", Op: h.CaptureEnd, Addr: arg(0)},

		{Symbol: "hipMemCreate", Op: h.Create, Class: h.Physical, Addr: out(0), Size: []Source{arg(1)}, location: cuLocation, where: structAt(2, 8, 8)},
		{Symbol: "hipMemRelease", Op: h.Release, Addr: arg(0)},
		{Symbol: "hipMemMap", Op: h.Map, Addr: arg(0), Size: []Source{arg(1)}, Aux: arg(3)},
		{Symbol: "hipMemUnmap", Op: h.Unmap, Addr: arg(0), Size: []Source{arg(1)}},
		{Symbol: "hipMemAddressReserve", Op: h.Alloc, Class: h.Range, Space: h.Ranges, Owner: h.ByProcess, Addr: out(0), Size: []Source{arg(1)}},
		{Symbol: "hipMemAddressFree", Op: h.Free, Space: h.Ranges, Addr: arg(0)},
		{Symbol: "hipMemRetainAllocationHandle", Op: h.Retain, Aux: out(0), Addr: arg(1)},
		{Symbol: "hipMemImportFromShareableHandle", Op: h.Create, Class: h.Imported, Addr: out(0)},

		// hipChannelFormatDesc is {int x, y, z, w; int kind}: bits of each channel.
		{Symbol: "hipMallocArray", Op: h.Alloc, Class: h.Array, Space: h.Arrays, Addr: out(0), shape: hipBits, shapeOf: []Source{structAt(1, 0, 16), arg(2), arg(3)}},
		{Symbol: "hipMalloc3DArray", Op: h.Alloc, Class: h.Array, Space: h.Arrays, Addr: out(0), shape: hipBits, shapeOf: []Source{structAt(1, 0, 16), arg(6), arg(7), arg(8)}},
		{Symbol: "hipArrayCreate", Op: h.Alloc, Class: h.Array, Space: h.Arrays, Addr: out(0), shape: array, shapeOf: []Source{structAt(1, 0, 24)}},
		{Symbol: "hipArray3DCreate", Op: h.Alloc, Class: h.Array, Space: h.Arrays, Addr: out(0), shape: array3D, shapeOf: []Source{structAt(1, 0, 32)}},
		{Symbol: "hipFreeArray", Op: h.Free, Space: h.Arrays, Addr: arg(0)},
		{Symbol: "hipArrayDestroy", Op: h.Free, Space: h.Arrays, Addr: arg(0)},
		{Symbol: "hipMipmappedArrayCreate", Op: h.Alloc, Class: h.Array, Space: h.Mipmaps, Addr: out(0), shape: mipmaps, shapeOf: []Source{structAt(1, 0, 32), arg32(2)}},
		{Symbol: "hipMipmappedArrayDestroy", Op: h.Free, Space: h.Mipmaps, Addr: arg(0)},
		{Symbol: "hipFreeMipmappedArray", Op: h.Free, Space: h.Mipmaps, Addr: arg(0)},

		{Symbol: "hipIpcOpenMemHandle", Op: h.Alloc, Class: h.Imported, Addr: out(0)},
		{Symbol: "hipIpcCloseMemHandle", Op: h.Free, Addr: arg(0)},
		{Symbol: "hipImportExternalMemory", Op: h.Alloc, Class: h.Imported, Space: h.External, Addr: out(0), Size: []Source{in(1, 24)}},
		{Symbol: "hipDestroyExternalMemory", Op: h.Free, Space: h.External, Addr: arg(0)},

		{Symbol: "hipModuleLoad", Op: h.Alloc, Class: h.Code, Space: h.Modules, Addr: out(0)},
		{Symbol: "hipModuleLoadData", Op: h.Alloc, Class: h.Code, Space: h.Modules, Addr: out(0)},
		{Symbol: "hipModuleLoadDataEx", Op: h.Alloc, Class: h.Code, Space: h.Modules, Addr: out(0)},
		{Symbol: "hipModuleUnload", Op: h.Free, Space: h.Modules, Addr: arg(0)},

		{Symbol: "hipSetDevice", Op: h.CtxSet, Addr: arg32(0), plus: 1, Device: arg32(0)},
		{Symbol: "hipDeviceReset", Op: h.Reset},
		{Symbol: "hipDevicePrimaryCtxReset", Op: h.CtxDestroy, Addr: arg32(0), plus: 1},
	},
}
