// total is the sum of x over the threads of a block, whose number is a multiple of 32.
static __device__ double total(double x)
{
	__shared__ double warps[32];
	for (int lane = 16; lane; lane /= 2)
		x += __shfl_xor_sync(~0u, x, lane);
	if (threadIdx.x % 32 == 0)
		warps[threadIdx.x / 32] = x;
	__syncthreads();
	x = 0;
	for (int i = 0; i < blockDim.x / 32; i++)
		x += warps[i];
	return x;
}

// Each block adds up its share of the numbers.
extern "C" __global__ void reduce(double *parts, const float *numbers, int n)
{
	double x = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		x += numbers[i];
	x = total(x);
	if (threadIdx.x == 0)
		parts[blockIdx.x] = x;
}

// One block adds up the parts.
extern "C" __global__ void finish(double *sum, const double *parts, int n)
{
	double x = 0;
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		x += parts[i];
	x = total(x);
	if (threadIdx.x == 0)
		*sum = x;
}
