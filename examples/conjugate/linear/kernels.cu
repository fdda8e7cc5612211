// A sparse matrix times a vector: a thread for each row, whose elements lie from starts[row] on.
extern "C" __global__ void multiply(float *y, const int *starts, const int *columns, const float *values,
	const float *x, int rows)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= rows)
		return;
	float sum = 0;
	for (int i = starts[row]; i < starts[row + 1]; i++)
		sum += values[i] * x[columns[i]];
	y[row] = sum;
}

// The quotient of two numbers, and its negative.
extern "C" __global__ void divide(float *q, float *negative, const float *a, const float *b)
{
	float x = *b == 0 ? 0 : *a / *b;
	*q = x;
	*negative = -x;
}
