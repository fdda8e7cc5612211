// What this example needs of NCCL, as its ABI has it; no header of CUDA's is used. Device addresses and streams are
// integers, so that Go never holds them as pointers.

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	char bytes[128];
} nccl_id;

typedef struct {
	int version, ranks;
	nccl_id id;
	void **comms; // by rank; null where none was made
	int (*get_version)(int *);
	int (*get_id)(nccl_id *);
	int (*init)(void **, int, nccl_id, int);
	int (*destroy)(void *);
	int (*start)(void);
	int (*end)(void);
	int (*all_reduce)(uintptr_t, uintptr_t, size_t, int, int, void *, uintptr_t);
	const char *(*text)(int);
	const char *(*last)(void *);
} nccl;

enum { NCCL_FLOAT32 = 7, NCCL_SUM = 0, NCCL_OLDEST = 21300 };

// nccl_number writes a version as people do. Before 2.9 it was 1,000 for each major one.
static inline void nccl_number(int v, char *to, size_t n) {
	int major = v < 10000 ? 1000 : 10000;
	snprintf(to, n, "%d.%d.%d", v / major, v % major / 100, v % 100);
}

static inline char *nccl_why(nccl *l, const char *text) {
	free(l ? l->comms : NULL);
	free(l);
	return strdup(text ? text : "unknown error");
}

// nccl_open opens the library for a number of ranks. On failure it returns null, and in why what is missing.
static inline nccl *nccl_open(const char *path, int ranks, char **why) {
	nccl *l = calloc(1, sizeof *l);
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		*why = nccl_why(l, dlerror());
		return NULL;
	}
	struct { const char *name; void *to; } symbols[] = {
		{"ncclGetVersion", &l->get_version}, {"ncclGetUniqueId", &l->get_id}, {"ncclCommInitRank", &l->init},
		{"ncclCommDestroy", &l->destroy}, {"ncclGroupStart", &l->start}, {"ncclGroupEnd", &l->end},
		{"ncclAllReduce", &l->all_reduce}, {"ncclGetErrorString", &l->text}, {"ncclGetLastError", &l->last},
	};
	for (unsigned i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *f = dlsym(lib, symbols[i].name);
		memcpy(symbols[i].to, &f, sizeof f);
	}
	char version[32] = "of unknown version", oldest[32], text[160];
	if (l->get_version && !l->get_version(&l->version))
		nccl_number(l->version, version, sizeof version);
	nccl_number(NCCL_OLDEST, oldest, sizeof oldest);
	if (l->version < NCCL_OLDEST || !l->all_reduce || !l->last) {
		snprintf(text, sizeof text, l->get_version ? "NCCL %s is older than %s" : "%s has no ncclGetVersion: not NCCL",
			l->get_version ? version : path, oldest);
		*why = nccl_why(l, text);
		dlclose(lib);
		return NULL;
	}
	l->comms = calloc(ranks, sizeof *l->comms);
	l->ranks = ranks;
	int r = l->get_id(&l->id);
	if (r) {
		*why = nccl_why(l, l->text(r));
		return NULL;
	}
	return l;
}

// What follows works on the thread's current device, between nccl_start and nccl_end, which does what was said since.

static inline int nccl_start(nccl *l) { return l->start(); }
static inline int nccl_end(nccl *l) { return l->end(); }
static inline int nccl_init(nccl *l, int rank) { return l->init(&l->comms[rank], l->ranks, l->id, rank); }

static inline int nccl_sum(nccl *l, int rank, uintptr_t stream, uintptr_t to, uintptr_t from, size_t n) {
	return l->all_reduce(from, to, n, NCCL_FLOAT32, NCCL_SUM, l->comms[rank], stream);
}

static inline int nccl_destroy(nccl *l, int rank) { return l->comms[rank] ? l->destroy(l->comms[rank]) : 0; }

static inline void nccl_free(nccl *l) {
	free(l->comms);
	free(l);
}

static inline const char *nccl_text(nccl *l, int r) { return l->text(r); }
static inline const char *nccl_last(nccl *l) { return l->last(NULL); }
