// What every shim begins with. shim_*.h hold the shims, by subject.
//
// One shim per driver call. A shim makes the context the calling thread's current one if it is not, does the work and
// returns result and value together, so that one crossing from Go does it all: a goroutine may wake up on another
// thread between two crossings, never inside one, and nothing a shim is given has to outlive it.

#ifndef LASTUSE_SHIM_H
#define LASTUSE_SHIM_H

#include "driver.h"

#include <stdlib.h>
#include <string.h>

// lu_current is the serial of the context that this thread had current after its last shim; 0 is none.
extern _Thread_local uint64_t lu_current;

static int lu_set(const lu_ctx *c) {
	lu_handle h = __atomic_load_n(&c->handle, __ATOMIC_ACQUIRE);
	if (!h)
		return LU_INVALID_CONTEXT;
	int r = c->t->cuCtxSetCurrent(h);
	lu_current = r ? 0 : c->serial;
	return r;
}

// lu_enter is for calls whose stream, event or function names the context: should foreign code have changed the
// thread's context behind our back, the driver takes the stream's context or refuses (see lu_again); memory cannot
// come from the wrong device. A compare of two words.
static inline int lu_enter(const lu_ctx *c) {
	if (__builtin_expect(lu_current == c->serial, 1))
		return LU_SUCCESS;
	return lu_set(c);
}

// lu_enter_sure is for calls that work on whatever context is current. It asks the driver, which is cheap beside what
// such calls cost, instead of trusting that nobody else changed the context.
static inline int lu_enter_sure(const lu_ctx *c) {
	lu_handle now = 0;
	if (lu_current == c->serial && c->t->cuCtxGetCurrent(&now) == LU_SUCCESS && now == c->handle)
		return LU_SUCCESS;
	return lu_set(c);
}

// lu_relax lets this thread make a call that a capture elsewhere in the process forbids (allocate, free, query), as
// none of ours belong to that capture; lu_strict puts the thread's mode back.
static inline int lu_relax(const lu_table *t) {
	int mode = 2; // CU_STREAM_CAPTURE_MODE_RELAXED
	if (t->cuThreadExchangeStreamCaptureMode(&mode))
		return -1;
	return mode;
}

static inline void lu_strict(const lu_table *t, int mode) {
	if (mode >= 0)
		t->cuThreadExchangeStreamCaptureMode(&mode);
}

// lu_enter_for is lu_enter for a stream. The default streams have the same handles in every context.
static inline int lu_enter_for(const lu_ctx *c, lu_handle stream) { return stream > 2 ? lu_enter(c) : lu_enter_sure(c); }

// lu_ready enters and refuses a stream that is under capture.
static inline int lu_ready(const lu_ctx *c, lu_handle stream) {
	int r = lu_enter_for(c, stream), status = 0;
	if (r)
		return r;
	r = c->t->cuStreamIsCapturing(stream, &status);
	if (r == LU_CAPTURE_IMPLICIT || (r == LU_SUCCESS && status))
		return LU_CAPTURING;
	return r;
}

// lu_own are the streams under capture for callers of ours; 0 is a free place.
enum { LU_OWN = 256 };
extern lu_handle lu_own[LU_OWN];

// lu_mine reports whether the stream is one of these.
static inline int lu_mine(lu_handle stream) {
	for (int i = 0; i < LU_OWN; i++)
		if (__atomic_load_n(&lu_own[i], __ATOMIC_ACQUIRE) == stream)
			return 1;
	return 0;
}

// lu_takes is lu_ready for work that a capture of ours takes into its graph.
static inline int lu_takes(const lu_ctx *c, lu_handle stream) {
	int r = lu_ready(c, stream);
	return __builtin_expect(r == LU_CAPTURING, 0) && lu_mine(stream) ? LU_SUCCESS : r;
}

// lu_again reports whether a call that failed with r did so because the thread's context is not the one that lu_enter
// took it for, and sets it right.
static inline int lu_again(const lu_ctx *c, int r) {
	if (__builtin_expect(r != LU_INVALID_CONTEXT && r != LU_INVALID_HANDLE, 1))
		return 0;
	lu_handle now = 0;
	if (c->t->cuCtxGetCurrent(&now) != LU_SUCCESS || now == c->handle)
		return 0;
	return lu_set(c) == LU_SUCCESS;
}

// The body of a shim: LU_TRY enters and calls until that was done in the right context, LU_DO returns what it came to, and
// LU_ENQUEUE does so for work on a stream, LU_TAKE for work that a capture of ours may take.
#define LU_TRY(r, enter, call) \
	do { \
		r = (enter); \
		if (!r) \
			r = (call); \
	} while (lu_again(c, r))
#define LU_DO(call) \
	int r; \
	LU_TRY(r, lu_enter(c), call); \
	return r
#define LU_ENQUEUE(stream, call) \
	int r; \
	LU_TRY(r, lu_ready(c, stream), call); \
	return r
#define LU_TAKE(stream, call) \
	int r; \
	LU_TRY(r, lu_takes(c, stream), call); \
	return r
#define LU_RELAXED(call) ({ int mode = lu_relax(t), result = (call); lu_strict(t, mode); result; })

#define LU_CTX const lu_ctx *c = (const lu_ctx *)ctx; const lu_table *t = c->t; (void)t
#define LU_TABLE const lu_table *t = (const lu_table *)table

#endif
