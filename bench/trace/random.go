package trace

import "fmt"

// Random returns the steps of RMM's benchmark random_allocations, draw for draw as libstdc++ makes them: n
// buffers of 1 byte to most MiB, uniformly, made and freed at random on one stream, with 16,000 MiB live at
// most.
func Random(n int, most int64) *Steps {
	steps := &Steps{Name: fmt.Sprintf("random-%d-%dMiB", n, most), Streams: 1}
	const chance, limit = 73, 16_000 << 20
	var live []Step
	var bytes int64
	made := 0
	r := minstd(1)
	for range 2 * n {
		size := r.between(1, most<<20)
		if len(live) == 0 || r.between(0, 99) < chance && made < n && bytes+size < limit {
			live = append(live, steps.make(0, size))
			bytes += size
			made++
			continue
		}
		i := r.between(0, int64(n-1)) % int64(len(live))
		bytes -= live[i].Size
		steps.free(live[i].Place, 0)
		live[i] = live[len(live)-1]
		live = live[:len(live)-1]
	}
	return steps
}

// minstd is std::minstd_rand0, the default engine of libstdc++.
type minstd int64

// between draws as std::uniform_int_distribution does of an engine whose range is larger.
func (r *minstd) between(low, high int64) int64 {
	const multiplier, modulus = 16807, 1<<31 - 1
	values := high - low + 1
	scale := (modulus - 2) / values
	for {
		*r = *r * multiplier % modulus
		if x := int64(*r) - 1; x < values*scale {
			return low + x/scale
		}
	}
}
