// A program that lays out what CPython 3.14 has, says so, and allocates: as that does, or in a way that nothing
// should follow. Where it has what is not where CPython has it, so that only what _Py_DebugOffsets says is true.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <pthread.h>
#include <time.h>

int cuMemAlloc_v2(uint64_t *p, uint64_t n);
int cuMemFree_v2(uint64_t p);

typedef uint64_t u64;
enum { INTERPRETERS = 1000, NEXT = 24, THREADS = 160, THREAD_NEXT = 8, FRAME = 40, ID = 64 };
enum { PREVIOUS = 8, EXECUTABLE = 16, INSTRUCTION = 24, OWNER = 33 };
enum { LINE = 60, FILE_AT = 64, VERSION = 76, NAME = 80, TABLE = 88, BYTECODE = 144 };

const unsigned long Py_Version = 0x030e00f0;
u64 _PyRuntime[1024] = {
	[0] = 0x7970677562656478, [1] = 0x030e00f0, // xdebugpy
	[5] = INTERPRETERS, [8] = NEXT, [9] = THREADS, [24] = THREAD_NEXT, [26] = FRAME, [27] = ID,
	[32] = PREVIOUS, [33] = EXECUTABLE, [34] = INSTRUCTION, [36] = OWNER,
	[40] = FILE_AT, [42] = NAME, [43] = TABLE, [44] = LINE, [46] = VERSION + 4, [48] = BYTECODE,
	[50] = 16, [75] = 16, [76] = 32, [77] = 64, [78] = 32, [79] = 16, [80] = 40,
};

static u64 interpreter[64], other[64], strangers[2000][16], thread[16];

static void *at(void *p, int offset) { return (char *)p + offset; }
static void put(void *p, int offset, const void *v) { *(const void **)at(p, offset) = v; }

static void *str(const char *s)
{
	size_t n = strlen(s);
	char *p = calloc(1, 48 + n);
	*(u64 *)(p + 16) = n;
	*(u64 *)(p + 24) = -1;
	*(uint32_t *)(p + 32) = 1 | 1 << 16 | 1 << 19 | 1 << 20; // interned; of one byte, compact, ASCII
	memcpy(p + 40, s, n);
	return p;
}

static char *code(const char *file, const char *name, int line)
{
	char *c = calloc(1, 256), *table = calloc(1, 64);
	put(c, FILE_AT, str(file));
	put(c, NAME, str(name));
	put(c, TABLE, table);
	*(int *)(c + LINE) = line;
	*(u64 *)(table + 16) = 2;
	table[32] = 0x80; // an instruction at the first line
	table[34] = 0xd8; // and one at the next
	*(u64 *)(table + 16) = 5;
	return c;
}

static char *frame(char *code, int instruction, char *previous, int owner)
{
	char *f = calloc(1, 96);
	put(f, PREVIOUS, previous);
	put(f, EXECUTABLE, code + 1); // a reference that is not counted
	put(f, INSTRUCTION, code ? code + BYTECODE + instruction : 0);
	f[OWNER] = owner;
	return f;
}

static void allocate(u64 size)
{
	u64 p = 0;
	cuMemAlloc_v2(&p, size);
	cuMemFree_v2(p);
}

static void *stranger(void *size)
{
	allocate((u64)size);
	return 0;
}

