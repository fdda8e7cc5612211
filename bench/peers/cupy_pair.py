#!/usr/bin/env python3
"""Time an alloc+free pair of CuPy's pools from Python, whose calls are inside the figure: an upper bound.

It prints lines that benchstat reads.

usage: cupy_pair.py [--pool memory|async] [--count 10]
"""
import argparse
import sys
import time

SIZES = [("256B", 256), ("4KiB", 4 << 10), ("64KiB", 64 << 10), ("1MiB", 1 << 20),
         ("16MiB", 16 << 20), ("64MiB", 64 << 20), ("1GiB", 1 << 30)]


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--pool", choices=["memory", "async"], default="memory")
    args.add_argument("--count", type=int, default=10)
    args = args.parse_args()
    try:
        import cupy
        cupy.cuda.runtime.getDeviceCount()
    except Exception as e:  # a missing package, driver or device are all a missing peer
        sys.exit(f"cupy_pair.py: missing peer: {e}")
    pool = cupy.cuda.MemoryPool() if args.pool == "memory" else cupy.cuda.MemoryAsyncPool()
    n = 2000
    with cupy.cuda.Stream(non_blocking=True) as stream:
        for name, size in SIZES:
            for _ in range(args.count):
                for _ in range(100):
                    pool.malloc(size)  # dropped at once, which frees it
                stream.synchronize()
                begin = time.perf_counter_ns()
                for _ in range(n):
                    pool.malloc(size)
                took = time.perf_counter_ns() - begin
                stream.synchronize()
                print(f"BenchmarkMakeFree/size={name}/pool=cupy-{args.pool} {n} {took / n:.1f} ns/op", flush=True)


if __name__ == "__main__":
    main()
