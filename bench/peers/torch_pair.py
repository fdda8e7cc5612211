#!/usr/bin/env python3
"""Time an alloc+free pair of PyTorch's caching allocator, as C++ code calls it.

It prints lines that benchstat reads:

    BenchmarkMakeFree/size=1MiB/pool=torch-native  2000000  650.1 ns/op

usage: torch_pair.py [--backend native|expandable|async] [--count 10]
"""
import argparse

import torch_loop

SIZES = [("256B", 256), ("4KiB", 4 << 10), ("64KiB", 64 << 10), ("1MiB", 1 << 20),
         ("16MiB", 16 << 20), ("64MiB", 64 << 20), ("1GiB", 1 << 30)]


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--backend", choices=list(torch_loop.BACKENDS), default="native")
    args.add_argument("--count", type=int, default=10)
    args = args.parse_args()
    _, loops = torch_loop.load(args.backend, "torch_pair.py")
    for name, size in SIZES:
        for _ in range(args.count):
            n = 200_000 if args.backend != "async" else 50_000
            print(f"BenchmarkMakeFree/size={name}/pool=torch-{args.backend} {n} {loops.pair(size, n):.1f} ns/op", flush=True)


if __name__ == "__main__":
    main()
