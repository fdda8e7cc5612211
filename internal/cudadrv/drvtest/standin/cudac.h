// CUDA C for a machine without a GPU: nvrtc.c puts this text before a source that the system's C++ compiler
// then makes a library of. A block's threads are contexts that take turns: each runs until it waits for its
// warp or its block. Blocks run one after the other, so what they share is a static variable.

#include <csetjmp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <type_traits>
#include <ucontext.h>
#include <utility>

#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#ifndef STANDIN_LOOK // for the kernels' names
#define __global__
#endif

struct uint3 { unsigned x, y, z; };
struct uint4 { unsigned x, y, z, w; };
struct float4 { float x, y, z, w; };

static uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace standin {

enum state { READY, AT_WARP, AT_BLOCK, DONE };

struct context {
	ucontext_t first;
	jmp_buf at;
	state is;
	int shuffles;
	uint64_t words[2][8]; // what it shows its warp, in turns: the others read one while it may write the next
};

constexpr int MOST = 1024, STACK = 64 << 10;
static context *all;
static ucontext_t scheduler;
static jmp_buf back;
static int self;
static void (*body)(const unsigned char *);
static const unsigned char *params;

static void yield(state s)
{
	all[self].is = s;
	if (!_setjmp(all[self].at))
		_longjmp(back, 1);
}

static void loop()
{
	for (;;) {
		body(params);
		yield(DONE);
	}
}

static void resume(int i)
{
	self = i;
	unsigned x = blockDim.x, y = blockDim.y, n = i;
	threadIdx = {n % x, n / x % y, n / x / y};
	if (_setjmp(back))
		return;
	if (all[i].first.uc_stack.ss_sp && all[i].shuffles >= 0)
		_longjmp(all[i].at, 1);
	getcontext(&all[i].first);
	all[i].first.uc_stack.ss_sp = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	all[i].first.uc_stack.ss_size = STACK;
	all[i].shuffles = 0;
	makecontext(&all[i].first, loop, 0);
	swapcontext(&scheduler, &all[i].first);
}

// run_block runs the threads of a block to their end, and reports whether they come to it.
static bool run_block(int n)
{
	for (int i = 0; i < n; i++)
		all[i].is = READY;
	for (;;) {
		bool moved = false, over = true;
		for (int i = 0; i < n; i++)
			if (all[i].is == READY) {
				resume(i);
				moved = true;
			}
		for (int w = 0; w < n; w += 32) { // a warp goes on when all of it has come
			int end = w + 32 < n ? w + 32 : n, here = 0;
			for (int i = w; i < end; i++)
				here += all[i].is == AT_WARP;
			for (int i = w; here == end - w && i < end; i++)
				all[i].is = READY;
			moved |= here == end - w;
		}
		int here = 0, live = 0;
		for (int i = 0; i < n; i++) {
			over &= all[i].is == DONE;
			live += all[i].is != DONE;
			here += all[i].is == AT_BLOCK;
		}
		if (over)
			return true;
		for (int i = 0; here == live && i < n; i++)
			if (all[i].is == AT_BLOCK) {
				all[i].is = READY;
				moved = true;
			}
		if (!moved)
			return false; // they wait for one another
	}
}

static std::mutex one;

static int launch(void (*f)(const unsigned char *), const unsigned grid[3], const unsigned block[3], const unsigned char *p)
{
	std::lock_guard<std::mutex> held(one);
	if (!all)
		all = (context *)calloc(MOST, sizeof *all), memset(all, 0, MOST * sizeof *all);
	for (int i = 0; i < MOST; i++)
		if (!all[i].first.uc_stack.ss_sp)
			all[i].shuffles = -1;
	body = f;
	params = p;
	blockDim = {block[0], block[1], block[2]};
	gridDim = {grid[0], grid[1], grid[2]};
	for (blockIdx.z = 0; blockIdx.z < grid[2]; blockIdx.z++)
		for (blockIdx.y = 0; blockIdx.y < grid[1]; blockIdx.y++)
			for (blockIdx.x = 0; blockIdx.x < grid[0]; blockIdx.x++)
				if (!run_block(block[0] * block[1] * block[2]))
					return 719;
	return 0;
}

// show lets the other lanes of the warp see words of this one; lane then reads them.
template <class T, int N>
static const uint64_t (*show(const T (&v)[N]))[8]
{
	context &c = all[self];
	auto &words = c.words[c.shuffles++ % 2];
	for (int i = 0; i < N; i++) {
		words[i] = 0;
		memcpy(&words[i], &v[i], sizeof v[i]);
	}
	yield(AT_WARP);
	return &words;
}

template <class T>
static T of(int lane, const uint64_t (*mine)[8], int word)
{
	context &c = all[self / 32 * 32 + lane];
	T v;
	memcpy(&v, &c.words[mine == &all[self].words[1]][word], sizeof v);
	return v;
}

// A kernel and its parameters, as a launch has them: each at a multiple of its size. The driver's
// native_kernel is the same.
struct kernel {
	const char *name;
	void (*run)(const unsigned char *);
	int params, size[64], offset[64];
};

template <auto F>
struct entry;

template <class... A, void (*F)(A...)>
struct entry<F> {
	static constexpr int count = sizeof...(A), sizes[] = {(int)sizeof(A)...};
	static constexpr int offset(int i)
	{
		int at = 0;
		for (int j = 0;; at += sizes[j++]) {
			at = (at + sizes[j] - 1) / sizes[j] * sizes[j];
			if (j == i)
				return at;
		}
	}
	template <class T>
	static T get(const unsigned char *p, int i)
	{
		T v;
		memcpy(&v, p + offset(i), sizeof v);
		return v;
	}
	template <size_t... I>
	static void call(const unsigned char *p, std::index_sequence<I...>) { F(get<A>(p, I)...); }
	static void run(const unsigned char *p) { call(p, std::index_sequence_for<A...>()); }
	static kernel about(const char *name)
	{
		kernel k = {name, run, count, {}, {}};
		for (int i = 0; i < count; i++) {
			k.size[i] = sizes[i];
			k.offset[i] = offset(i);
		}
		return k;
	}
};

} // namespace standin

static inline void __syncthreads() { standin::yield(standin::AT_BLOCK); }

template <class T>
static T __shfl_xor_sync(unsigned, T v, int mask)
{
	auto mine = standin::show({v});
	return standin::of<T>(standin::self % 32 ^ mask, mine, 0);
}

static inline float __uint_as_float(unsigned u)
{
	float f;
	memcpy(&f, &u, sizeof f);
	return f;
}

static inline unsigned __float_as_uint(float f)
{
	unsigned u;
	memcpy(&u, &f, sizeof u);
	return u;
}

// The C library may have functions of these names.
#define __expf expf
#define rsqrtf(x) (1 / sqrtf(x))
