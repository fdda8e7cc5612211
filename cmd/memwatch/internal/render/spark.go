package render

import (
	"slices"
	"strings"
)

// Spark draws the latest samples as a line of n characters: their shape, from the
// least to the most of them. Against zero a heap that grows by a tenth would be one
// block. Nothing live is a blank, and samples that are all the same a thin line.
func Spark(samples []int64, n int) string {
	if len(samples) > n {
		samples = samples[len(samples)-n:]
	}
	if len(samples) == 0 {
		return strings.Repeat(" ", n)
	}
	least, most := max(slices.Min(samples), 0), max(slices.Max(samples), 0)
	bars := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", n-len(samples)))
	for _, v := range samples {
		switch {
		case v <= 0:
			b.WriteRune(' ')
		case least == most:
			b.WriteRune('─')
		default:
			b.WriteRune(bars[int(float64(v-least)/float64(most-least)*float64(len(bars)-1)+0.5)])
		}
	}
	return b.String()
}
