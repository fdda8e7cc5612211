// Shims: captures and graphs.

#ifndef LASTUSE_SHIM_GRAPH_H
#define LASTUSE_SHIM_GRAPH_H

#include "shim.h"

static inline int lu_StreamBeginCapture(uintptr_t ctx, uintptr_t stream, int mode) {
	LU_CTX;
	LU_DO(t->cuStreamBeginCapture_v2(stream, mode));
}

static inline lu_value lu_StreamEndCapture(uintptr_t ctx, uintptr_t stream) {
	LU_CTX;
	lu_handle graph = 0;
	lu_value o = {0, 0};
	LU_TRY(o.r, lu_enter(c), t->cuStreamEndCapture(stream, &graph));
	o.v = graph;
	return o;
}

// lu_CaptureOwn says whether a stream that is under capture is so for a caller of ours.
static inline int lu_CaptureOwn(uintptr_t stream, int on) {
	lu_handle from = on ? 0 : stream, to = on ? stream : 0;
	for (int i = 0; i < LU_OWN; i++) {
		lu_handle was = from;
		if (__atomic_compare_exchange_n(&lu_own[i], &was, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return LU_SUCCESS;
	}
	return on ? LU_INVALID_VALUE : LU_SUCCESS;
}

static inline int lu_GraphDestroy(uintptr_t ctx, uintptr_t graph) {
	LU_CTX;
	LU_DO(t->cuGraphDestroy(graph));
}

static inline lu_value lu_GraphInstantiate(uintptr_t ctx, uintptr_t graph) {
	LU_CTX;
	lu_handle exec = 0;
	lu_value o = {0, lu_enter_sure(c)};
	if (!o.r)
		o.r = LU_RELAXED(t->cuGraphInstantiateWithFlags(&exec, graph, 0));
	o.v = exec;
	return o;
}

static inline int lu_GraphExecUpdate(uintptr_t ctx, uintptr_t exec, uintptr_t graph) {
	LU_CTX;
	lu_update info = {0, 0, 0};
	int r = lu_enter_sure(c);
	return r ? r : LU_RELAXED(t->cuGraphExecUpdate_v2(exec, graph, &info));
}

static inline int lu_GraphExecDestroy(uintptr_t ctx, uintptr_t exec) {
	LU_CTX;
	int r = lu_enter_sure(c);
	return r ? r : LU_RELAXED(t->cuGraphExecDestroy(exec));
}

static inline int lu_GraphLaunch(uintptr_t ctx, uintptr_t exec, uintptr_t stream) {
	LU_CTX;
	LU_ENQUEUE(stream, t->cuGraphLaunch(exec, stream));
}

#endif
