package render

import (
	"maps"
	"slices"
)

// Spark draws the latest samples as a line of n characters, the highest the largest.
func Spark(samples []int64, n int) string {
	if len(samples) > n {
		samples = samples[len(samples)-n:]
	}
	var top int64
	for _, v := range samples {
		top = max(top, v)
	}
	bars := []rune(" ▁▂▃▄▅▆▇█")
	out := make([]rune, 0, n)
	for range n - len(samples) {
		out = append(out, ' ')
	}
	for _, v := range samples {
		i := 0
		if v > 0 && top > 0 {
			i = max(1, int(float64(v)/float64(top)*8+0.5))
		}
		out = append(out, bars[min(i, 8)])
	}
	return string(out)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
