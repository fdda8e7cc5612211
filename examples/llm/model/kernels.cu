// The kernels of a transformer, for weights and activations of 16 bits; sums are of 32. The sizes of the
// model are constants that the compiler is given: WIDTH, HEADS, KV_HEADS, HEAD, HIDDEN, VOCAB, CONTEXT, and
// BLOCK, the positions of a block of the cache. What each kernel takes stands in kernels.go; kernels_host.go
// does the same in Go.

#include "instructions.h"

enum { SET, ADD, GATED, REAL }; // what project does with its sums

constexpr int QUERIES = HEADS * HEAD, KEYS = KV_HEADS * HEAD, INNER = QUERIES + 2 * KEYS;
constexpr unsigned ALL = 0xffffffff; // lanes of a warp
constexpr float EPSILON = 1e-5f;

__device__ float wide(bfloat16 h) { return __uint_as_float((unsigned)h << 16); }
__device__ float low(unsigned w) { return __uint_as_float(w << 16); }
__device__ float high(unsigned w) { return __uint_as_float(w & 0xffff0000); }
__device__ bfloat16 narrow(float x) { return (bfloat16)pack(x, 0); }
__device__ float silu(float x) { return x / (1 + __expf(-x)); }

__device__ float warp_sum(float v)
{
	for (int o = 16; o > 0; o /= 2)
		v += __shfl_xor_sync(ALL, v, o);
	return v;
}

extern "C" __global__ void random_numbers(bfloat16 *y, unsigned seed, float scale, unsigned n)
{
	for (unsigned j = threadIdx.x; j < 1024; j += blockDim.x) {
		unsigned i = blockIdx.x * 1024 + j;
		if (i >= n)
			return;
		unsigned x = i * 0x9e3779b9u + seed;
		x = (x ^ x >> 16) * 0x85ebca6bu;
		x = (x ^ x >> 13) * 0xc2b2ae35u;
		x ^= x >> 16;
		y[i] = narrow(scale * ((float)((int)x >> 8) / (1 << 23)));
	}
}

extern "C" __global__ void gather_rows(bfloat16 *y, const bfloat16 *table, const int *index)
{
	const uint4 *from = (const uint4 *)(table + (size_t)index[blockIdx.x] * WIDTH);
	uint4 *to = (uint4 *)(y + (size_t)blockIdx.x * WIDTH);
	for (int i = threadIdx.x; i < WIDTH / 8; i += blockDim.x)
		to[i] = from[i];
}

// normalize takes a row for each block of 256 threads.
extern "C" __global__ void normalize(bfloat16 *y, const bfloat16 *x, const bfloat16 *gain)
{
	__shared__ float part[8];
	x += (size_t)blockIdx.x * WIDTH;
	y += (size_t)blockIdx.x * WIDTH;
	float sum = 0;
	for (int i = 2 * threadIdx.x; i < WIDTH; i += 2 * blockDim.x) {
		unsigned w = *(const unsigned *)(x + i);
		sum += low(w) * low(w) + high(w) * high(w);
	}
	sum = warp_sum(sum);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	sum = 0;
	for (int i = 0; i < 8; i++)
		sum += part[i];
	float f = rsqrtf(sum / WIDTH + EPSILON);
	for (int i = 2 * threadIdx.x; i < WIDTH; i += 2 * blockDim.x) {
		unsigned w = *(const unsigned *)(x + i), g = *(const unsigned *)(gain + i);
		*(unsigned *)(y + i) = pack(low(w) * f * low(g), high(w) * f * high(g));
	}
}

// weighed multiplies two numbers by their gains and adds their squares to sum.
__device__ unsigned weighed(unsigned x, unsigned gain, float &sum)
{
	float a = low(x), b = high(x);
	sum += a * a + b * b;
	return pack(a * low(gain), b * high(gain));
}

