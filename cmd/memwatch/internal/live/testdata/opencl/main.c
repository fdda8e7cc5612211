// Allocates at random through OpenCL's loader and keeps books of its own.
//
//	opencl SEED STOPS CALLS
//
// At each stop it prints, for buffers, images and shared memory, the bytes and the number that are alive, and how many
// calls failed, and waits for a line of input. What a buffer or image takes is what the driver says of it.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void *obj;
typedef struct { unsigned order, type; } format;
typedef struct { unsigned type; size_t width, height, depth, array, row, slice; unsigned levels, samples; obj buffer; } desc;
typedef struct { size_t origin, size; } region;

int clGetPlatformIDs(unsigned, obj *, unsigned *);
int clGetDeviceIDs(obj, uint64_t, unsigned, obj *, unsigned *);
obj clCreateContext(const intptr_t *, unsigned, obj *, void *, void *, int *);
obj clCreateCommandQueue(obj, obj, uint64_t, int *);
obj clCreateBuffer(obj, uint64_t, size_t, void *, int *);
obj clCreateSubBuffer(obj, uint64_t, unsigned, void *, int *);
obj clCreateImage(obj, uint64_t, format *, desc *, void *, int *);
obj clCreateImage2D(obj, uint64_t, format *, size_t, size_t, size_t, void *, int *);
int clGetMemObjectInfo(obj, unsigned, size_t, void *, size_t *);
int clRetainMemObject(obj);
int clReleaseMemObject(obj);
void *clSVMAlloc(obj, uint64_t, size_t, unsigned);
void clSVMFree(obj, void *);
int clEnqueueSVMFree(obj, unsigned, void **, void *, void *, unsigned, obj *, obj *);
int clFinish(obj);

enum { BUFFER, IMAGE, SHARED, VIEW, KINDS };
static struct { obj o; int kind, refs; size_t size; int parent; } all[512];
static long bytes[KINDS], count[KINDS], failed;
static uint64_t seed;

static unsigned rnd(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

static size_t size_of(obj o)
{
	size_t n = 0;
	if (clGetMemObjectInfo(o, 0x1102, sizeof n, &n, 0)) // CL_MEM_SIZE
		exit(3);
	return n;
}

static void add(int i, obj o, int kind, size_t size)
{
	if (!o) {
		failed++;
		return;
	}
	all[i].o = o;
	all[i].kind = kind;
	all[i].refs = 1;
	all[i].size = size;
	all[i].parent = -1;
	bytes[kind] += size;
	count[kind]++;
}

static void gone(int i)
{
	bytes[all[i].kind] -= all[i].size;
	count[all[i].kind]--;
	all[i].o = 0;
}

int main(int argc, char **argv)
{
	obj platform, device, context, queue;
	int err, stops = atoi(argv[2]), calls = atoi(argv[3]);
	seed = atoi(argv[1]);
	if (clGetPlatformIDs(1, &platform, 0) || clGetDeviceIDs(platform, 0xffffffff, 1, &device, 0)) {
		printf("no device\n");
		return 0;
	}
	context = clCreateContext(0, 1, &device, 0, 0, &err);
	queue = clCreateCommandQueue(context, device, 0, &err);
	if (!context || !queue)
		return 2;
	format rgba = { 0x10B5, 0x10DE }, one = { 0x10B0, 0x10D2 }; // four floats; one byte
	printf("ready\n");
	fflush(stdout);
	getchar();
	for (int s = 0; s < stops; s++) {
		for (int c = 0; c < calls; c++) {
			int i = rnd(512), k = rnd(100);
			if (!all[i].o) {
				if (k < 4) {
					add(i, clCreateBuffer(context, 1, 0, 0, &err), BUFFER, 0); // no bytes: refused
				} else if (k < 45) {
					obj o = clCreateBuffer(context, 1, 1 + rnd(100000), 0, &err);
					add(i, o, BUFFER, o ? size_of(o) : 0);
				} else if (k < 60) {
					desc d = { 0x10F1, 1 + rnd(64), 1 + rnd(64) };
					obj o = clCreateImage(context, 1, &rgba, &d, 0, &err);
					add(i, o, IMAGE, o ? size_of(o) : 0);
				} else if (k < 70) {
					obj o = clCreateImage2D(context, 1, &one, 1 + rnd(64), 1 + rnd(64), 0, 0, &err);
					add(i, o, IMAGE, o ? size_of(o) : 0);
				} else if (k < 85) {
					size_t n = 1 + rnd(100000);
					add(i, clSVMAlloc(context, 1, n, 0), SHARED, n);
				} else { // a view of a buffer
					int p = rnd(512);
					if (all[p].o && all[p].kind == BUFFER && all[p].size > 8192) {
						region r = { 4096, 1024 };
						obj o = clCreateSubBuffer(all[p].o, 1, 0x1220, &r, &err);
						add(i, o, VIEW, 0);
						if (o) {
							all[i].parent = p;
							all[p].refs++; // the driver keeps the buffer for its view
						}
					}
				}
			} else if (all[i].kind == SHARED) {
				if (k < 50) {
					clSVMFree(context, all[i].o);
				} else {
					if (clEnqueueSVMFree(queue, 1, &all[i].o, 0, 0, 0, 0, 0))
						return 4;
					clFinish(queue);
				}
				gone(i);
			} else if (k < 20) {
				clRetainMemObject(all[i].o);
				all[i].refs++;
			} else if (all[i].kind == VIEW || all[i].parent == -1) {
				// A buffer with views is freed after them.
				int views = 0;
				for (int j = 0; j < 512; j++)
					views += all[j].o && all[j].kind == VIEW && all[j].parent == i;
				if (views && all[i].refs <= views + 1)
					continue;
				clReleaseMemObject(all[i].o);
				if (--all[i].refs == 0) {
					if (all[i].kind == VIEW)
						all[all[i].parent].refs--;
					gone(i);
				}
			}
		}
		printf("%ld %ld %ld %ld %ld %ld %ld %ld\n", bytes[BUFFER], count[BUFFER], bytes[IMAGE], count[IMAGE], bytes[SHARED], count[SHARED], count[VIEW], failed);
		fflush(stdout);
		getchar();
	}
	return 0;
}
