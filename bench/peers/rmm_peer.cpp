// rmm_peer is RMM's memory resources as peers of bench/report, built from RMM's public source by
// build.sh.
//
//	rmm_peer pool        the pool, grown from nothing: it doubles
//	rmm_peer preset      the pool, begun with 24 GiB: more than is asked of it, as in RMM's benchmark
//	rmm_peer arena       the arena, with 24 GiB
//	rmm_peer async       cuda_async_memory_resource, primed with 24 GiB
//	rmm_peer async-grown the same from nothing
//
// RMM's benchmark begins with half or all of the free memory, which takes a quarter of a second to get.
#include "peer.hpp"
#include <cuda_runtime_api.h>
#include <rmm/cuda_device.hpp>
#include <rmm/mr/device/arena_memory_resource.hpp>
#include <rmm/mr/device/cuda_async_memory_resource.hpp>
#include <rmm/mr/device/cuda_memory_resource.hpp>
#include <rmm/mr/device/pool_memory_resource.hpp>

static void ok(cudaError_t e, const char *what) {
	if (e != cudaSuccess)
		throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

// An upstream counts what RMM takes of the device.
struct upstream final : rmm::mr::device_memory_resource {
	rmm::mr::cuda_memory_resource device;
	size_t live = 0, most = 0;
	void *do_allocate(std::size_t n, rmm::cuda_stream_view s) override {
		void *p = device.allocate(n, s);
		if ((live += n) > most)
			most = live;
		return p;
	}
	void do_deallocate(void *p, std::size_t n, rmm::cuda_stream_view s) override {
		device.deallocate(p, n, s);
		live -= n;
	}
};

static std::string kind;

struct pool {
	std::vector<cudaStream_t> streams;
	upstream from;
	std::unique_ptr<rmm::mr::device_memory_resource> mr;

	explicit pool(int n) : streams(n) {
		for (cudaStream_t &s : streams)
			ok(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreate");
		const size_t much = std::min<size_t>(24ull << 30, device_free() / 2 / 512 * 512);
		if (kind == "pool")
			mr = std::make_unique<rmm::mr::pool_memory_resource<upstream>>(&from, 0);
		else if (kind == "preset")
			mr = std::make_unique<rmm::mr::pool_memory_resource<upstream>>(&from, much);
		else if (kind == "arena")
			mr = std::make_unique<rmm::mr::arena_memory_resource<upstream>>(&from, much);
		else if (kind == "async")
			mr = std::make_unique<rmm::mr::cuda_async_memory_resource>(much);
		else if (kind == "async-grown")
			mr = std::make_unique<rmm::mr::cuda_async_memory_resource>(1 << 20);
		else
			throw std::runtime_error("there is no resource " + kind);
	}
	~pool() {
		cudaDeviceSynchronize();
		mr.reset();
		for (cudaStream_t s : streams)
			cudaStreamDestroy(s);
	}
	void *alloc(size_t n, int stream) { return mr->allocate(n, streams[stream]); }
	void release(void *p, size_t n, int stream) { mr->deallocate(p, n, streams[stream]); }
	uint64_t reserved() {
		auto *a = dynamic_cast<rmm::mr::cuda_async_memory_resource *>(mr.get());
		if (!a)
			return from.most;
		uint64_t most = 0;
		cudaError_t e = cudaMemPoolGetAttribute(a->pool_handle(), cudaMemPoolAttrReservedMemHigh, &most);
		ok(e, "cudaMemPoolGetAttribute");
		return most;
	}
	static size_t device_free() {
		size_t left, total;
		ok(cudaMemGetInfo(&left, &total), "cudaMemGetInfo");
		return left;
	}
	static void *take(size_t n) {
		void *p;
		ok(cudaMalloc(&p, n), "cudaMalloc");
		return p;
	}
	static void give(void *p) { cudaFree(p); }
	static void sync() { ok(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }
};

int main(int argc, char **argv) {
	kind = argc > 1 ? argv[1] : "pool";
	if (cudaFree(nullptr) != cudaSuccess) { // makes the context
		printf("error there is no device\n");
		return 1;
	}
	return peer::serve<pool>(kind, peer::nothing);
}
