#!/usr/bin/env python3
"""Replay traces of allocations on PyTorch's caching allocator, from a C++ loop.

It prints lines that benchstat reads, those that bench/replay prints of lastuse. A limit is how many times a trace's own
peak is left free on the device, for a run that ends at the first failure; all else is taken by an allocation of the driver's.

usage: torch_replay.py [--backend native|expandable|async] [--count 10] [--limits 1,1.05,1.1,1.25] TRACE...
"""
import argparse
import ctypes
import sys

import torch_loop
import trace_text

GRANULE = 2 << 20


class Ballast:
    """Takes memory of the device so that only so much is free."""

    def __init__(self, torch, free):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        has, _ = torch.cuda.mem_get_info()
        rest = (has - free) // GRANULE * GRANULE
        if rest <= 0:
            raise MemoryError(f"the device has {has} bytes free: fewer than the limit of {free}")
        self.p = ctypes.c_uint64()
        code = self.cuda.cuMemAlloc_v2(ctypes.byref(self.p), ctypes.c_size_t(rest))
        if code:
            raise MemoryError(f"cuMemAlloc of all but the limit: error {code}")

    def drop(self):
        code = self.cuda.cuMemFree_v2(self.p)
        if code:
            raise RuntimeError(f"cuMemFree: error {code}")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--backend", choices=list(torch_loop.BACKENDS), default="native")
    args.add_argument("--count", type=int, default=10)
    args.add_argument("--limits", default="1,1.05,1.1,1.25")
    args.add_argument("traces", nargs="+")
    args = args.parse_args()
    torch, loops = torch_loop.load(args.backend, "torch_replay.py")
    pool = f"torch-{args.backend}"

    def empty():
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()

    for name in args.traces:
        title = trace_text.title(name)
        places, streams, sizes, count, peak = trace_text.steps(name)
        n = len(places)
        todo = [torch.tensor(x, dtype=torch.int64) for x in (places, streams, sizes)] + [count, max(streams) + 1]
        loops.replay(*todo)  # makes the streams
        for _ in range(args.count):
            empty()
            cold, done = loops.replay(*todo)
            reserved = torch.cuda.memory_stats()["reserved_bytes.all.peak"]
            warm, _ = loops.replay(*todo)
            print(f"BenchmarkTrace/trace={title}/pool={pool} 1 {warm / n:.1f} ns/event {cold / n:.1f} cold-ns/event {reserved} reserved-B "
                  f"{peak} requested-B {done} events {int(done < n)} failures", flush=True)
        for limit in args.limits.split(","):
            empty()
            free = -(-int(peak * float(limit)) // GRANULE) * GRANULE
            ballast = Ballast(torch, free)
            _, done = loops.replay(*todo)
            empty()
            ballast.drop()
            print(f"BenchmarkTraceLimit/trace={title}/pool={pool}/limit={float(limit):.2f} 1 {int(done < n)} failures "
                  f"{done / n:.4f} done {free} free-B", flush=True)


if __name__ == "__main__":
    sys.exit(main())
