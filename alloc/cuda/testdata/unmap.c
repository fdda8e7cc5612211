/*
 * Two mappings side by side are undone, by one call of cuMemUnmap or by one each, mapped anew and filled, over
 * and over. The driver allows both. compute-sanitizer's initcheck follows the second only: with the first, fills
 * fail there with CUDA_ERROR_LAUNCH_FAILED (719), and without the tool they do not.
 *
 *	gcc -o unmap unmap.c -lcuda
 *	compute-sanitizer --tool initcheck --report-api-errors no ./unmap 4 one     (or: each)
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call)                                                                        \
	do {                                                                            \
		CUresult r = (call);                                                    \
		if (r != CUDA_SUCCESS) {                                                \
			printf("round %d: %s: %d\n", round, #call, r);                  \
			return 1;                                                       \
		}                                                                       \
	} while (0)

enum { rounds = 300, all = 64 };

int main(int argc, char **argv) {
	if (argc != 3) {
		fprintf(stderr, "usage: unmap MEBIBYTES one|each\n");
		return 2;
	}
	size_t n = (size_t)atoi(argv[1]) << 20;
	int one = strcmp(argv[2], "one") == 0, round = 0;
	CUdevice dev;
	CUcontext ctx;
	CUdeviceptr base;
	CUmemGenericAllocationHandle at[all] = {0};
	OK(cuInit(0));
	OK(cuDeviceGet(&dev, 0));
	OK(cuDevicePrimaryCtxRetain(&ctx, dev));
	OK(cuCtxSetCurrent(ctx));
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemAccessDesc open = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	OK(cuMemAddressReserve(&base, all * n, n, 0, 0));
	for (; round < rounds; round++) {
		int i = rand() % (all - 1);
		for (int k = i; k < i + 2; k++)
			if (!at[k]) {
				OK(cuMemCreate(&at[k], n, &prop, 0));
				OK(cuMemMap(base + k * n, n, 0, at[k], 0));
				OK(cuMemSetAccess(base + k * n, n, &open, 1));
			}
		OK(cuMemsetD8(base + i * n, round, 2 * n));
		OK(cuCtxSynchronize());
		int j = rand() % (all - 1);
		if (!at[j] || !at[j + 1])
			continue;
		if (one) {
			OK(cuMemUnmap(base + j * n, 2 * n));
		} else {
			OK(cuMemUnmap(base + j * n, n));
			OK(cuMemUnmap(base + (j + 1) * n, n));
		}
		OK(cuMemRelease(at[j]));
		OK(cuMemRelease(at[j + 1]));
		at[j] = at[j + 1] = 0;
	}
	printf("ok\n");
	return 0;
}
