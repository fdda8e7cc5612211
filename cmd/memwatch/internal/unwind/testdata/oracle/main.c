// Functions with frames of all kinds call one another at random. Now and then one notes
// its registers and its stack, and what the C compiler's own unwinder says of it.
//
//	oracle SEED LOOKS
//
// For each look eight words (where it returns to, the stack pointer then, rbx, rbp, r12
// to r15), the number of bytes of stack and of frames, the bytes, and the frames.

#define _GNU_SOURCE
#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64 << 10, FRAMES = 512 };

// note writes what a probe at its own first byte sees.
void note(uint64_t *regs);
__asm__(".text\n.globl note\n.type note,@function\nnote:\n"
	"mov (%rsp),%rax\nmov %rax,(%rdi)\nlea 8(%rsp),%rax\nmov %rax,8(%rdi)\n"
	"mov %rbx,16(%rdi)\nmov %rbp,24(%rdi)\nmov %r12,32(%rdi)\nmov %r13,40(%rdi)\nmov %r14,48(%rdi)\nmov %r15,56(%rdi)\n"
	"ret\n.size note,.-note\n");

#define FRAME __attribute__((noinline, noclone))

static uint64_t seed;
static int looks;
static __thread char *top;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

FRAME int look(int x)
{
	void *frames[FRAMES];
	uint64_t head[10];
	note(head);
	int n = backtrace(frames, FRAMES);
	size_t size = top - (char *)head[1];
	head[8] = size < MOST ? size : MOST;
	head[9] = n;
	fwrite(head, 8, 10, stdout);
	fwrite((char *)head[1], 1, head[8], stdout);
	fwrite(frames, 8, n, stdout);
	looks--;
	return x + n;
}

static int on(int depth, int x);

FRAME int plain(int d, int x) { return on(d, x + 1) * 3 + x; }

FRAME int saves(int d, int x)
{
	int a = next(), b = next(), c = next(), e = next(), f = next();
	x = on(d, x);
	return x + a * b - c * e + f + on(d + 8, x ^ a);
}

FRAME int varies(int d, int x)
{
	char *p = alloca(next() % 200 + 8);
	memset(p, x, 8);
	return on(d, p[3]) + p[1];
}

FRAME int aligned(int d, int x)
{
	volatile int a[16] __attribute__((aligned(64)));
	a[x & 15] = x;
	return on(d, a[3]) + a[x & 15];
}

FRAME int alignedVaries(int d, int x, int p, int q, int r, int s, int t, int u)
{
	volatile int a[16] __attribute__((aligned(64)));
	volatile char *v = alloca((next() & 63) + 1);
	a[x & 15] = x + t;
	v[0] = u;
	return on(d, a[3] + u) + v[0] + p + q + r + s + t + u;
}

FRAME int many(int d, int x) { return alignedVaries(d, x, 3, 4, 5, 6, x + 7, x + 8) + 1; }

static __thread int sorted;

static int compare(const void *a, const void *b)
{
	if (sorted-- == 0)
		on(6, *(const int *)a);
	return *(const int *)a - *(const int *)b;
}

FRAME int sorts(int d, int x)
{
	int a[] = { 5, x, 3, 9, 1, 7 };
	sorted = 3;
	qsort(a, 6, sizeof *a, compare);
	return a[x & 3] + on(d + 9, x);
}

static void handle(int sig) { on(7, sig); }

FRAME int raises(int d, int x)
{
	raise(SIGUSR1);
	return x + on(d + 5, x);
}

static int on(int d, int x)
{
	if (d > 14 || looks <= 0)
		return looks > 0 ? look(x) : x;
	switch (next() % 8) {
	case 0: return plain(d + 1, x) + 1;
	case 1: return saves(d + 1, x) + 2;
	case 2: return varies(d + 1, x) + 3;
	case 3: return aligned(d + 1, x) + 4;
	case 4: return many(d + 1, x) + 5;
	case 5: return sorts(d + 1, x) + 6;
	case 6: return raises(d + 1, x) + 7;
	}
	return look(x) + plain(d + 1, x);
}

static void *work(void *arg)
{
	top = (char *)__builtin_frame_address(0) + 256; // within what the thread's start has
	for (int enough = looks / 2; looks > enough;)
		on(0, 1);
	return arg;
}

int main(int argc, char **argv)
{
	char line[4096];
	seed = strtoull(argv[1], 0, 10);
	looks = atoi(argv[2]);
	top = (char *)argv;
	signal(SIGUSR1, handle);
	pthread_t t;
	pthread_create(&t, 0, work, 0);
	pthread_join(t, 0);
	while (looks > 0)
		on(0, 1);
	fflush(stdout);
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, maps))
		fputs(line, stderr);
	return 0;
}
