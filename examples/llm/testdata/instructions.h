// What instructions.h is on a machine without a GPU: see cudac.h of the stand-in driver.

typedef unsigned short bfloat16;

static inline uint4 fetch(const bfloat16 *p) { return *(const uint4 *)p; }

static inline unsigned rounded(float x)
{
	unsigned u = __float_as_uint(x);
	return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

static inline unsigned pack(float low, float high) { return rounded(low) | rounded(high) << 16; }

// multiply_add works as the machine does: lane 4*g+t has the columns 2*t, 2*t+1, 2*t+8 and 2*t+9 of the rows
// g and g+8 of a, these rows of column g of b, and the columns 2*t and 2*t+1 of the rows g and g+8 of c.
static inline void multiply_add(float c[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
	unsigned b1)
{
	auto mine = standin::show({a0, a1, a2, a3, b0, b1});
	int lane = standin::self % 32;
	for (int j = 0; j < 4; j++) {
		int row = lane / 4 + 8 * (j / 2), column = lane % 4 * 2 + j % 2;
		for (int k = 0; k < 16; k++) {
			unsigned a = standin::of<unsigned>(row % 8 * 4 + k % 8 / 2, mine, row / 8 + k / 8 * 2);
			unsigned b = standin::of<unsigned>(column * 4 + k % 8 / 2, mine, 4 + k / 8);
			c[j] += __uint_as_float(k % 2 ? a & 0xffff0000 : a << 16) * __uint_as_float(k % 2 ? b & 0xffff0000 : b << 16);
		}
	}
}
