// Does what programs do and monitors do not expect. Between two steps it prints what it did and waits for a line.
//
//	unruly LIBRARY REPLACEMENT
//
// With "again" as its third argument it is what it has become by exec.

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *lib;
static int (*alloc)(uint64_t *, uint64_t);
static int (*release)(uint64_t);

static void load(const char *path)
{
	lib = dlopen(path, RTLD_NOW);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	alloc = dlsym(lib, "cuMemAlloc_v2");
	release = dlsym(lib, "cuMemFree_v2");
}

static void make(uint64_t n)
{
	uint64_t p;
	alloc(&p, n);
}

static void step(const char *what)
{
	char line[16];
	printf("%s %d\n", what, getpid());
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		exit(0);
}

int main(int argc, char **argv)
{
	setvbuf(stdin, 0, _IONBF, 0);
	load(argv[1]);
	if (argc > 3) {
		step("again");
		make(7000);
		step("made again");
		raise(9); // in the middle of everything
	}
	step("ready");
	make(1000);
	step("made");

	dlclose(lib); // unloaded, and another library is under its name when it is loaded again
	rename(argv[2], argv[1]);
	load(argv[1]);
	step("loaded");
	make(2000);
	step("replaced");

	int pid = fork();
	if (pid == 0) {
		make(4000);
		_exit(0);
	}
	waitpid(pid, 0, 0);
	step("forked");
	alloc((uint64_t *)8, 99); // no address for the result: the driver refuses
	alloc(0, 99);
	release(0xdeadbeefdeadbeef);
	step("nonsense");
	execl("/proc/self/exe", argv[0], argv[1], argv[2], "again", NULL);
	return 1;
}
