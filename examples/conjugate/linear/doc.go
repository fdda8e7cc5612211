// Package linear has what solving a linear system needs: a sparse matrix, and the work with vectors that is
// enqueued on a stream. On a GPU that is done by cuBLAS and kernels in CUDA C, elsewhere by Go functions.
package linear
