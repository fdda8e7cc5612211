// A stand-in for the library that tells profilers of ranges: it writes a line for each start and end to the file that
// the environment names.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t last;

static void note(char what, uint64_t id, const char *name) {
	const char *path = getenv("STANDIN_RANGES");
	FILE *f = path ? fopen(path, "a") : NULL;
	if (!f)
		return;
	fprintf(f, "%c %llu %s\n", what, (unsigned long long)id, name);
	fclose(f);
}

uint64_t nvtxRangeStartA(const char *name) {
	uint64_t id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	note('+', id, name);
	return id;
}

void nvtxRangeEnd(uint64_t id) { note('-', id, ""); }
