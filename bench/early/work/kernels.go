package work

import (
	"math"

	"github.com/lastuse/lastuse/alloc/host"
)

func slice(a host.Args, i int) []float32 { return host.Slice[float32](a, i) }

// Scale multiplies all elements by x.
func (d *Dev) Scale(b Buffer, x float32) {
	d.launch(func(a host.Args) {
		b := slice(a, 0)
		for i := range b {
			b[i] *= x
		}
	}, b.Arg())
}

// BlurRows writes the mean of each pixel and its two neighbours in its row; rows are width long.
func (d *Dev) BlurRows(dst, src Buffer, width int) { d.blur(dst, src, 1, width) }

// BlurColumns does the same along columns.
func (d *Dev) BlurColumns(dst, src Buffer, width int) { d.blur(dst, src, width, src.Len()) }

// blur takes neighbours step apart that lie in the same part of length period.
func (d *Dev) blur(dst, src Buffer, step, period int) {
	d.launch(func(a host.Args) {
		dst, src := slice(a, 0), slice(a, 1)
		for i := range src {
			sum, n := src[i], float32(1)
			if at := i % period; at >= step {
				sum, n = sum+src[i-step], n+1
			}
			if at := i % period; at+step < period && i+step < len(src) {
				sum, n = sum+src[i+step], n+1
			}
			dst[i] = sum / n
		}
	}, dst.Arg(), src.Arg())
}

// Subtract writes x - y.
func (d *Dev) Subtract(dst, x, y Buffer) {
	d.launch(func(a host.Args) {
		dst, x, y := slice(a, 0), slice(a, 1), slice(a, 2)
		for i := range dst {
			dst[i] = x[i] - y[i]
		}
	}, dst.Arg(), x.Arg(), y.Arg())
}

// Quarter writes the mean of each four elements.
func (d *Dev) Quarter(dst, src Buffer) {
	d.launch(func(a host.Args) {
		dst, src := slice(a, 0), slice(a, 1)
		for i := range dst {
			dst[i] = (src[4*i] + src[4*i+1] + src[4*i+2] + src[4*i+3]) / 4
		}
	}, dst.Arg(), src.Arg())
}

// MatMul writes the product of x (rows by inner) and y (inner by columns).
func (d *Dev) MatMul(dst, x, y Buffer, rows, inner, columns int) {
	d.launch(func(a host.Args) {
		dst, x, y := slice(a, 0), slice(a, 1), slice(a, 2)
		clear(dst)
		for i := range rows {
			for k := range inner {
				axpy(dst[i*columns:(i+1)*columns], y[k*columns:(k+1)*columns], x[i*inner+k])
			}
		}
	}, dst.Arg(), x.Arg(), y.Arg())
}

// MatMulLeft writes the product of x transposed (x is rows by inner) and y (rows by columns).
func (d *Dev) MatMulLeft(dst, x, y Buffer, rows, inner, columns int) {
	d.launch(func(a host.Args) {
		dst, x, y := slice(a, 0), slice(a, 1), slice(a, 2)
		clear(dst)
		for i := range rows {
			for k := range inner {
				axpy(dst[k*columns:(k+1)*columns], y[i*columns:(i+1)*columns], x[i*inner+k])
			}
		}
	}, dst.Arg(), x.Arg(), y.Arg())
}

// MatMulRight writes the product of x (rows by inner) and y transposed (y is columns by inner).
func (d *Dev) MatMulRight(dst, x, y Buffer, rows, inner, columns int) {
	d.launch(func(a host.Args) {
		dst, x, y := slice(a, 0), slice(a, 1), slice(a, 2)
		for i := range rows {
			for j := range columns {
				dst[i*columns+j] = dot(x[i*inner:(i+1)*inner], y[j*inner:(j+1)*inner])
			}
		}
	}, dst.Arg(), x.Arg(), y.Arg())
}

func axpy(dst, x []float32, by float32) {
	for i := range dst {
		dst[i] += by * x[i]
	}
}

func dot(x, y []float32) float32 {
	sum := float32(0)
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

// Rectify writes what is positive of src, and 0 for the rest.
func (d *Dev) Rectify(dst, src Buffer) {
	d.launch(func(a host.Args) {
		dst, src := slice(a, 0), slice(a, 1)
		for i := range dst {
			dst[i] = max(0, src[i])
		}
	}, dst.Arg(), src.Arg())
}

// RectifyBack writes the gradient of Rectify: that of its result where its argument was positive.
func (d *Dev) RectifyBack(dst, gradient, argument Buffer) {
	d.launch(func(a host.Args) {
		dst, g, x := slice(a, 0), slice(a, 1), slice(a, 2)
		for i := range dst {
			dst[i] = 0
			if x[i] > 0 {
				dst[i] = g[i]
			}
		}
	}, dst.Arg(), gradient.Arg(), argument.Arg())
}

// Descend subtracts a small part of gradient from weights.
func (d *Dev) Descend(weights, gradient Buffer) {
	d.launch(func(a host.Args) { axpy(slice(a, 0), slice(a, 1), -1e-4) }, weights.Arg(), gradient.Arg())
}

// Attend writes how well each of the vectors in cache, which are as long as query, fits it: shares
// that add up to 1.
func (d *Dev) Attend(dst, query, cache Buffer) {
	d.launch(func(a host.Args) {
		dst, q, cache := slice(a, 0), slice(a, 1), slice(a, 2)
		sum := float32(0)
		for i := range dst {
			dst[i] = float32(math.Exp(float64(dot(q, cache[i*len(q):(i+1)*len(q)])) / float64(len(q))))
			sum += dst[i]
		}
		for i := range dst {
			dst[i] /= sum
		}
	}, dst.Arg(), query.Arg(), cache.Arg())
}

// Mix writes the sum of the vectors in cache, each by its share.
func (d *Dev) Mix(dst, shares, cache Buffer) {
	d.launch(func(a host.Args) {
		dst, shares, cache := slice(a, 0), slice(a, 1), slice(a, 2)
		clear(dst)
		for i, share := range shares {
			axpy(dst, cache[i*len(dst):(i+1)*len(dst)], share)
		}
	}, dst.Arg(), shares.Arg(), cache.Arg())
}
