"""Loops over PyTorch's caching allocator in C++, as C++ code calls it: compiled on the spot, so no Python is inside a time."""
import os
import sys

BACKENDS = {"native": "", "expandable": "expandable_segments:True", "async": "backend:cudaMallocAsync"}

SOURCE = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <chrono>
#include <tuple>
#include <vector>

using c10::cuda::CUDACachingAllocator::raw_alloc_with_stream;
using c10::cuda::CUDACachingAllocator::raw_delete;

// pair returns nanoseconds per raw_alloc+raw_delete of size bytes, warm.
double pair(int64_t size, int64_t n) {
  c10::cuda::CUDACachingAllocator::init(1);
  auto stream = c10::cuda::getCurrentCUDAStream();
  for (int i = 0; i < 1000; i++)
    raw_delete(raw_alloc_with_stream(size, stream));
  auto begin = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < n; i++)
    raw_delete(raw_alloc_with_stream(size, stream));
  std::chrono::duration<double, std::nano> d = std::chrono::steady_clock::now() - begin;
  return d.count() / n;
}

// replay makes and frees what three arrays say, step by step: a place in a table, a stream, and bytes, where -1 is a free.
// It stops at the first allocation that finds no memory, and returns nanoseconds and how many steps it has done.
// What is live then is freed.
std::tuple<double, int64_t> replay(torch::Tensor place, torch::Tensor stream, torch::Tensor size, int64_t places, int64_t streams) {
  c10::cuda::CUDACachingAllocator::init(1);
  static std::vector<c10::cuda::CUDAStream> all; // the same in every replay, so that one finds what another has freed
  while ((int64_t)all.size() < streams)
    all.push_back(c10::cuda::getStreamFromPool());
  std::vector<cudaStream_t> on;
  for (auto& s : all)
    on.push_back(s.stream());
  std::vector<void*> held(places, nullptr);
  auto at = place.accessor<int64_t, 1>();
  auto where = stream.accessor<int64_t, 1>();
  auto bytes = size.accessor<int64_t, 1>();
  int64_t n = place.size(0), i = 0;
  auto begin = std::chrono::steady_clock::now();
  try {
    for (; i < n; i++) {
      void*& p = held[at[i]];
      if (bytes[i] < 0) {
        raw_delete(p);
        p = nullptr;
      } else {
        p = raw_alloc_with_stream(bytes[i], on[where[i]]);
      }
    }
  } catch (const c10::OutOfMemoryError&) {
  }
  std::chrono::duration<double, std::nano> d = std::chrono::steady_clock::now() - begin;
  for (void* p : held)
    if (p)
      raw_delete(p);
  return {d.count(), i};
}
"""


def load(backend, name):
    """Return torch and the loops, with the allocator that backend names. name is the program's, for messages."""
    if BACKENDS[backend]:
        # Read once, when torch first touches the device.
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = BACKENDS[backend]
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
    try:
        import torch
        from torch.utils.cpp_extension import load_inline
    except ImportError as e:
        sys.exit(f"{name}: missing peer: {e}")
    if not torch.cuda.is_available():
        sys.exit(f"{name}: missing peer: no CUDA device")
    loops = load_inline("lastuse_torch_loop", SOURCE, functions=["pair", "replay"], with_cuda=True, verbose=False)
    torch.zeros(1, device="cuda")
    print(f"torch: {torch.__version__}, {torch.cuda.get_allocator_backend()}")
    return torch, loops