// project multiplies up to 8*N rows of x by 16 rows of w for each block of 8 warps; with T = 2 by 16 more,
// outputs further down. It is bound by reading w: each lane reads 16 bytes at once, and several of them
// before it uses the first.
//
// A warp takes every eighth stretch of 32 inputs. The machine multiplies 16 inputs at once, in an order of
// its own, in which a lane has the inputs 2*t, 2*t+1, 2*t+8 and 2*t+9 of one row of w, of another, and of one
// row of x. As a sum is the same in any order, what a lane reads of w and x, the inputs 8*t to 8*t+7, is
// given to it as if it were these, in two halves.
//
// If there is a gain the rows are to be normalized. Who multiplies all of a row by one number can do so at
// the end: so squares are summed up on the way.
template <int T, int N>
__device__ void project(void *y, const bfloat16 *w, const bfloat16 *x, const bfloat16 *gain, int inputs, int outputs,
	int rows, int what)
{
	constexpr int WARPS = 8, STRETCH = 32, AHEAD = 4;
	__shared__ float part[WARPS][T][N][4][32], norms[WARPS][8 * N];
	int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, first = 16 * blockIdx.x;
	const bfloat16 *from = w + (size_t)(first + g) * inputs + 8 * t;
	float sum[T][N][4] = {}, squares[N] = {};
	for (int k = STRETCH * warp; k < inputs; k += STRETCH * WARPS * AHEAD) {
		uint4 a[AHEAD][T][2];
#pragma unroll
		for (int u = 0; u < AHEAD; u++) {
			int at = k + STRETCH * WARPS * u;
			if (at < inputs)
#pragma unroll
				for (int i = 0; i < T; i++) {
					a[u][i][0] = fetch(from + (size_t)i * outputs * inputs + at);
					a[u][i][1] = fetch(from + ((size_t)i * outputs + 8) * inputs + at);
				}
		}
#pragma unroll
		for (int u = 0; u < AHEAD; u++) {
			int at = k + STRETCH * WARPS * u;
			if (at >= inputs)
				break;
			uint4 by = {};
			if (gain)
				by = *(const uint4 *)(gain + at + 8 * t);
#pragma unroll
			for (int n = 0; n < N; n++) {
				uint4 b = {};
				if (8 * n + g < rows)
					b = *(const uint4 *)(x + (size_t)(8 * n + g) * inputs + at + 8 * t);
				if (gain) {
					b.x = weighed(b.x, by.x, squares[n]);
					b.y = weighed(b.y, by.y, squares[n]);
					b.z = weighed(b.z, by.z, squares[n]);
					b.w = weighed(b.w, by.w, squares[n]);
				}
#pragma unroll
				for (int i = 0; i < T; i++) {
					uint4 p = a[u][i][0], q = a[u][i][1];
					multiply_add(sum[i][n], p.x, q.x, p.y, q.y, b.x, b.y);
					multiply_add(sum[i][n], p.z, q.z, p.w, q.w, b.z, b.w);
				}
			}
		}
	}
#pragma unroll
	for (int n = 0; n < N; n++) {
#pragma unroll
		for (int i = 0; i < T; i++)
#pragma unroll
			for (int j = 0; j < 4; j++)
				part[warp][i][n][j][lane] = sum[i][n][j];
		float v = squares[n];
		v += __shfl_xor_sync(ALL, v, 1);
		v += __shfl_xor_sync(ALL, v, 2);
		if (t == 0)
			norms[warp][8 * n + g] = v;
	}
	__syncthreads();
	// A thread for each output and row. The machine leaves output o of row r with lane 4*(o%8) + r%8/2.
	int o = threadIdx.x % 16, r = threadIdx.x / 16;
	if (r >= rows || r >= 8 * N)
		return;
	int holder = 4 * (o % 8) + r % 8 / 2, j = o / 8 * 2 + r % 2;
	float v[T] = {}, f = 0;
	for (int i = 0; i < WARPS; i++) {
		for (int h = 0; h < T; h++)
			v[h] += part[i][h][r / 8][j][holder];
		f += norms[i][r];
	}
	f = gain ? rsqrtf(f / inputs + EPSILON) : 1;
	size_t at = (size_t)r * outputs + first + o;
	bfloat16 *to = (bfloat16 *)y + at;
	if (T == 2)
		*to = narrow(silu(f * v[0]) * f * v[T - 1]);
	else if (what == REAL)
		((float *)y)[at] = f * v[0];
	else if (what == ADD)
		*to = narrow(wide(*to) + f * v[0]);
	else
		*to = narrow(f * v[0]);
}

#define PROJECT(name, T, N) \
	extern "C" __global__ void __launch_bounds__(256) name(void *y, const bfloat16 *w, const bfloat16 *x, \
		const bfloat16 *gain, int inputs, int outputs, int rows, int what) \
	{ \
		project<T, N>(y, w, x, gain, inputs, outputs, rows, what); \
	}

