// torch_peer.cpp is PyTorch's caching allocator as a peer of bench/report, called as C++ code calls it.
// torch_peer.py builds it and hands over.
#include "peer.hpp"
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <torch/extension.h>

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

// The caching allocator is the process's; a pool is what it keeps until it is emptied.
struct pool {
	std::vector<cudaStream_t> streams;

	explicit pool(int n) {
		static std::vector<cudaStream_t> all; // of the 32 that PyTorch has
		peer::say("streams");
		while ((int)all.size() < n)
			all.push_back(c10::cuda::getStreamFromPool().stream());
		streams.assign(all.begin(), all.begin() + n);
		peer::say("an empty cache");
		allocator::emptyCache();
		peer::say("statistics");
		allocator::resetPeakStats(0);
	}
	~pool() {
		cudaDeviceSynchronize();
		allocator::emptyCache();
	}
	void *alloc(size_t n, int stream) { return allocator::raw_alloc_with_stream(n, streams[stream]); }
	void release(void *p, size_t, int) { allocator::raw_delete(p); }
	uint64_t reserved() { return allocator::getDeviceStats(0).reserved_bytes[0].peak; }
	static size_t device_free() {
		size_t left = 0, total = 0;
		if (cudaMemGetInfo(&left, &total) != cudaSuccess)
			throw std::runtime_error("cudaMemGetInfo failed");
		return left;
	}
	static void *take(size_t n) {
		void *p;
		if (cudaMalloc(&p, n) != cudaSuccess)
			throw std::runtime_error("cudaMalloc failed");
		return p;
	}
	static void give(void *p) { cudaFree(p); }
	static void sync() { cudaDeviceSynchronize(); }
};

std::string more(const std::string &word, const peer::question &q) {
	if (word != "copy")
		return peer::nothing(word, q);
	int64_t n = peer::number(q, "size");
	bool in = q.at("dir") == "in", fresh = peer::number(q, "fresh");
	static std::map<int64_t, at::Tensor> made; // once: to fill one takes longer than to copy it
	at::Tensor &host = made[n];
	if (!host.defined()) {
		host = at::empty({n}, at::device(at::kCPU).dtype(at::kByte));
		peer::pattern(host.data_ptr<uint8_t>(), n);
	}
	std::string a;
	{
		auto device = at::empty({n}, at::device(at::kCUDA).dtype(at::kByte));
		a = peer::timed(q, [&] {
			if (in) {
				device.copy_(host);
				cudaDeviceSynchronize();
			} else if (fresh) {
				device.to(at::kCPU);
			} else {
				host.copy_(device);
			}
		});
	}
	allocator::emptyCache();
	return a;
}

} // namespace

std::string answer(std::string line) {
	allocator::init(1);
	return peer::answer<pool>(line, more);
}
