// host_peer is malloc and free as a peer of bench/report: glibc's, or those that LD_PRELOAD put in their place.
// The memory is not touched: nor is a device's by its allocator.
//
//	host_peer glibc
#include <dlfcn.h>

#include <cstdlib>
#include <new>

#include "peer.hpp"

namespace {

// Calls through volatile pointers are not optimized away.
void *(*volatile make)(size_t) = malloc;
void (*volatile drop)(void *) = free;

struct heap {
	explicit heap(int) {}

	void *alloc(size_t n, int) {
		void *p = make(n);
		if (!p)
			throw std::bad_alloc();
		return p;
	}

	void release(void *p, size_t, int) { drop(p); }
	size_t reserved() { return 0; }

	static size_t device_free() { return 0; }
	static void *take(size_t) { throw std::runtime_error("it does not answer limit"); }
	static void give(void *) {}
	static void sync() {}
};

} // namespace

int main(int argc, char **argv) {
	const char *preload = getenv("LD_PRELOAD");
	if (preload && *preload && !dlopen(preload, RTLD_NOW | RTLD_NOLOAD)) { // the loader went on without it
		printf("error %s is not installed\n", preload);
		return 1;
	}
	return peer::serve<heap>(argc > 1 ? argv[1] : "malloc", peer::nothing);
}
