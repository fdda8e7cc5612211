// driver_peer is the CUDA driver as a peer of bench/report, without its SDK's headers: what is called is
// declared here.
//
//	c++ -O2 -std=c++17 -o driver_peer driver_peer.cpp -ldl
//	driver_peer async    the device's own pool, cuMemAllocAsync, which keeps what it has
//	driver_peer plain    cuMemAlloc and cuMemFree, nothing kept
//	driver_peer vmm      create, map and set access of each buffer, nothing kept
#include "peer.hpp"
#include <cstring>
#include <dlfcn.h>

typedef void *handle;
typedef uint64_t address;

static void *lib;
static int dev;
static handle pool;

// sym returns a function of the driver.
template <class F> F *sym(const char *name) {
	void *p = dlsym(lib, name);
	if (!p)
		throw std::runtime_error(std::string(name) + " not found");
	return reinterpret_cast<F *>(p);
}

static void ok(int r, const char *what) {
	if (r)
		throw std::runtime_error(std::string(what) + ": error " + std::to_string(r));
}

#define CU(name, ...) static int (*name)(__VA_ARGS__)
CU(stream_create, handle *, unsigned);
CU(stream_destroy, handle);
CU(ctx_sync, void);
CU(mem_alloc, address *, size_t);
CU(mem_free, address);
CU(mem_info, size_t *, size_t *);
CU(alloc_async, address *, size_t, handle);
CU(free_async, address, handle);
CU(pool_set, handle, int, void *);
CU(pool_get, handle, int, void *);
CU(pool_trim, handle, size_t);
CU(copy_in, address, const void *, size_t);
CU(copy_out, void *, address, size_t);
CU(reserve, address *, size_t, size_t, address, unsigned long long);
CU(unreserve, address, size_t);
CU(create, uint64_t *, size_t, const void *, unsigned long long);
CU(release, uint64_t);
CU(map, address, size_t, size_t, uint64_t, unsigned long long);
CU(unmap, address, size_t);
CU(set_access, address, size_t, const void *, size_t);

// open_driver opens device 0.
static void open_driver() {
	lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib)
		throw std::runtime_error(dlerror());
	handle ctx;
	ok(sym<int(unsigned)>("cuInit")(0), "cuInit");
	ok(sym<int(int *, int)>("cuDeviceGet")(&dev, 0), "cuDeviceGet");
	ok(sym<int(handle *, int)>("cuDevicePrimaryCtxRetain")(&ctx, dev), "cuDevicePrimaryCtxRetain");
	ok(sym<int(handle)>("cuCtxSetCurrent")(ctx), "cuCtxSetCurrent");
#define GET(f, name) f = reinterpret_cast<decltype(f)>(sym<void>(name))
	GET(stream_create, "cuStreamCreate");
	GET(stream_destroy, "cuStreamDestroy_v2");
	GET(ctx_sync, "cuCtxSynchronize");
	GET(mem_alloc, "cuMemAlloc_v2");
	GET(mem_free, "cuMemFree_v2");
	GET(mem_info, "cuMemGetInfo_v2");
	GET(reserve, "cuMemAddressReserve");
	GET(unreserve, "cuMemAddressFree");
	GET(create, "cuMemCreate");
	GET(release, "cuMemRelease");
	GET(map, "cuMemMap");
	GET(unmap, "cuMemUnmap");
	GET(set_access, "cuMemSetAccess");
}

// open_pool opens the device's pool, whose release threshold is raised as in a program that cares for speed.
static void open_pool() {
	GET(alloc_async, "cuMemAllocAsync");
	GET(free_async, "cuMemFreeAsync");
	GET(pool_set, "cuMemPoolSetAttribute");
	GET(pool_get, "cuMemPoolGetAttribute");
	GET(pool_trim, "cuMemPoolTrimTo");
	ok(sym<int(handle *, int)>("cuDeviceGetDefaultMemPool")(&pool, dev), "cuDeviceGetDefaultMemPool");
	uint64_t keep = UINT64_MAX;
	const int release_threshold = 4;
	ok(pool_set(pool, release_threshold, &keep), "cuMemPoolSetAttribute");
}

// A base is what all kinds share: the streams.
struct base {
	std::vector<handle> streams;
	explicit base(int n) : streams(n) {
		for (handle &s : streams)
			ok(stream_create(&s, 1), "cuStreamCreate");
	}
	~base() {
		ctx_sync();
		for (handle s : streams)
			stream_destroy(s);
	}
	static size_t device_free() {
		size_t left, total;
		ok(mem_info(&left, &total), "cuMemGetInfo");
		return left;
	}
	static void sync() { ok(ctx_sync(), "cuCtxSynchronize"); }
	static void *take(size_t n) {
		address p;
		ok(mem_alloc(&p, n), "cuMemAlloc");
		return reinterpret_cast<void *>(p);
	}
	static void give(void *p) { mem_free(reinterpret_cast<address>(p)); }
};