PROJECT(project11, 1, 1)
PROJECT(project12, 1, 2)
PROJECT(project21, 2, 1)
PROJECT(project22, 2, 2)

// slot returns where a position of a sequence lies in the cache of a layer.
__device__ size_t slot(const int *table, int sequence, int position)
{
	int block = table[sequence * (CONTEXT / BLOCK) + position / BLOCK];
	return ((size_t)block * BLOCK + position % BLOCK) * KEYS;
}

// store_keys takes a row for each block.
extern "C" __global__ void store_keys(bfloat16 *qkv, bfloat16 *keys, bfloat16 *values, const float *angles,
	const int *positions, const int *sequences, const int *table)
{
	int position = positions[blockIdx.x];
	size_t to = slot(table, sequences[blockIdx.x], position);
	bfloat16 *row = qkv + (size_t)blockIdx.x * INNER;
	for (int i = threadIdx.x; i < (QUERIES + KEYS) / 2; i += blockDim.x) {
		int head = i / (HEAD / 2), j = i % (HEAD / 2);
		float cos = angles[position * HEAD + 2 * j], sin = angles[position * HEAD + 2 * j + 1];
		float a = wide(row[head * HEAD + j]), b = wide(row[head * HEAD + HEAD / 2 + j]);
		bfloat16 *at = head < HEADS ? row + head * HEAD : keys + to + (head - HEADS) * HEAD;
		at[j] = narrow(a * cos - b * sin);
		at[HEAD / 2 + j] = narrow(b * cos + a * sin);
	}
	for (int i = threadIdx.x; i < KEYS; i += blockDim.x)
		values[to + i] = row[QUERIES + KEYS + i];
}

// spread makes eight numbers of 32 bits of as many of 16.
__device__ void spread(float to[8], uint4 v)
{
	to[0] = low(v.x), to[1] = high(v.x), to[2] = low(v.y), to[3] = high(v.y);
	to[4] = low(v.z), to[5] = high(v.z), to[6] = low(v.w), to[7] = high(v.w);
}

// A gathered is a sum of values, weighed by how well their keys fit a query: relative to the best fit so far.
struct gathered {
	float most, total, sum[8];

	// scale makes the sum relative to a better fit.
	__device__ void scale(float fit)
	{
		float f = exp2f(most - fit);
		total *= f;
		for (int i = 0; i < 8; i++)
			sum[i] *= f;
		most = fit;
	}
};

constexpr float NONE = -1e30f; // no fit at all

// attend takes a row and a head for each block of 8 warps. A group of HEAD/8 lanes looks at one position at a
// time, eight numbers a lane. AHEAD positions are read before the first is used: many where the machine has
// few blocks to turn to meanwhile.
template <int AHEAD>
__device__ void attend(bfloat16 *y, const bfloat16 *qkv, const bfloat16 *keys, const bfloat16 *values,
	const int *positions, const int *sequences, const int *table)
{
	constexpr int LANES = HEAD / 8, GROUPS = 32 / LANES, WARPS = 8;
	__shared__ float most[WARPS], total[WARPS], sums[WARPS][HEAD];
	int row = blockIdx.x, head = blockIdx.y, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	int last = positions[row], sequence = sequences[row];
	int offset = head / (HEADS / KV_HEADS) * HEAD + lane % LANES * 8;
	float q[8];
	spread(q, *(const uint4 *)(qkv + (size_t)row * INNER + head * HEAD + lane % LANES * 8));
	for (int i = 0; i < 8; i++)
		q[i] *= rsqrtf(HEAD) * 1.44269504f; // to the base of 2
	gathered all = {NONE};
	for (int from = warp * GROUPS; from <= last; from += WARPS * GROUPS * AHEAD) {
		uint4 k[AHEAD], v[AHEAD];
#pragma unroll
		for (int u = 0; u < AHEAD; u++) {
			int p = from + WARPS * GROUPS * u + lane / LANES;
			k[u] = v[u] = {};
			if (p <= last) {
				size_t at = slot(table, sequence, p) + offset;
				k[u] = *(const uint4 *)(keys + at);
				v[u] = *(const uint4 *)(values + at);
			}
		}
#pragma unroll
		for (int u = 0; u < AHEAD; u++) {
			float fit = 0, key[8], value[8];
			spread(key, k[u]);
			spread(value, v[u]);
			for (int i = 0; i < 8; i++)
				fit += q[i] * key[i];
			for (int o = LANES / 2; o > 0; o /= 2)
				fit += __shfl_xor_sync(ALL, fit, o);
			if (from + WARPS * GROUPS * u + lane / LANES > last)
				continue;
			if (fit > all.most)
				all.scale(fit);
			float e = exp2f(fit - all.most);
			all.total += e;
			for (int i = 0; i < 8; i++)
				all.sum[i] += e * value[i];
		}
	}
	for (int o = LANES; o < 32; o *= 2) {
		all.scale(fmaxf(all.most, __shfl_xor_sync(ALL, all.most, o)));
		all.total += __shfl_xor_sync(ALL, all.total, o);
		for (int i = 0; i < 8; i++)
			all.sum[i] += __shfl_xor_sync(ALL, all.sum[i], o);
	}
	if (lane < LANES)
		for (int i = 0; i < 8; i++)
			sums[warp][8 * lane + i] = all.sum[i];
	if (lane == 0) {
		most[warp] = all.most;
		total[warp] = all.total;
	}
	__syncthreads();
	int i = threadIdx.x;
	if (i >= HEAD)
		return;
	float best = NONE, sum = 0, weight = 0;
	for (int w = 0; w < WARPS; w++)
		best = fmaxf(best, most[w]);
	for (int w = 0; w < WARPS; w++) {
		float f = exp2f(most[w] - best);
		sum += f * sums[w][i];
		weight += f * total[w];
	}
	y[((size_t)row * HEADS + head) * HEAD + i] = narrow(sum / weight);
}

