package trace

// Random returns the steps of RMM's benchmark random_allocations, draw for draw as libstdc++ makes them: n
// buffers of 1 byte to most MiB, uniformly, made and freed at random on one stream, with 16,000 MiB live at
// most.
func Random(n int, most int64) (steps []Step, places int) {
	const chance, limit = 73, 16_000 << 20
	type buffer struct {
		place int32
		size  int64
	}
	var live []buffer
	var spare []int32
	var bytes int64
	made := 0
	r := minstd(1)
	for range 2 * n {
		size := r.between(1, most<<20)
		grow := len(live) == 0 || r.between(0, 99) < chance && made < n && bytes+size < limit
		if grow {
			b := buffer{int32(places), size}
			if k := len(spare); k > 0 {
				b.place, spare = spare[k-1], spare[:k-1]
			} else {
				places++
			}
			live = append(live, b)
			bytes += size
			made++
			steps = append(steps, Step{Place: b.place, Size: size})
			continue
		}
		i := r.between(0, int64(n-1)) % int64(len(live))
		b := live[i]
		live[i] = live[len(live)-1]
		live = live[:len(live)-1]
		bytes -= b.size
		spare = append(spare, b.place)
		steps = append(steps, Step{Place: b.place, Size: -1})
	}
	return steps, places
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

// Peak returns the most bytes that are asked for and not freed at one time by steps.
func Peak(steps []Step) int64 {
	sizes := map[int32]int64{}
	var live, peak int64
	for _, s := range steps {
		if s.Size < 0 {
			live -= sizes[s.Place]
		} else {
			sizes[s.Place] = s.Size
			live += s.Size
			peak = max(peak, live)
		}
	}
	return peak
}
