package early

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var blocks = flag.Int("byhand.blocks", 5, "how many blocks of four runs each comparison has")

// blockOrder returns whether each run of a block is of the form that is compared, else of that by hand: each form is as
// often first as last, and as often before the other as behind it, so that what drifts falls on both alike.
func blockOrder(block int) [4]bool {
	if block%2 == 0 {
		return [4]bool{true, false, false, true}
	}
	return [4]bool{false, true, true, false}
}

func TestBlockOrder(t *testing.T) {
	var at [2]int // the sum of the places of each form
	for block := range 2 {
		for place, compared := range blockOrder(block) {
			if compared {
				at[0] += place
			} else {
				at[1] += place
			}
		}
		require.Equal(t, at[0], at[1], "after block %d", block)
	}
	require.NotEqual(t, blockOrder(0), blockOrder(1), "each form is first in turn")
}

// BenchmarkByHand asks whether programs that lastuse rewrote take the time of those that were freed by hand. Two forms run in
// blocks of four runs, in one process and the orders of blockOrder, unsampled; each block has a line with the ratio of their
// times, on the clock and on the processors. To tell what the measurement itself does, the form by hand is compared
// with itself in the same way.
func BenchmarkByHand(b *testing.B) {
	for _, program := range Programs {
		for _, form := range []string{"lastuse", "hand"} {
			b.Run(fmt.Sprintf("program=%s/frees=%s", program, form), func(b *testing.B) {
				compare(b, program, form, *blocks)
			})
		}
	}
}

// compare runs blocks of a form of a program and of that by hand.
func compare(b *testing.B, program, form string, blocks int) {
	const limit = 256 << 20
	for block := -1; block < blocks; block++ {
		var wall, cpu [2]time.Duration
		for _, compared := range blockOrder(block) {
			of, at := "hand", 1
			if compared {
				of, at = form, 0
			}
			r, err := Run(program, of, batchOf(program), limit, false)
			require.NoError(b, err)
			wall[at] += r.Wall
			cpu[at] += r.CPU
		}
		if block < 0 { // it warms up
			continue
		}
		b.Run(fmt.Sprintf("run=%d", block), func(b *testing.B) {
			b.ReportMetric(0, "ns/op") // not this function's
			b.ReportMetric(float64(wall[0].Nanoseconds())/2, "wall-ns")
			b.ReportMetric(float64(wall[0])/float64(wall[1]), "x-of-hand")
			if cpu[1] > 0 {
				b.ReportMetric(float64(cpu[0].Nanoseconds())/2, "cpu-ns")
				b.ReportMetric(float64(cpu[0])/float64(cpu[1]), "x-of-hand-cpu")
			}
		})
	}
}
