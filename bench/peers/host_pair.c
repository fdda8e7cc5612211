// host_pair times malloc+free pairs of whatever allocator the process has: glibc's, or another one
// that LD_PRELOAD put in its place. It prints lines that benchstat reads.
//
//	cc -O2 -o host_pair host_pair.c && ./host_pair glibc [count]
//	LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libmimalloc.so.2 ./host_pair mimalloc [count]
//
// The memory is not touched: nor is a device's by its allocator.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

// Calls through volatile pointers are not optimized away.
static void *(*volatile make)(size_t) = malloc;
static void (*volatile drop)(void *) = free;

int main(int argc, char **argv) {
	const char *name = argc > 1 ? argv[1] : "glibc";
	int count = argc > 2 ? atoi(argv[2]) : 10;
	struct { const char *name; size_t size; } sizes[] = {
		{"256B", 256}, {"4KiB", 4 << 10}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20},
		{"16MiB", 16 << 20}, {"64MiB", 64 << 20}, {"1GiB", 1 << 30},
	};
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (int c = 0; c < count; c++) {
			for (int k = 0; k < 100; k++)
				drop(make(sizes[i].size));
			// As many pairs as fit in 20 ms, in rounds.
			long n = 0;
			double begin = now(), end;
			do {
				for (int k = 0; k < 100; k++) {
					void *p = make(sizes[i].size);
					if (!p) {
						fprintf(stderr, "host_pair: no memory\n");
						return 1;
					}
					drop(p);
				}
				n += 100;
				end = now();
			} while (end - begin < 20e6);
			printf("BenchmarkMakeFree/size=%s/pool=%s %ld %.2f ns/op\n", sizes[i].name, name, n, (end - begin) / n);
		}
		fflush(stdout);
	}
	return 0;
}