#define ATTEND(name, AHEAD) \
	extern "C" __global__ void __launch_bounds__(256, 1) name(bfloat16 *y, const bfloat16 *qkv, const bfloat16 *keys, \
		const bfloat16 *values, const int *positions, const int *sequences, const int *table) \
	{ \
		attend<AHEAD>(y, qkv, keys, values, positions, sequences, table); \
	}

ATTEND(attend_few, 8)
ATTEND(attend_many, 2)

// gate takes a row for each block.
extern "C" __global__ void gate(bfloat16 *y, const bfloat16 *x)
{
	x += (size_t)blockIdx.x * 2 * HIDDEN;
	y += (size_t)blockIdx.x * HIDDEN;
	for (int i = 2 * threadIdx.x; i < HIDDEN; i += 2 * blockDim.x) {
		unsigned g = *(const unsigned *)(x + i), v = *(const unsigned *)(x + HIDDEN + i);
		*(unsigned *)(y + i) = pack(silu(low(g)) * low(v), silu(high(g)) * high(v));
	}
}

// better reports whether x, at i, comes before the best at b: of equals the first does.
__device__ bool better(float x, int i, float best, int b) { return x > best || (x == best && i < b); }

// pick_tokens takes a row for each block of 1024 threads.
extern "C" __global__ void pick_tokens(const float *logits, int *tokens, int *positions, const int *sequences, int *out)
{
	__shared__ float values[32];
	__shared__ int places[32];
	logits += (size_t)blockIdx.x * VOCAB;
	float best = logits[0];
	int place = 0;
	for (int i = 4 * threadIdx.x; i < VOCAB; i += 4 * blockDim.x) {
		float4 v = *(const float4 *)(logits + i);
		float x[4] = {v.x, v.y, v.z, v.w};
		for (int j = 0; j < 4; j++)
			if (better(x[j], i + j, best, place))
				best = x[j], place = i + j;
	}
	for (int step = 0; step < 2; step++) { // within each warp, then between warps
		for (int o = 16; o > 0; o /= 2) {
			float x = __shfl_xor_sync(ALL, best, o);
			int i = __shfl_xor_sync(ALL, place, o);
			if (better(x, i, best, place))
				best = x, place = i;
		}
		if (step == 0) {
			if (threadIdx.x % 32 == 0) {
				values[threadIdx.x / 32] = best;
				places[threadIdx.x / 32] = place;
			}
			__syncthreads();
			best = values[threadIdx.x % 32];
			place = places[threadIdx.x % 32];
		}
	}
	if (threadIdx.x > 0)
		return;
	int position = ++positions[blockIdx.x];
	tokens[blockIdx.x] = place;
	if (position < CONTEXT)
		out[sequences[blockIdx.x] * CONTEXT + position] = place;
}
