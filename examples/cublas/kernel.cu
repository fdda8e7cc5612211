// The product of square matrices, a tile of it for each block: the block brings a tile of a and one of b into
// shared memory, and each thread sums up one element.

enum { TILE = 16 };

extern "C" __global__ void multiply(float *c, const float *a, const float *b, int n)
{
	__shared__ float as[TILE][TILE], bs[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;
	for (int at = 0; at < n; at += TILE) {
		int k = at + threadIdx.x, l = at + threadIdx.y;
		as[threadIdx.y][threadIdx.x] = row < n && k < n ? a[(size_t)row * n + k] : 0;
		bs[threadIdx.y][threadIdx.x] = column < n && l < n ? b[(size_t)l * n + column] : 0;
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
		__syncthreads();
	}
	if (row < n && column < n)
		c[(size_t)row * n + column] = sum;
}
