//go:build cgo && linux

// Telling profilers of ranges.

#include "nvtx.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

const lu_ranges *lu_ranges_Open(const char *path) {
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	lu_ranges *t = lib ? calloc(1, sizeof *t) : NULL;
	if (!t)
		return NULL;
	*(void **)&t->start = dlsym(lib, "nvtxRangeStartA");
	*(void **)&t->end = dlsym(lib, "nvtxRangeEnd");
	if (t->start && t->end)
		return t;
	free(t);
	return NULL;
}

// lu_ranges_Start begins a range; of a long name what comes first counts. The library copies it.
uint64_t lu_ranges_Start(const lu_ranges *t, const char *name, size_t n) {
	char z[LU_RANGE_NAME];
	n = n < sizeof z ? n : sizeof z - 1;
	memcpy(z, name, n);
	z[n] = 0;
	return t->start(z);
}

void lu_ranges_End(const lu_ranges *t, uint64_t id) { t->end(id); }
