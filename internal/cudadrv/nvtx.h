// The library that tells profilers of ranges, as this package sees it.

#ifndef LASTUSE_NVTX_H
#define LASTUSE_NVTX_H

#include <stddef.h>
#include <stdint.h>

enum { LU_RANGE_NAME = 256 };

typedef struct {
	uint64_t (*start)(const char *);
	void (*end)(uint64_t);
} lu_ranges;

// lu_ranges_Open opens the library at path for as long as the process lives. It returns null if there is none or it
// lacks the calls.
const lu_ranges *lu_ranges_Open(const char *path);
uint64_t lu_ranges_Start(const lu_ranges *t, const char *name, size_t n);
void lu_ranges_End(const lu_ranges *t, uint64_t id);

#endif
