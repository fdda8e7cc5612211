// A stand-in for NVML: two devices, of which the second tells neither its load nor its processes. FAILS makes its
// initialization fail, BARE leaves out what may be missing.
#include <string.h>

int nvmlInit_v2(void)
{
#ifdef FAILS
	return 9;
#endif
	return 0;
}
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int r) { return r == 9 ? "Driver Not Loaded" : "Not Supported"; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(unsigned long)(i + 1); return 0; }
int nvmlDeviceGetName(void *d, char *name, unsigned n) { strncpy(name, d == (void *)1 ? "First" : "Second\033[2J", n); return 0; }
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *m)
{
	m[0] = 8ull << 30, m[1] = 5ull << 30, m[2] = 3ull << 30;
	return 0;
}
#ifndef BARE
int nvmlDeviceGetUtilizationRates(void *d, unsigned *b) { b[0] = 87, b[1] = 10; return d == (void *)1 ? 0 : 3; }
struct process { unsigned pid; unsigned long long used; unsigned gpu, compute; };
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, struct process *p)
{
	if (d != (void *)1 || *n < 3)
		return 3;
	p[0] = (struct process){ 4711, 1 << 20, -1, -1 };
	p[1] = (struct process){ 4712, -1, -1, -1 };
	p[2] = (struct process){ 4711, 2 << 20, -1, -1 };
	*n = 3;
	return 0;
}
#endif
