package early

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// TestRewrittenIsByHand holds lastuse to what an expert does: the same peak and the same mean, nothing
// left to the collector.
func TestRewrittenIsByHand(t *testing.T) {
	for _, program := range Programs {
		t.Run(program, func(t *testing.T) {
			results := map[string]Result{}
			for _, form := range Forms {
				r, err := Run(program, form, 1, 64<<20, true)
				require.NoError(t, err)
				results[form] = r
			}
			hand, rewritten, deferred, plain := results["hand"], results["lastuse"], results["defer"], results["collector"]
			require.Equal(t, hand.Peak, rewritten.Peak)
			require.InEpsilon(t, hand.Mean, rewritten.Mean, 1e-9)
			require.Zero(t, rewritten.Late)
			require.LessOrEqual(t, rewritten.Peak, deferred.Peak)
			require.Greater(t, plain.Peak, rewritten.Peak)
			require.Positive(t, len(rewritten.Samples))
		})
	}
}

func TestLargest(t *testing.T) {
	hand, err := Largest("blur", "hand", 64<<20, 1<<10)
	require.NoError(t, err)
	_, err = Run("blur", "hand", hand, 64<<20, false)
	require.NoError(t, err)
	_, err = Run("blur", "hand", hand+1, 64<<20, false)
	require.ErrorIs(t, err, alloc.ErrOutOfMemory)
	_, err = Run("blur", "nobody", 1, 0, false)
	require.EqualError(t, err, `early: no form "nobody" of program "blur"`)
}

var (
	series  = flag.String("early.series", "", "write the size of the foreign heap over time to this `file`")
	rounds  = flag.Int("early.rounds", 9, "how often each form of each program runs")
	smaller = flag.Int("early.smaller", 1, "divide the batches that are timed by this")
)

// turn returns the form that runs as number i of a round: each is first twice in eight rounds, and every other time the
// order is backwards, so that no form always has the same one before it.
func turn(round, i int) string {
	n := len(Forms)
	if round%2 == 1 {
		i = n - 1 - i
	}
	return Forms[(round/2+i)%n]
}

func TestTurn(t *testing.T) {
	first, before := map[string]int{}, map[[2]string]int{}
	for round := range 2 * len(Forms) {
		var order []string
		for i := range Forms {
			order = append(order, turn(round, i))
			if i > 0 {
				before[[2]string{order[i-1], order[i]}]++
			}
		}
		require.ElementsMatch(t, Forms, order)
		first[order[0]]++
	}
	for _, form := range Forms {
		require.Equal(t, 2, first[form])
	}
	for pair, n := range before {
		require.Equal(t, n, before[[2]string{pair[1], pair[0]}], "%v", pair)
	}
}

// batches are large enough that the kernels take most of the time.
var batches = map[string]int{"loop": 16, "blur": 8, "train": 256, "serve": 8}

// batchOf returns the batch with which a program is timed.
func batchOf(program string) int { return max(1, batches[program]/max(1, *smaller)) }

// BenchmarkEarly runs each form of each program, and prints a line for each run. The forms take turns, each of
// them first in its turn and in both directions, so that what else the machine does falls on all alike. All runs are
// sampled; with -early.series the samples of that with the median time are written. batch is the largest one that fits in 64 MiB.
func BenchmarkEarly(b *testing.B) {
	const limit = 256 << 20
	for _, program := range Programs {
		batch := batchOf(program)
		all := map[string][]Result{}
		for round := range *rounds + 1 {
			for i := range Forms {
				form := turn(round, i)
				r, err := Run(program, form, batch, limit, true)
				require.NoError(b, err)
				if round > 0 { // the first warms up
					all[form] = append(all[form], r)
				}
			}
		}
		for _, form := range Forms {
			largest, err := Largest(program, form, 64<<20, 1<<15)
			require.NoError(b, err)
			for i, run := range all[form] {
				b.Run(fmt.Sprintf("program=%s/frees=%s/run=%d", program, form, i), func(b *testing.B) {
					b.ReportMetric(0, "ns/op") // not this function's
					b.ReportMetric(float64(run.Wall.Nanoseconds()), "wall-ns")
					b.ReportMetric(float64(run.Peak), "peak-B")
					b.ReportMetric(run.Mean, "mean-B")
					b.ReportMetric(float64(run.Cycles), "cycles")
					b.ReportMetric(float64(run.Late), "late")
					b.ReportMetric(float64(largest), "batch")
				})
			}
			if *series != "" {
				slices.SortFunc(all[form], func(x, y Result) int { return int(x.Wall - y.Wall) })
				require.NoError(b, write(*series, program, form, all[form][len(all[form])/2]))
			}
		}
	}
	debug.FreeOSMemory()
}

// write adds the samples of a run to a file, a line each: program, form, microseconds, bytes.
func write(name, program, form string, r Result) (err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, s := range r.Samples {
		if _, err := fmt.Fprintln(f, program, form, s.At.Microseconds(), s.Live); err != nil {
			return err
		}
	}
	return nil
}
