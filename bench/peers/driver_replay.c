// driver_replay replays traces of allocations on the CUDA driver from a C loop: plain memory, and the stream-ordered pool with
// its release threshold raised. It prints lines that benchstat reads, those that bench/replay prints of lastuse.
//
//	cc -O2 -o driver_replay driver_replay.c -ldl && ./driver_replay COUNT LIMITS TRACE…
//
// LIMITS are how many times a trace's own peak is left free on the device, a comma between, for runs that end at the first failure.
// A trace is text of the form of bench/trace. Frees come in its order; what it leaves live is freed at the end.
#define PEER "driver_replay"
#include "driver.h"

#include <stdbool.h>
#include <string.h>

enum { GRANULE = 2 << 20, MAX_STREAMS = 1 << 16, PLAIN_ROUNDS = 2 };

typedef struct {
	int place; // of the buffer in held
	int stream;
	int64_t size; // -1: a free
} step;

static step *steps;
static size_t length, places;
static int64_t peak; // bytes asked for at one time
static CUdeviceptr *held;
static CUstream streams[MAX_STREAMS];

static void fail(const char *what, const char *name, size_t line) {
	fprintf(stderr, PEER ": %s:%zu: %s\n", name, line, what);
	exit(1);
}

static void *grow(void *p, size_t n, size_t of) {
	p = realloc(p, n * of);
	if (!p) {
		fprintf(stderr, PEER ": out of the host's memory\n");
		exit(1);
	}
	return p;
}

// A table from live addresses to the buffers that have them: open addressing. An entry is free for a new key once its
// buffer is freed, and never for a search.
typedef struct {
	uint64_t ptr;
	int64_t size;
	int place, stream;
	size_t made; // the step
	enum { NEVER, LIVE, FREED } state;
} buffer;

static buffer *table;
static size_t table_size;

static buffer *find(uint64_t ptr) {
	size_t i = (ptr >> 9) * 0x9e3779b97f4a7c15ull % table_size;
	buffer *spare = NULL;
	for (;; i = (i + 1) % table_size) {
		buffer *b = &table[i];
		if (b->state == NEVER)
			return spare ? spare : b;
		if (b->ptr == ptr)
			return b;
		if (b->state == FREED && !spare)
			spare = b;
	}
}

static int by_age(const void *x, const void *y) {
	const buffer *a = *(buffer *const *)x, *b = *(buffer *const *)y;
	return (a->made > b->made) - (a->made < b->made);
}

static void add(int place, int stream, int64_t size) {
	if (length % 4096 == 0)
		steps = grow(steps, length + 4096, sizeof *steps);
	steps[length++] = (step){place, stream, size};
}

// read_trace makes steps of a trace.
static void read_trace(const char *name) {
	FILE *f = fopen(name, "r");
	if (!f)
		fail("it cannot be opened", name, 0);
	char text[256];
	size_t lines = 0;
	while (fgets(text, sizeof text, f))
		lines++;
	rewind(f);
	table_size = 2 * lines + 16;
	table = calloc(table_size, sizeof *table);
	int *spare = grow(NULL, lines + 1, sizeof *spare);
	size_t spares = 0;
	int64_t live = 0;
	length = places = 0;
	peak = 0;
	if (!fgets(text, sizeof text, f) || strncmp(text, "lastuse.trace.v1 ", 17))
		fail("it does not begin with lastuse.trace.v1", name, 1);
	for (size_t line = 2; fgets(text, sizeof text, f); line++) {
		long long at, stream, size = -1;
		unsigned long long ptr;
		bool make = text[0] == 'm';
		if (make ? sscanf(text, "m %lld %lld %llx %lld", &at, &stream, &ptr, &size) != 4 || size < 0
			 : sscanf(text, "f %lld %lld %llx", &at, &stream, &ptr) != 3)
			fail("it is neither m with 4 numbers nor f with 3", name, line);
		if (stream < 0 || stream >= MAX_STREAMS)
			fail("the stream is out of range", name, line);
		buffer *b = find(ptr);
		if (make == (b->state == LIVE))
			fail("an address is made twice, or freed without having been made", name, line);
		if (!streams[stream])
			ok(stream_create(&streams[stream], 1), "cuStreamCreate");
		if (make) {
			*b = (buffer){ptr, size, spares ? spare[--spares] : (int)places++, (int)stream, length, LIVE};
			if ((live += size) > peak)
				peak = live;
		} else {
			b->state = FREED;
			spare[spares++] = b->place;
			live -= b->size;
		}
		add(b->place, (int)stream, make ? size : -1);
	}
	fclose(f);
	// What is left, in the order in which it was made.
	buffer **left = grow(NULL, lines + 1, sizeof *left);
	size_t n = 0;
	for (size_t i = 0; i < table_size; i++)
		if (table[i].state == LIVE)
			left[n++] = &table[i];
	qsort(left, n, sizeof *left, by_age);
	for (size_t i = 0; i < n; i++)
		add(left[i]->place, left[i]->stream, -1);
	free(left);
	free(spare);
	free(table);
	held = grow(held, places + 1, sizeof *held);
	memset(held, 0, (places + 1) * sizeof *held);
}