int main(int argc, char **argv)
{
	char *outer = frame(code("/app/train.py", "main", 10), 2, 0, 0);
	char *shim = frame(0, 0, outer, 3);
	char *inner_code = code("/app/model.py", "Model.forward", 20), *inner = frame(inner_code, 0, shim, 1);
	char *nowhere = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char line[64];
	put(_PyRuntime, INTERPRETERS, other); // one without threads, and one with many
	put(other, NEXT, interpreter);
	put(interpreter, THREADS, strangers[0]);
	for (int i = 0; i < 100; i++)
		put(strangers[i], THREAD_NEXT, i < 99 ? (void *)strangers[i + 1] : thread);
	*(u64 *)at(thread, ID) = (u64)pthread_self();
	puts("ready");
	fflush(stdout);
	for (u64 size = 1000; fgets(line, sizeof line, stdin); size++) {
		put(thread, FRAME, inner);
		line[strcspn(line, "\n")] = 0;
		if (!strcmp(line, "self"))
			put(inner, PREVIOUS, inner);
		else if (!strcmp(line, "circle"))
			put(outer, PREVIOUS, inner);
		else if (!strcmp(line, "nowhere"))
			put(thread, FRAME, nowhere);
		else if (!strcmp(line, "kernel"))
			put(thread, FRAME, (void *)0xffff888000000000);
		else if (!strcmp(line, "no code"))
			put(inner, EXECUTABLE, nowhere);
		else if (!strcmp(line, "no texts")) {
			put(inner_code, FILE_AT, nowhere);
			put(inner_code, NAME, 0);
			put(inner_code, TABLE, (void *)-1);
		} else if (!strcmp(line, "long texts")) {
			*(u64 *)(*(char **)(inner_code + FILE_AT) + 16) = -1;
			*(u64 *)(*(char **)(inner_code + NAME) + 16) = 1ull << 62;
			*(u64 *)(*(char **)(inner_code + TABLE) + 16) = 1ull << 63;
		} else if (!strcmp(line, "other kinds")) {
			*(uint32_t *)(*(char **)(inner_code + FILE_AT) + 32) = 0xffff0001;
			*(uint32_t *)(*(char **)(inner_code + NAME) + 32) = 0xffffffff;
		} else if (!strcmp(line, "bad table")) {
			memset(*(char **)(inner_code + TABLE) + 32, 0x7f, 5);
		} else if (!strcmp(line, "threads in a circle")) {
			*(u64 *)at(thread, ID) = 1;
			put(thread, THREAD_NEXT, strangers[50]);
		} else if (!strcmp(line, "interpreters in a circle")) {
			*(u64 *)at(thread, ID) = 1;
			put(interpreter, THREADS, 0);
			put(interpreter, NEXT, other);
		} else if (!strcmp(line, "too many threads")) {
			for (int i = 0; i < 2000; i++)
				put(strangers[i], THREAD_NEXT, i < 1999 ? (void *)strangers[i + 1] : thread);
		} else if (!strcmp(line, "deep")) {
			for (int i = 0; i < 100000; i++)
				inner = frame(inner_code, 2, inner, 0);
			put(thread, FRAME, inner);
		} else if (!strcmp(line, "another code")) { // where the one before was
			put(inner_code, NAME, str("Model.train"));
		} else if (!strcmp(line, "another version")) {
			*(int *)(inner_code + VERSION) = 7;
			put(inner_code, NAME, str("Model.test"));
		} else if (!strcmp(line, "another line")) {
			(*(char **)(inner_code + TABLE))[32] = 0xd8;
		} else if (!strcmp(line, "another file")) {
			memcpy(*(char **)(inner_code + FILE_AT) + 40, "/app/trial.py", 13);
		}
		int n, depth, versions;
		if (sscanf(line, "rate %d %d %d", &n, &depth, &versions) == 3) { // calls, and frames of different codes
			char *f = 0, name[32];
			for (int i = 0; i < depth; i++) {
				sprintf(name, "/app/package/module%d.py", i);
				char *c = code(name, "Class.method", 1);
				*(int *)(c + VERSION) = versions ? i + 1 : 0; // 3.11 has none
				f = frame(c, 2, f, 0);
			}
			put(thread, FRAME, f);
			put(_PyRuntime, INTERPRETERS, interpreter);
			double best = 1e18;
			for (int round = 0; round < 10; round++) { // in time of the processor: others use it as well
				struct timespec a, b;
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
				for (int i = 0; i < n / 10; i++)
					allocate(size);
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
				double ns = ((b.tv_sec - a.tv_sec) * 1e9 + b.tv_nsec - a.tv_nsec) / (n / 10);
				best = ns < best ? ns : best;
			}
			printf("%.0f\n", best);
			fflush(stdout);
			continue;
		}
		pthread_t t;
		if (strcmp(line, "stranger"))
			allocate(size);
		else if (!pthread_create(&t, 0, stranger, (void *)size)) // that Python knows nothing of
			pthread_join(t, 0);
		puts("done");
		fflush(stdout);
	}
}
