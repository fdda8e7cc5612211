//go:build cgo && linux

package drvtest

// #define _GNU_SOURCE
// #include <dlfcn.h>
// #include <stdint.h>
// #include <stdlib.h>
// #include <time.h>
//
// // One call of a loop. Every parameter of the driver's calls is an integer or a pointer, which the ABIs of amd64 and
// // arm64 pass alike, and arguments beyond a function's own are never looked at.
// typedef uint64_t (*any)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
// enum { VALUE, OUT, SLOT };
// typedef struct {
//	any f;
//	int kind[12];
//	uint64_t value[12];
// } step;
//
// static void bare(void) {}
// uint64_t drvtest_empty(uint64_t a) { return 0; }
//
// static void *symbol(const char *path, const char *name) {
//	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
//	return lib ? dlsym(lib, name) : NULL;
// }
//
// // loop makes the steps' calls in turn, n times over, and returns the time in ns or, negative, a result that was not 0.
// static double loop(const step *s, int steps, long n) {
//	static _Thread_local uint64_t slot[16];
//	struct timespec a, b;
//	uint64_t args[8][12];
//	int slots[8] = {0};
//	for (int j = 0; j < steps; j++)
//		for (int k = 0; k < 12; k++) {
//			args[j][k] = s[j].kind[k] == OUT ? (uint64_t)&slot[s[j].value[k]] : s[j].value[k];
//			slots[j] |= s[j].kind[k] == SLOT;
//		}
//	clock_gettime(CLOCK_MONOTONIC, &a);
//	for (long i = 0; i < n; i++)
//		for (int j = 0; j < steps; j++) {
//			uint64_t *v = args[j];
//			if (slots[j])
//				for (int k = 0; k < 12; k++)
//					if (s[j].kind[k] == SLOT)
//						v[k] = slot[s[j].value[k]];
//			int r = (int)s[j].f(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11]);
//			if (r)
//				return -r;
//		}
//	clock_gettime(CLOCK_MONOTONIC, &b);
//	return (b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec);
// }
// // A fixed is one call or a few with their arguments, to be made again and again.
// typedef struct {
//	int steps;
//	uint64_t slot[16];
//	struct {
//		any f;
//		uint64_t *from[12];
//		uint64_t value[12];
//	} step[8];
// } fixed;
//
// static fixed *fix(const step *s, int steps) {
//	fixed *x = calloc(1, sizeof *x);
//	x->steps = steps;
//	for (int j = 0; j < steps; j++) {
//		x->step[j].f = s[j].f;
//		for (int k = 0; k < 12; k++) {
//			uint64_t v = s[j].value[k];
//			x->step[j].value[k] = s[j].kind[k] == OUT ? (uint64_t)&x->slot[v] : v;
//			x->step[j].from[k] = s[j].kind[k] == SLOT ? &x->slot[v] : &x->step[j].value[k];
//		}
//	}
//	return x;
// }
// static int cross(uintptr_t fixed_calls) {
//	fixed *x = (fixed *)fixed_calls;
//	for (int j = 0; j < x->steps; j++) {
//		uint64_t **v = x->step[j].from;
//		int r = (int)x->step[j].f(*v[0], *v[1], *v[2], *v[3], *v[4], *v[5], *v[6], *v[7], *v[8], *v[9], *v[10], *v[11]);
//		if (r)
//			return r;
//	}
//	return 0;
// }
//
// // flagged has a stream call a function that sets a flag, n times over, and returns the time from each call until the flag
// // is seen, or negative, where the driver lacks the call.
// static void raise(void *flag) { __atomic_store_n((int *)flag, 1, __ATOMIC_RELEASE); }
// static double flagged(const char *path, uint64_t stream, long n) {
//	int (*host)(uint64_t, void (*)(void *), void *) = (int (*)(uint64_t, void (*)(void *), void *))symbol(path, "cuLaunchHostFunc");
//	struct timespec a, b;
//	if (!host)
//		return -1;
//	clock_gettime(CLOCK_MONOTONIC, &a);
//	for (long i = 0; i < n; i++) {
//		int flag = 0;
//		if (host(stream, raise, &flag))
//			return -1;
//		while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
//			;
//	}
//	clock_gettime(CLOCK_MONOTONIC, &b);
//	return (b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec);
// }
// #cgo noescape bare
// #cgo nocallback bare
// #cgo noescape cross
// #cgo nocallback cross
import "C"

import (
	"testing"
	"time"
	"unsafe"
)

// An Arg is one argument of a [Call]: a value, the address of one of 16 slots, or what a slot holds.
type Arg struct {
	kind  C.int
	value uint64
}

// Value passes v.
func Value(v uint64) Arg { return Arg{C.VALUE, v} }

// Out passes the address of slot i.
func Out(i int) Arg { return Arg{C.OUT, uint64(i)} }

// Slot passes what slot i holds.
func Slot(i int) Arg { return Arg{C.SLOT, uint64(i)} }

// A Call is a driver call by its exported name.
type Call struct {
	Function string
	Args     []Arg
}

// Loop makes at most 8 calls in turn, n times over, in C on this thread, and returns the time that took.
// Results other than success fail the test. A Call of no function measures the loop itself.
func Loop(tb testing.TB, path string, n int, calls ...Call) time.Duration {
	tb.Helper()
	steps := resolve(tb, path, calls)
	ns := float64(C.loop(unsafe.SliceData(steps), C.int(len(steps)), C.long(n)))
	if ns < 0 {
		tb.Fatalf("loop over %v: result %v", calls, -ns)
	}
	return time.Duration(ns)
}

// Flagged has a stream call a C function that sets a flag, n times over, and returns how long that took until
// the flag was seen. It reports false if the driver cannot.
func Flagged(path string, stream uintptr, n int) (time.Duration, bool) {
	lib := C.CString(path)
	defer C.free(unsafe.Pointer(lib))
	ns := float64(C.flagged(lib, C.uint64_t(stream), C.long(n)))
	return time.Duration(ns), ns >= 0
}

// resolve finds the functions of calls.
func resolve(tb testing.TB, path string, calls []Call) []C.step {
	tb.Helper()
	steps := make([]C.step, len(calls))
	for i, c := range calls {
		if c.Function == "" {
			steps[i].f = C.any(C.drvtest_empty)
			continue
		}
		name, lib := C.CString(c.Function), C.CString(path)
		f := C.symbol(lib, name)
		C.free(unsafe.Pointer(name))
		C.free(unsafe.Pointer(lib))
		if f == nil {
			tb.Fatalf("%s: no symbol %s", path, c.Function)
		}
		steps[i].f = C.any(f)
		for j, a := range c.Args {
			steps[i].kind[j] = a.kind
			steps[i].value[j] = C.uint64_t(a.value)
		}
	}
	return steps
}

// Crossing returns a function that makes at most 8 calls in one crossing into C, which does nothing else:
// what any binding of Go to the driver costs at least. It reports whether all succeeded.
func Crossing(tb testing.TB, path string, calls ...Call) func() bool {
	tb.Helper()
	steps := resolve(tb, path, calls)
	x := C.uintptr_t(uintptr(unsafe.Pointer(C.fix(unsafe.SliceData(steps), C.int(len(steps))))))
	return func() bool { return C.cross(x) == 0 }
}

// Bare is a call into C that does nothing.
func Bare() { C.bare() }

// Malloc returns n bytes of C memory that live as long as the process, for arguments that are pointers.
func Malloc(n int) unsafe.Pointer { return C.calloc(1, C.size_t(n)) }
