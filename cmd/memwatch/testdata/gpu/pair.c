// Measures cuMemAllocAsync + cuMemFreeAsync in rounds: prints ns a pair for each line of input.
#include <cuda.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(void)
{
	CUdevice d; CUcontext c; CUstream s; CUdeviceptr p; char line[64];
	cuInit(0); cuDeviceGet(&d, 0); cuDevicePrimaryCtxRetain(&c, d); cuCtxSetCurrent(c); cuStreamCreate(&s, 0);
	for (int i = 0; i < 1000; i++) { cuMemAllocAsync(&p, 1 << 20, s); cuMemFreeAsync(p, s); }
	printf("ready\n"); fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		const int n = 100000;
		double t = now();
		for (int i = 0; i < n; i++) {
			if (cuMemAllocAsync(&p, 1 << 20, s)) return 1;
			if (cuMemFreeAsync(p, s)) return 1;
		}
		printf("%.1f\n", (now() - t) / n); fflush(stdout);
	}
	return 0;
}
