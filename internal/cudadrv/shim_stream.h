// Shims: streams and events.

#ifndef LASTUSE_SHIM_STREAM_H
#define LASTUSE_SHIM_STREAM_H

#include "shim.h"

// Streams.

static inline lu_value lu_StreamCreate(uintptr_t ctx) {
	LU_CTX;
	lu_handle s = 0;
	lu_value o = {0, lu_enter_sure(c)};
	if (!o.r)
		o.r = t->cuStreamCreate(&s, 1); // CU_STREAM_NON_BLOCKING
	o.v = s;
	return o;
}

static inline lu_value lu_StreamCreateWithPriority(uintptr_t ctx, int priority) {
	LU_CTX;
	lu_handle s = 0;
	lu_value o = {0, lu_enter_sure(c)};
	if (!o.r)
		o.r = t->cuStreamCreateWithPriority(&s, 1, priority); // CU_STREAM_NON_BLOCKING
	o.v = s;
	return o;
}

// lu_CtxGetStreamPriorityRange returns the least and the greatest priority in a and b.
static inline lu_pair lu_CtxGetStreamPriorityRange(uintptr_t ctx) {
	LU_CTX;
	int least = 0, greatest = 0;
	lu_pair o = {0, 0, lu_enter_sure(c)};
	if (!o.r)
		o.r = t->cuCtxGetStreamPriorityRange(&least, &greatest);
	o.a = (uint64_t)(int64_t)least;
	o.b = (uint64_t)(int64_t)greatest;
	return o;
}

static inline int lu_StreamDestroy(uintptr_t ctx, uintptr_t stream) {
	LU_CTX;
	LU_DO(t->cuStreamDestroy_v2(stream));
}

static inline int lu_StreamSynchronize(uintptr_t ctx, uintptr_t stream) {
	LU_CTX;
	LU_ENQUEUE(stream, LU_RELAXED(t->cuStreamSynchronize(stream)));
}

static inline int lu_StreamQuery(uintptr_t ctx, uintptr_t stream) {
	LU_CTX;
	LU_ENQUEUE(stream, LU_RELAXED(t->cuStreamQuery(stream)));
}

static inline int lu_StreamWaitEvent(uintptr_t ctx, uintptr_t stream, uintptr_t event) {
	LU_CTX;
	LU_TAKE(stream, t->cuStreamWaitEvent(stream, event, 0));
}

static inline lu_value lu_StreamGetId(uintptr_t ctx, uintptr_t stream) {
	LU_CTX;
	unsigned long long id = 0;
	lu_value o = {0, 0};
	LU_TRY(o.r, lu_enter_for(c, stream), t->cuStreamGetId(stream, &id));
	o.v = id;
	return o;
}

// lu_StreamIsOurs reports in v whether the stream belongs to the context.
static inline lu_value lu_StreamIsOurs(uintptr_t ctx, uintptr_t stream) {
	LU_CTX;
	lu_handle h = 0;
	lu_value o = {0, 0};
	LU_TRY(o.r, lu_enter_for(c, stream), t->cuStreamGetCtx(stream, &h));
	o.v = h == c->handle;
	return o;
}

// lu_StreamIsCapturing makes sure of the context: whoever asks here is about to hand the stream to foreign code on this
// thread, which may have had another one.
static inline lu_value lu_StreamIsCapturing(uintptr_t ctx, uintptr_t stream) {
	LU_CTX;
	int status = 0;
	lu_value o = {0, 0};
	LU_TRY(o.r, lu_enter_sure(c), t->cuStreamIsCapturing(stream, &status));
	if (o.r == LU_CAPTURE_IMPLICIT) {
		o.r = LU_SUCCESS;
		status = 1;
	}
	o.v = status;
	return o;
}

// Events.

static inline lu_value lu_EventCreate(uintptr_t ctx, int timed) {
	LU_CTX;
	lu_handle e = 0;
	lu_value o = {0, lu_enter_sure(c)};
	if (!o.r)
		o.r = t->cuEventCreate(&e, timed ? 0 : 2); // CU_EVENT_DISABLE_TIMING
	o.v = e;
	return o;
}

static inline int lu_EventDestroy(uintptr_t ctx, uintptr_t event) {
	LU_CTX;
	LU_DO(t->cuEventDestroy_v2(event));
}

// lu_EventRecord returns LU_CAPTURED where a capture of ours has taken the record.
static inline int lu_EventRecord(uintptr_t ctx, uintptr_t event, uintptr_t stream) {
	LU_CTX;
	int r;
	LU_TRY(r, lu_ready(c, stream), t->cuEventRecord(event, stream));
	if (__builtin_expect(r != LU_CAPTURING || !lu_mine(stream), 1))
		return r;
	r = t->cuEventRecord(event, stream);
	return r ? r : LU_CAPTURED;
}

static inline int lu_EventQuery(uintptr_t ctx, uintptr_t event) {
	LU_CTX;
	LU_DO(LU_RELAXED(t->cuEventQuery(event)));
}

// lu_EventElapsedTime returns the time between two events in milliseconds.
static inline lu_float lu_EventElapsedTime(uintptr_t ctx, uintptr_t start, uintptr_t end) {
	LU_CTX;
	lu_float o = {0, 0};
	LU_TRY(o.r, lu_enter(c), t->cuEventElapsedTime(&o.v, start, end));
	return o;
}

static inline int lu_EventSynchronize(uintptr_t ctx, uintptr_t event) {
	LU_CTX;
	LU_DO(LU_RELAXED(t->cuEventSynchronize(event)));
}

#endif
