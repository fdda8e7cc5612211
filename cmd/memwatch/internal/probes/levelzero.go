package probes

import h "github.com/lastuse/lastuse/cmd/memwatch/internal/heap"

// Level Zero's loader. Every call names its context.
var levelZero = Library{
	Name:        "Level Zero loader",
	Files:       []string{"libze_loader.so"},
	OutOfMemory: []int32{0x70000002, 0x70000003},
	Probes: []Probe{
		{Symbol: "zeMemAllocDevice", Op: h.Alloc, Addr: out(5), Size: []Source{arg(2)}, Ctx: arg(0)},
		{Symbol: "zeMemAllocHost", Op: h.Alloc, Class: h.Pinned, Addr: out(4), Size: []Source{arg(2)}, Ctx: arg(0)},
		{Symbol: "zeMemAllocShared", Op: h.Alloc, Class: h.Managed, Addr: out(6), Size: []Source{arg(3)}, Ctx: arg(0)},
		{Symbol: "zeMemFree", Op: h.Free, Addr: arg(1)},
		{Symbol: "zeMemFreeExt", Op: h.Free, Addr: arg(2)},
		{Symbol: "zePhysicalMemCreate", Op: h.Create, Class: h.Physical, Addr: out(3), Size: []Source{in(2, 24)}, Ctx: arg(0)},
		{Symbol: "zePhysicalMemDestroy", Op: h.Release, Addr: arg(1)},
		{Symbol: "zeVirtualMemReserve", Op: h.Alloc, Class: h.Range, Space: h.Ranges, Addr: out(3), Size: []Source{arg(2)}, Ctx: arg(0)},
		{Symbol: "zeVirtualMemFree", Op: h.Free, Space: h.Ranges, Addr: arg(1)},
		{Symbol: "zeVirtualMemMap", Op: h.Map, Addr: arg(1), Size: []Source{arg(2)}, Aux: arg(3)},
		{Symbol: "zeVirtualMemUnmap", Op: h.Unmap, Addr: arg(1), Size: []Source{arg(2)}},
		// The handle comes by value, on the stack, and takes no register.
		{Symbol: "zeMemOpenIpcHandle", Op: h.Alloc, Class: h.Imported, Addr: out(3), Ctx: arg(0)},
		{Symbol: "zeMemCloseIpcHandle", Op: h.Free, Addr: arg(1)},
		{Symbol: "zeImageCreate", Op: h.Alloc, Class: h.Array, Space: h.Arrays, Addr: out(3), Ctx: arg(0), shape: zeImage, shapeOf: []Source{structAt(2, 24, 4), structAt(2, 48, 20)}},
		{Symbol: "zeImageDestroy", Op: h.Free, Space: h.Arrays, Addr: arg(0)},
		{Symbol: "zeModuleCreate", Op: h.Alloc, Class: h.Code, Space: h.Modules, Addr: out(3), Ctx: arg(0)},
		{Symbol: "zeModuleDestroy", Op: h.Free, Space: h.Modules, Addr: arg(0)},
		{Symbol: "zeContextDestroy", Op: h.CtxDestroy, Addr: arg(0)},
	},
}
