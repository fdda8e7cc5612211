package alloc

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClasses(t *testing.T) {
	assert.Equal(t, numClasses, classOf(smallMax)+1)
	for size := int64(1); size <= smallMax; size++ {
		c := classOf(size)
		require.GreaterOrEqual(t, classSize(c), size)
		if c > 0 {
			require.Less(t, classSize(c-1), size, "%d bytes", size)
		}
	}
	for c := range numClasses {
		assert.Equal(t, c, classOf(classSize(c)))
		assert.Zero(t, classSize(c)%unit)
		run := int64(runSlots(c)) * classSize(c)
		assert.Equal(t, run, roundLarge(run), "a run of class %d wastes nothing", c)
	}
}

func TestRoundLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 100_000 {
		size := 1 + r.Int64N(1<<r.IntN(50))
		got := roundLarge(size)
		require.GreaterOrEqual(t, got, size)
		require.Zero(t, got%unit)
		require.Equal(t, got, roundLarge(got))
		require.LessOrEqual(t, float64(got), float64(size+unit)*(1+1.0/rowBins))
		// Any block in the bin of a rounded size is large enough.
		row, col := binOf(got)
		if got > unit {
			lr, lc := binOf(got - unit)
			require.NotEqual(t, [2]uint{row, col}, [2]uint{lr, lc}, "%d is the least of its bin", got)
		}
	}
}

// The bins give what a walk through all blocks gives: a block of the least bin that fits.
func TestBinsAgainstWalk(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s bins
	var all []*block
	for step := range 50_000 {
		switch {
		case len(all) == 0 || r.IntN(2) == 0 && len(all) < 300:
			b := &block{size: (1 + r.Int64N(1<<r.IntN(30))) * unit}
			s.put(b)
			all = append(all, b)
		default:
			i := r.IntN(len(all))
			s.take(all[i])
			all[i] = all[len(all)-1]
			all = all[:len(all)-1]
		}
		want := roundLarge(1 + r.Int64N(1<<r.IntN(40)))
		var best, largest *block
		key := func(b *block) uint { row, col := binOf(b.size); return row<<16 | col }
		for _, b := range all {
			if b.size >= want && (best == nil || key(b) < key(best)) {
				best = b
			}
			if largest == nil || key(b) > key(largest) {
				largest = b
			}
		}
		got := s.find(want)
		require.Equal(t, best == nil, got == nil, "step %d, %d bytes", step, want)
		if got != nil {
			require.Equal(t, key(best), key(got))
			require.GreaterOrEqual(t, got.size, want)
		}
		require.Equal(t, largest == nil, s.largest() == nil)
		if largest != nil {
			require.Equal(t, key(largest), key(s.largest()))
		}
		if step%1000 == 0 {
			n := 0
			for b := s.largest(); b != nil; b = s.before(b) {
				n++
			}
			require.Equal(t, len(all), n, "from the largest down")
			n = 0
			for b := s.from(0, 0); b != nil; b = s.after(b) {
				n++
			}
			require.Equal(t, len(all), n, "from the smallest up")
		}
	}
}

// What different streams write at every Make and Free must not share cache lines, and Go aligns
// an object of a power of two bytes to its size.
func TestSizes(t *testing.T) {
	assert.EqualValues(t, 128, unsafe.Sizeof(run{}))
	assert.LessOrEqual(t, unsafe.Sizeof(header{}), uintptr(64))
	assert.Greater(t, unsafe.Sizeof(header{}), uintptr(48))
	assert.LessOrEqual(t, unsafe.Offsetof(block{}.owner), uintptr(64),
		"a Make and a Free touch one line of a block")
}