struct async : base {
	static const int reserved_high = 6;
	explicit async(int n) : base(n) {
		uint64_t zero = 0;
		ok(pool_set(pool, reserved_high, &zero), "cuMemPoolSetAttribute");
	}
	~async() {
		ctx_sync();
		pool_trim(pool, 0);
	}
	void *alloc(size_t n, int stream) {
		address p;
		ok(alloc_async(&p, n, streams[stream]), "cuMemAllocAsync");
		return reinterpret_cast<void *>(p);
	}
	void release(void *p, size_t, int stream) { free_async(reinterpret_cast<address>(p), streams[stream]); }
	uint64_t reserved() {
		uint64_t most = 0;
		ok(pool_get(pool, reserved_high, &most), "cuMemPoolGetAttribute");
		return most;
	}
};

// A counted pool keeps nothing and counts what is taken.
struct counted : base {
	using base::base;
	uint64_t live = 0, most = 0;
	void add(int64_t n) {
		if ((live += n) > most)
			most = live;
	}
	uint64_t reserved() { return most; }
};

struct plain : counted {
	using counted::counted;
	void *alloc(size_t n, int) {
		add(n);
		return take(n);
	}
	void release(void *p, size_t n, int) {
		give(p);
		add(-int64_t(n));
	}
};

struct vmm : counted {
	using counted::counted;
	static const size_t granule = 2 << 20, room = 16ull << 30;
	address next, range;
	std::map<address, uint64_t> handles;
	// The addresses are reserved with the pool, outside of what an allocation takes.
	explicit vmm(int n) : counted(n) {
		ok(reserve(&range, room, 0, 0, 0), "cuMemAddressReserve");
		next = range;
	}
	~vmm() { unreserve(range, room); }
	static size_t whole(size_t n) { return (n + granule - 1) / granule * granule; }
	void *alloc(size_t n, int) {
		n = whole(n);
		if (next + n > range + room)
			next = range; // what was there is long unmapped
		struct {
			int type, handles, location, id;
			void *win32;
			uint64_t flags;
		} prop = {1, 0, 1, dev, nullptr, 0};
		struct {
			int location, id, flags;
		} read_write = {1, dev, 3};
		uint64_t h;
		address p = next;
		ok(create(&h, n, &prop, 0), "cuMemCreate");
		ok(map(p, n, 0, h, 0), "cuMemMap");
		ok(set_access(p, n, &read_write, 1), "cuMemSetAccess");
		handles[p] = h;
		next += n;
		add(n);
		return reinterpret_cast<void *>(p);
	}
	void release(void *at, size_t n, int) {
		address p = reinterpret_cast<address>(at);
		unmap(p, whole(n));
		::release(handles[p]);
		handles.erase(p);
		add(-int64_t(whole(n)));
	}
};

static std::string more(const std::string &word, const peer::question &q) {
	if (word != "copy")
		return peer::nothing(word, q);
	GET(copy_in, "cuMemcpyHtoD_v2");
	GET(copy_out, "cuMemcpyDtoH_v2");
	size_t n = peer::number(q, "size");
	bool in = q.at("dir") == "in", fresh = peer::number(q, "fresh");
	address p;
	ok(mem_alloc(&p, n), "cuMemAlloc");
	static std::vector<char> host; // made once: to fill it takes longer than to copy it
	if (host.size() < n) {
		host.resize(n);
		peer::pattern(host.data(), n);
	}
	std::string a = peer::timed(q, [&] {
		if (in) {
			ok(copy_in(p, host.data(), n), "cuMemcpyHtoD");
			base::sync();
		} else if (fresh) {
			std::unique_ptr<char[]> to(new char[n]);
			ok(copy_out(to.get(), p, n), "cuMemcpyDtoH");
		} else {
			ok(copy_out(host.data(), p, n), "cuMemcpyDtoH");
		}
	});
	ok(mem_free(p), "cuMemFree");
	return a;
}

int main(int argc, char **argv) {
	std::string kind = argc > 1 ? argv[1] : "async";
	try {
		open_driver();
		if (kind == "async")
			open_pool();
	} catch (const std::exception &e) {
		printf("error %s\n", e.what());
		return 1;
	}
	if (kind == "plain")
		return peer::serve<plain>(kind, more);
	if (kind == "vmm")
		return peer::serve<vmm>(kind, more);
	return peer::serve<async>(kind, more);
}
