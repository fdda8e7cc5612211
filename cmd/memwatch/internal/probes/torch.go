package probes

import h "github.com/lastuse/lastuse/cmd/memwatch/internal/heap"

// PyTorch's caching allocators ask the driver for segments and hand out blocks of these. What they do on a
// device they tell PyTorch's profiler, by a function of another library than theirs, whether it runs or not:
// under the allocator's lock, so that no block is told of before the one that was there has gone. Before
// version 2.0 totals had a sign.
var torch = Library{
	Name:  "PyTorch allocator",
	Files: []string{"libc10.so"},
	Above: true,
	Probes: []Probe{
		told("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"),
		told("_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"),
	},
}

// told is the probe of such a function: address, bytes with a sign, two totals, and the device, which is two
// bytes by value, its kind and its number.
func told(symbol string) Probe {
	return Probe{
		Symbol: symbol, Op: h.Alloc, Class: h.Block, Space: h.Blocks, Owner: h.ByProcess, Result: Void,
		Addr: arg(0), Size: []Source{arg(1)}, signed: true, on: arg(4),
	}
}
