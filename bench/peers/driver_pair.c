// driver_pair times alloc+free pairs of the CUDA driver from a C loop: plain
// memory, and the stream-ordered pool with its release threshold raised. It prints lines that benchstat reads.
//
//	cc -O2 -o driver_pair driver_pair.c -ldl && ./driver_pair [count]
#define PEER "driver_pair"
#include "driver.h"

int main(int argc, char **argv) {
	int count = argc > 1 ? atoi(argv[1]) : 10;
	open_driver();
	CUstream s;
	ok(stream_create(&s, 1), "cuStreamCreate");

	struct { const char *name; size_t size; } sizes[] = {
		{"256B", 256}, {"4KiB", 4 << 10}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20},
		{"16MiB", 16 << 20}, {"64MiB", 64 << 20}, {"1GiB", 1 << 30},
	};
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		CUdeviceptr p;
		for (int c = 0; c < count; c++) {
			int n = 20000;
			for (int k = 0; k < 100; k++) {
				ok(alloc_async(&p, sizes[i].size, s), "cuMemAllocAsync");
				ok(free_async(p, s), "cuMemFreeAsync");
			}
			ok(stream_sync(s), "cuStreamSynchronize");
			double begin = now();
			for (int k = 0; k < n; k++) {
				alloc_async(&p, sizes[i].size, s);
				free_async(p, s);
			}
			printf("BenchmarkMakeFree/size=%s/pool=driver-async %d %.1f ns/op\n", sizes[i].name, n, (now() - begin) / n);
			ok(stream_sync(s), "cuStreamSynchronize");
		}
		for (int c = 0; c < count; c++) {
			int n = sizes[i].size >= (16 << 20) ? 100 : 1000;
			double begin = now();
			for (int k = 0; k < n; k++) {
				mem_alloc(&p, sizes[i].size);
				mem_free(p);
			}
			printf("BenchmarkMakeFree/size=%s/pool=driver-plain %d %.1f ns/op\n", sizes[i].name, n, (now() - begin) / n);
		}
		fflush(stdout);
	}
	return 0;
}
