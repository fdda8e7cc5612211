// A driver that calls itself: inside a call, at the end of one, and one whose call never returns.

#include <setjmp.h>
#include <stdint.h>

extern jmp_buf out;

static uint64_t next = 0x1000000;

__attribute__((noinline)) int cuMemAlloc_v2(uint64_t *p, uint64_t n)
{
	*p = next += 1 << 20;
	return 0;
}
__attribute__((noinline)) int cuMemFree_v2(uint64_t p) { return p ? 0 : 1; }

// At their end they jump to another function of the driver.
__asm__(".text\n.globl cuMemAlloc\n.type cuMemAlloc,@function\ncuMemAlloc:\npush %rbp\npop %rbp\njmp cuMemAlloc_v2@PLT\n"
	".size cuMemAlloc, .-cuMemAlloc\n"
	".globl cuMemFree\n.type cuMemFree,@function\ncuMemFree:\npush %rbp\npop %rbp\njmp cuMemFree_v2@PLT\n"
	".size cuMemFree, .-cuMemFree\n");

__attribute__((noinline)) int cuMemHostAlloc(uint64_t *p, uint64_t n, unsigned flags) { return cuMemAlloc_v2(p, n); }
__attribute__((noinline)) int cuMemAllocHost_v2(uint64_t *p, uint64_t n)
{
	int r = cuMemHostAlloc(p, n, 0);
	return r ? r : *p == 0;
}

__attribute__((noinline)) int cuMemAllocManaged(uint64_t *p, uint64_t n, unsigned flags) { longjmp(out, 1); }
