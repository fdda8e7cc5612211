#!/usr/bin/env python3
"""Time an alloc+free pair of PyTorch's caching allocator, as C++ code calls it.

The loop is C++ that is compiled on the spot, so no Python is inside the figure.
It prints lines that benchstat reads:

    BenchmarkMakeFree/size=1MiB/pool=torch-native  2000000  650.1 ns/op

usage: torch_pair.py [--backend native|expandable|async] [--count 10]
"""
import argparse
import os
import sys

SOURCE = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <chrono>

// pair returns nanoseconds per raw_alloc+raw_delete of size bytes, warm.
double pair(int64_t size, int64_t n) {
  c10::cuda::CUDACachingAllocator::init(1);
  auto stream = c10::cuda::getCurrentCUDAStream();
  for (int i = 0; i < 1000; i++)
    c10::cuda::CUDACachingAllocator::raw_delete(
        c10::cuda::CUDACachingAllocator::raw_alloc_with_stream(size, stream));
  auto begin = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < n; i++) {
    void* p = c10::cuda::CUDACachingAllocator::raw_alloc_with_stream(size, stream);
    c10::cuda::CUDACachingAllocator::raw_delete(p);
  }
  std::chrono::duration<double, std::nano> d = std::chrono::steady_clock::now() - begin;
  return d.count() / n;
}
"""

SIZES = [("256B", 256), ("4KiB", 4 << 10), ("64KiB", 64 << 10), ("1MiB", 1 << 20),
         ("16MiB", 16 << 20), ("64MiB", 64 << 20), ("1GiB", 1 << 30)]


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--backend", choices=["native", "expandable", "async"], default="native")
    args.add_argument("--count", type=int, default=10)
    args = args.parse_args()
    conf = {"native": "", "expandable": "expandable_segments:True", "async": "backend:cudaMallocAsync"}[args.backend]
    if conf:
        # Read once, when torch first touches the device.
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = conf
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
    try:
        import torch
        from torch.utils.cpp_extension import load_inline
    except ImportError as e:
        sys.exit(f"torch_pair.py: missing peer: {e}")
    if not torch.cuda.is_available():
        sys.exit("torch_pair.py: missing peer: no CUDA device")
    mod = load_inline("torch_pair", SOURCE, functions=["pair"], with_cuda=True, verbose=False)
    torch.zeros(1, device="cuda")
    print(f"torch: {torch.__version__}")
    print(f"gpu: {torch.cuda.get_device_name(0)}")
    for name, size in SIZES:
        for _ in range(args.count):
            n = 200_000 if args.backend != "async" else 50_000
            print(f"BenchmarkMakeFree/size={name}/pool=torch-{args.backend} {n} {mod.pair(size, n):.1f} ns/op", flush=True)


if __name__ == "__main__":
    main()