// A run is one replay.
typedef struct {
	double ns;
	size_t done;	   // steps
	size_t most_taken; // bytes of the device, if they were watched
} run;

static size_t device_free(void) {
	size_t left, total;
	ok(mem_info(&left, &total), "cuMemGetInfo");
	return left;
}

// play replays the steps up to the first failure, if there is one. watch asks the device after each allocation how
// much is taken; its time is no measure then.
static run play(bool async, bool watch) {
	run r = {0};
	size_t before = watch ? device_free() : 0;
	double begin = now();
	size_t i;
	for (i = 0; i < length; i++) {
		step *s = &steps[i];
		CUdeviceptr *at = &held[s->place];
		if (s->size < 0) {
			ok(async ? free_async(*at, streams[s->stream]) : mem_free(*at), "free");
			*at = 0;
			continue;
		}
		CUresult e = async ? alloc_async(at, s->size, streams[s->stream]) : mem_alloc(at, s->size);
		if (e == CUDA_ERROR_OUT_OF_MEMORY) {
			*at = 0;
			break;
		}
		ok(e, "alloc");
		if (watch) {
			size_t left = device_free();
			if (before > left && before - left > r.most_taken)
				r.most_taken = before - left;
		}
	}
	r.ns = now() - begin;
	r.done = i;
	for (size_t k = 0; k < places; k++)
		if (held[k]) {
			ok(async ? free_async(held[k], streams[0]) : mem_free(held[k]), "free");
			held[k] = 0;
		}
	return r;
}

// empty gives all memory of the pool back.
static void empty(void) {
	for (int i = 0; i < MAX_STREAMS && streams[i]; i++)
		ok(stream_sync(streams[i]), "cuStreamSynchronize");
	ok(pool_trim(pool, 0), "cuMemPoolTrimTo");
	uint64_t zero = 0;
	ok(pool_set(pool, RESERVED_HIGH, &zero), "cuMemPoolSetAttribute");
}

static void report(const char *trace, bool async, run warm, run cold, uint64_t reserved) {
	printf("BenchmarkTrace/trace=%s/pool=%s 1 %.1f ns/event %.1f cold-ns/event %llu reserved-B %lld requested-B %zu events %d failures\n", trace,
	       async ? "driver-async" : "driver-plain", warm.ns / length, cold.ns / length, (unsigned long long)reserved, (long long)peak, cold.done, cold.done < length);
	fflush(stdout);
}

int main(int argc, char **argv) {
	if (argc < 4) {
		fprintf(stderr, "usage: driver_replay COUNT LIMITS TRACE...\n");
		return 2;
	}
	int count = atoi(argv[1]);
	open_driver();
	ok(stream_create(&streams[0], 1), "cuStreamCreate");
	for (int a = 3; a < argc; a++) {
		read_trace(argv[a]);
		char name[128];
		const char *slash = strrchr(argv[a], '/');
		snprintf(name, sizeof name, "%s", slash ? slash + 1 : argv[a]);
		name[strcspn(name, ".")] = 0;
		for (int c = 0; c < count; c++) {
			empty();
			run cold = play(true, false);
			uint64_t reserved = 0;
			ok(pool_get(pool, RESERVED_HIGH, &reserved), "cuMemPoolGetAttribute");
			report(name, true, play(true, false), cold, reserved);
		}
		empty();
		// Plain memory has no pool to warm up, and every call takes long: few rounds are enough.
		run watched = play(false, true);
		for (int c = 0; c < count && c < PLAIN_ROUNDS; c++) {
			run r = play(false, false);
			report(name, false, r, r, watched.most_taken);
		}
		char limits[256];
		snprintf(limits, sizeof limits, "%s", argv[2]);
		for (char *l = strtok(limits, ","); l; l = strtok(NULL, ",")) {
			size_t want = ((size_t)(peak * atof(l)) + GRANULE - 1) / GRANULE * GRANULE;
			for (int async = 1; async >= 0; async--) {
				empty();
				size_t has = device_free();
				if (has <= want + GRANULE) {
					fprintf(stderr, PEER ": %s: the device has %zu bytes free: fewer than the limit of %zu\n", name, has, want);
					return 1;
				}
				CUdeviceptr rest;
				ok(mem_alloc(&rest, (has - want) / GRANULE * GRANULE), "cuMemAlloc of all but the limit");
				run r = play(async, false);
				printf("BenchmarkTraceLimit/trace=%s/pool=%s/limit=%.2f 1 %d failures %.4f done %zu free-B\n", name, async ? "driver-async" : "driver-plain", atof(l),
				       r.done < length, (double)r.done / length, want);
				fflush(stdout);
				empty();
				ok(mem_free(rest), "cuMemFree");
			}
		}
	}
	return 0;
}
