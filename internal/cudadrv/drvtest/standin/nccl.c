// A stand-in for NCCL that adds up in this machine's memory when a group ends: what the tests of programs that call it
// open in its place, beside the stand-in driver. It knows what the examples call, and wants what the library wants:
// groups, and for each call the context of its rank's device. It waits for the streams, as it does not queue.

#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "library.inc"

enum { OK = 0, UNHANDLED = 1, INTERNAL = 3, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, RANKS = 8 };

typedef struct {
	char bytes[128];
} id;

typedef struct {
	int rank, ranks;
	void *context;
} comm;

static const char *last = "nothing";
static int group, known, made, asked;
static comm **outs[RANKS];
static struct {
	comm *c;
	const float *from;
	float *to;
	size_t n;
	uintptr_t stream;
} sums[RANKS];

static int refuse(int code, const char *why) {
	last = why;
	return code;
}

int ncclGetVersion(int *v) {
	*v = STANDIN_NCCL;
	return OK;
}

int ncclGetUniqueId(id *out) {
	memset(out, 7, sizeof *out);
	known = 1;
	return OK;
}

const char *ncclGetErrorString(int r) { return r == UNHANDLED ? "unhandled cuda error" : "invalid usage"; }
const char *ncclGetLastError(void *c) { return last; }

int ncclGroupStart(void) {
	group++;
	return OK;
}

int ncclCommInitRank(void **out, int ranks, id of, int rank) {
	if (!group || !known || of.bytes[0] != 7 || of.bytes[127] != 7 || ranks > RANKS || rank != made)
		return refuse(INVALID_USAGE, "no group, or no such rank");
	if (!current())
		return refuse(UNHANDLED, "the thread has no context");
	for (int i = 0; i < made; i++)
		if ((*outs[i])->context == current())
			return refuse(INVALID_USAGE, "two ranks on one device");
	comm *c = calloc(1, sizeof *c);
	c->rank = rank, c->ranks = ranks, c->context = current();
	outs[made++] = (comm **)out;
	*out = c;
	return OK;
}

int ncclAllReduce(const float *from, float *to, size_t n, int type, int op, comm *c, uintptr_t stream) {
	if (!group || type != 7 || op != 0 || !c || c->rank != asked || !stream)
		return refuse(INVALID_ARGUMENT, "no group, or not a sum of float32 on a stream");
	if (current() != c->context)
		return refuse(UNHANDLED, "the context is another device's");
	sums[asked].c = c, sums[asked].from = from, sums[asked].to = to, sums[asked].n = n, sums[asked].stream = stream;
	asked++;
	return OK;
}

int ncclGroupEnd(void) {
	if (--group)
		return OK;
	int n = asked;
	asked = 0;
	if (n == 0)
		return OK;
	if (n != sums[0].c->ranks)
		return refuse(INTERNAL, "not all ranks take part");
	int (*sync)(uintptr_t) = (int (*)(uintptr_t))driver("cuStreamSynchronize");
	int (*set)(void *) = (int (*)(void *))driver("cuCtxSetCurrent");
	void *before = current();
	for (int i = 0; i < n; i++)
		if (set(sums[i].c->context) || sync(sums[i].stream))
			return refuse(UNHANDLED, "a stream failed");
	set(before);
	float *sum = calloc(sums[0].n, sizeof *sum);
	for (int i = 0; i < n; i++)
		for (size_t j = 0; j < sums[0].n; j++)
			sum[j] += sums[i].from[j];
	for (int i = 0; i < n; i++)
		memcpy(sums[i].to, sum, sums[0].n * sizeof *sum);
	free(sum);
	return OK;
}

int ncclCommDestroy(comm *c) {
	if (current() != c->context)
		return refuse(UNHANDLED, "the context is another device's");
	free(c);
	return OK;
}
