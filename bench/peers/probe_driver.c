// A driver whose calls cost next to nothing, so that what a probe costs can be seen: cuMemAlloc_v2 and cuMemFree_v2, and
// the same with the names and the shape of malloc and free, which are all that bcc's memleak looks for.
//
//	cc -O2 -fno-builtin -fno-omit-frame-pointer -shared -fPIC -Wl,-soname,libcuda.so.1 -o libcuda.so.1 probe_driver.c

#include <stddef.h>
#include <stdint.h>

// Both begin as functions of the driver do, so that the kernel can put a probe there without a step of its own.
#define HEAD(name)                                                                                                     \
	__asm__(".text\n.balign 16\n.globl " #name "\n.type " #name ",@function\n" #name ":\n"                           \
		"push %rbp\nmov %rsp, %rbp\npop %rbp\njmp body_" #name "\n.size " #name ", .-" #name "\n");
#define BODY __attribute__((visibility("hidden"), used))

static __thread uint64_t next;

static uint64_t address(void) { return (uint64_t)(uintptr_t)&next + (++next << 20); }

HEAD(cuMemAlloc_v2)
HEAD(cuMemFree_v2)
HEAD(malloc)
HEAD(free)
BODY int body_cuMemAlloc_v2(uint64_t *p, size_t n)
{
	(void)n;
	*p = address();
	return 0;
}
BODY int body_cuMemFree_v2(uint64_t p)
{
	(void)p;
	return 0;
}
BODY void *body_malloc(size_t n)
{
	(void)n;
	return (void *)address();
}
BODY void body_free(void *p) { (void)p; }

// memleak wants these to be there; nobody calls them.
void *malloc(size_t n);
void free(void *p);
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *memalign(size_t align, size_t n)
{
	(void)align;
	return malloc(n);
}
void *realloc(void *p, size_t n)
{
	free(p);
	return malloc(n);
}
int posix_memalign(void **p, size_t align, size_t n)
{
	*p = memalign(align, n);
	return 0;
}
void *mmap(void *p, size_t n)
{
	(void)p;
	return malloc(n);
}
int munmap(void *p, size_t n)
{
	(void)n;
	free(p);
	return 0;
}
