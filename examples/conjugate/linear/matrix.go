package linear

import (
	"math"
	"math/rand/v2"

	"github.com/lastuse/lastuse/alloc"
)

// A System is a sparse matrix, row after row, and a right-hand side, in this machine's memory.
type System struct {
	Starts  []int32 // where each row begins in Columns and Values, and where the last one ends
	Columns []int32
	Values  []float32
	Right   []float32
}

// MaxRows is how many rows a tridiagonal system may have, whose elements are counted by int32.
const MaxRows = (math.MaxInt32 + 2) / 3

// Tridiagonal returns a system of n rows, at most MaxRows, whose matrix is symmetric, positive definite, and
// has elements on three diagonals. All elements of the right-hand side are 1.
func Tridiagonal(n int, seed uint64) System {
	r := rand.New(rand.NewPCG(seed, seed))
	y := System{Starts: make([]int32, 1, n+1), Right: make([]float32, n)}
	side := make([]float32, n+1) // side[i] stands beside the diagonal between rows i-1 and i
	for i := 1; i < n; i++ {
		side[i] = r.Float32()
	}
	for i := range n {
		for j := max(0, i-1); j < min(n, i+2); j++ {
			x := side[max(i, j)]
			if i == j {
				x = 10 + r.Float32()
			}
			y.Columns, y.Values = append(y.Columns, int32(j)), append(y.Values, x)
		}
		y.Starts = append(y.Starts, int32(len(y.Columns)))
		y.Right[i] = 1
	}
	return y
}

// Error returns the largest difference between a side of the system and the other for a solution x.
func (y System) Error(x []float32) float64 {
	most := 0.0
	for i, want := range y.Right {
		sum := 0.0
		for j := y.Starts[i]; j < y.Starts[i+1]; j++ {
			sum += float64(y.Values[j]) * float64(x[y.Columns[j]])
		}
		most = max(most, sum-float64(want), float64(want)-sum)
	}
	return most
}

// A Matrix is a sparse matrix on the device.
type Matrix struct {
	starts, columns alloc.Buffer[int32]
	values          alloc.Buffer[float32]
}

// Load enqueues the copying of a system's matrix to the device.
//
//lastuse:effect result 0 owned on success
func Load(s *alloc.Stream, y System) (m Matrix, err error) {
	defer func() {
		if err != nil {
			m.Free()
		}
	}()
	if m.starts, err = copied(s, y.Starts); err != nil {
		return m, err
	}
	if m.columns, err = copied(s, y.Columns); err != nil {
		return m, err
	}
	m.values, err = copied(s, y.Values)
	return m, err
}

// copied returns a buffer with what x holds.
func copied[T any](s *alloc.Stream, x []T) (alloc.Buffer[T], error) {
	b, err := alloc.Make[T](s, len(x))
	if err != nil {
		return b, err
	}
	if err := b.CopyFrom(s, x); err != nil {
		b.Free()
		return alloc.Buffer[T]{}, err
	}
	return b, nil
}

// Rows returns the number of rows.
//
//lastuse:effect recv borrowed
func (m Matrix) Rows() int { return m.starts.Len() - 1 }

// Free frees the matrix.
//
//lastuse:effect recv freed repeatable
func (m Matrix) Free() {
	m.starts.Free()
	m.columns.Free()
	m.values.Free()
}
