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

// A step of Jacobi's method, a thread for each row: its own element of x is made to fit, the others are as they
// were. What was left of the right-hand side is in left.
extern "C" __global__ void relax(float *y, float *left, const int *starts, const int *columns, const float *values,
	const float *right, const float *x, int rows)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= rows)
		return;
	float sum = right[row], own = 0;
	for (int i = starts[row]; i < starts[row + 1]; i++) {
		sum -= values[i] * x[columns[i]];
		if (columns[i] == row)
			own = values[i];
	}
	left[row] = sum;
	y[row] = x[row] + sum / own;
}

// The quotient of two numbers, and its negative.
extern "C" __global__ void divide(float *q, float *negative, const float *a, const float *b)
{
	float x = *b == 0 ? 0 : *a / *b;
	*q = x;
	*negative = -x;
}
