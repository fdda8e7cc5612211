// The machine instructions that kernels.cu wants and CUDA C has no names for without CUDA's headers.

typedef unsigned short bfloat16; // the upper half of a float

// fetch reads what is read once: it takes no room in the first cache.
__device__ inline uint4 fetch(const bfloat16 *p)
{
	uint4 v;
	asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
		: "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
	return v;
}

// pack rounds two numbers to 16 bits and puts them into one word, the first one below.
__device__ inline unsigned pack(float low, float high)
{
	unsigned w;
	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low));
	return w;
}

// multiply_add adds to c, a matrix of 16 x 8 that a warp holds, the product of a and b, of 16 x 16 and 16 x
// 8.
__device__ inline void multiply_add(float c[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1)
{
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		: "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
