//go:build cgo && linux

// Opening the library, and the contexts that its devices share with everybody else in the process.

#define _GNU_SOURCE
#include "driver.h"
#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

_Thread_local uint64_t lu_current;
lu_handle lu_own[LU_OWN];

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static lu_table *tables;
static uint64_t serial;

// lu_Open finds or fills the table of the library at path. The loader hands out one handle per library and process;
// the table is kept per handle, so symbols are looked up once however often a program opens a device.
lu_opened lu_Open(const char *path) {
	lu_opened o = {0, NULL};
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!lib) {
		const char *e = dlerror();
		o.why = strdup(e ? e : "dlopen failed");
		return o;
	}
	pthread_mutex_lock(&mu);
	lu_table *t = tables;
	while (t && t->library != lib)
		t = t->next;
	if (!t && (t = calloc(1, sizeof *t))) {
#define X(name, needed, params) *(void **)&t->name = dlsym(lib, #name);
		LU_SYMBOLS(X)
#undef X
		t->library = lib;
		t->next = tables;
		tables = t;
	}
	pthread_mutex_unlock(&mu);
	o.table = (uintptr_t)t;
	if (!t)
		o.why = strdup("out of host memory");
	return o;
}

// lu_Missing returns the name of the i-th needed symbol that the library lacks, or null.
const char *lu_Missing(uintptr_t table, int i) {
	const lu_table *t = (const lu_table *)table;
#define X(name, needed, params) \
	if (needed && !t->name && i-- == 0) \
		return #name;
	LU_SYMBOLS(X)
#undef X
	return NULL;
}

// lu_Retain retains the primary context of a device and returns its record: a new one for each life of the context, so
// that nothing that an older life had is taken for the newer one's.
lu_value lu_Retain(uintptr_t table, int device) {
	lu_table *t = (lu_table *)table;
	lu_value o = {0, 0};
	lu_handle h = 0;
	o.r = t->cuDevicePrimaryCtxRetain(&h, device);
	if (o.r)
		return o;
	pthread_mutex_lock(&mu);
	lu_ctx *c = t->contexts;
	while (c && (c->device != device || c->refs == 0))
		c = c->next;
	if (!c && (c = calloc(1, sizeof *c))) {
		c->t = t;
		c->device = device;
		c->serial = ++serial;
		c->handle = h;
		c->next = t->contexts;
		t->contexts = c;
	}
	if (c)
		c->refs++;
	pthread_mutex_unlock(&mu);
	if (!c) {
		t->cuDevicePrimaryCtxRelease_v2(device);
		o.r = LU_OUT_OF_MEMORY;
	}
	o.v = (uintptr_t)c;
	return o;
}

// lu_Release gives one retain of lu_Retain back. After the last one every call through the record fails.
int lu_Release(uintptr_t ctx) {
	lu_ctx *c = (lu_ctx *)ctx;
	pthread_mutex_lock(&mu);
	if (c->refs == 0) {
		pthread_mutex_unlock(&mu);
		return LU_INVALID_CONTEXT;
	}
	if (--c->refs == 0) {
		__atomic_store_n(&c->handle, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&c->serial, UINT64_MAX, __ATOMIC_RELAXED); // no thread ever has it
	}
	pthread_mutex_unlock(&mu);
	return c->t->cuDevicePrimaryCtxRelease_v2(c->device);
}
