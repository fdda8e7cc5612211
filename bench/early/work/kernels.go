package work

import (
	"math"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// each sets every element of dst to f of its place and of the elements of all buffers, of dst first.
func (d *Dev) each(f func(i int, m [3][]float32) float32, dst Buffer, src ...Buffer) {
	d.all(func(m [3][]float32) {
		for i := range m[0] {
			m[0][i] = f(i, m)
		}
	}, dst, src...)
}

// all enqueues f on the elements of buffers, of dst first.
func (d *Dev) all(f func(m [3][]float32), dst Buffer, src ...Buffer) {
	args := []alloc.Arg{dst.Arg()}
	for _, b := range src {
		args = append(args, b.Arg())
	}
	n := len(args)
	d.launch(func(a host.Args) {
		var m [3][]float32
		for i := range n {
			m[i] = host.Slice[float32](a, i)
		}
		f(m)
	}, args...)
}

// Scale multiplies all elements by x.
func (d *Dev) Scale(b Buffer, x float32) {
	d.each(func(i int, m [3][]float32) float32 { return m[0][i] * x }, b)
}

// BlurRows writes the mean of each pixel and its two neighbours in its row; rows are width long.
func (d *Dev) BlurRows(dst, src Buffer, width int) { d.blur(dst, src, 1, width) }

// BlurColumns does the same along columns.
func (d *Dev) BlurColumns(dst, src Buffer, width int) { d.blur(dst, src, width, src.Len()) }

// blur takes neighbours step apart that lie in the same part of length period.
func (d *Dev) blur(dst, src Buffer, step, period int) {
	d.each(func(i int, m [3][]float32) float32 {
		src := m[1]
		sum, n, at := src[i], float32(1), i%period
		if at >= step {
			sum, n = sum+src[i-step], n+1
		}
		if at+step < period && i+step < len(src) {
			sum, n = sum+src[i+step], n+1
		}
		return sum / n
	}, dst, src)
}

// Subtract writes x - y.
func (d *Dev) Subtract(dst, x, y Buffer) {
	d.each(func(i int, m [3][]float32) float32 { return m[1][i] - m[2][i] }, dst, x, y)
}

// Quarter writes the mean of each four elements.
func (d *Dev) Quarter(dst, src Buffer) {
	d.each(func(i int, m [3][]float32) float32 {
		return (m[1][4*i] + m[1][4*i+1] + m[1][4*i+2] + m[1][4*i+3]) / 4
	}, dst, src)
}

// MatMul writes the product of x (rows by inner) and y (inner by columns).
func (d *Dev) MatMul(dst, x, y Buffer, rows, inner, columns int) {
	d.multiply(dst, x, y, rows, inner, columns, false)
}

// MatMulLeft writes the product of x transposed (x is rows by inner) and y (rows by columns).
func (d *Dev) MatMulLeft(dst, x, y Buffer, rows, inner, columns int) {
	d.multiply(dst, x, y, rows, inner, columns, true)
}

func (d *Dev) multiply(dst, x, y Buffer, rows, inner, columns int, left bool) {
	d.all(func(m [3][]float32) {
		clear(m[0])
		for i := range rows {
			for k := range inner {
				to, from := i, k
				if left {
					to, from = k, i
				}
				axpy(m[0][to*columns:(to+1)*columns], m[2][from*columns:(from+1)*columns], m[1][i*inner+k])
			}
		}
	}, dst, x, y)
}

// MatMulRight writes the product of x (rows by inner) and y transposed (y is columns by inner).
func (d *Dev) MatMulRight(dst, x, y Buffer, rows, inner, columns int) {
	d.each(func(at int, m [3][]float32) float32 {
		i, j := at/columns, at%columns
		return dot(m[1][i*inner:(i+1)*inner], m[2][j*inner:(j+1)*inner])
	}, dst, x, y)
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
	d.each(func(i int, m [3][]float32) float32 { return max(0, m[1][i]) }, dst, src)
}

// RectifyBack writes the gradient of Rectify: that of its result where its argument was positive.
func (d *Dev) RectifyBack(dst, gradient, argument Buffer) {
	d.each(func(i int, m [3][]float32) float32 {
		if m[2][i] > 0 {
			return m[1][i]
		}
		return 0
	}, dst, gradient, argument)
}

// Descend subtracts a small part of gradient from weights.
func (d *Dev) Descend(weights, gradient Buffer) {
	d.all(func(m [3][]float32) { axpy(m[0], m[1], -1e-4) }, weights, gradient)
}

// Attend writes how well each of the vectors in cache, which are as long as query, fits it: shares that add
// up to 1.
func (d *Dev) Attend(dst, query, cache Buffer) {
	d.all(func(m [3][]float32) {
		q, sum := m[1], float32(0)
		for i := range m[0] {
			m[0][i] = float32(math.Exp(float64(dot(q, m[2][i*len(q):(i+1)*len(q)])) / float64(len(q))))
			sum += m[0][i]
		}
		for i := range m[0] {
			m[0][i] /= sum
		}
	}, dst, query, cache)
}

// Mix writes the sum of the vectors in cache, each by its share.
func (d *Dev) Mix(dst, shares, cache Buffer) {
	d.all(func(m [3][]float32) {
		clear(m[0])
		for i, share := range m[1] {
			axpy(m[0], m[2][i*len(m[0]):(i+1)*len(m[0])], share)
		}
	}, dst, shares, cache)
}
