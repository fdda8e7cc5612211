package escape

import (
	"bufio"
	"flag"
	"fmt"
	"go/format"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/cputime"
	"github.com/lastuse/lastuse/internal/tier"
)

var (
	growthLarge = flag.Int("growth", 0, "fit processor time over functions of 100 to so many `statements`: a named run, of minutes")
	growthShape = flag.String("growth.shape", "", "only functions of this shape; with -growth.of, one of so many statements")
	growthOf    = flag.Int("growth.of", 0, "")
)

// grown decides the function that a shape generates, and returns how long that took without parsing,
// type-checking and lowering, with the size of its flow form.
func grown(t testing.TB, shape string, n int, cpu func() time.Duration) (took time.Duration, values int) {
	text, err := format.Source([]byte(growthTypes + growthShapes[shape](n)))
	require.NoError(t, err, shape)
	p, fns := unsummarized(t, "p.go", string(text))
	for _, f := range fns {
		p.lower(f)
		values = max(values, f.nvals)
	}
	begin := cpu()
	for _, f := range fns {
		f.flow = analyze(f)
		if s := p.infer(f, f.flow); f.obj != nil {
			p.sums[f.obj] = s
		}
	}
	p.held = p.holdings(fns)
	res := &Result{}
	read := func(string) ([]byte, error) { return text, nil }
	p.reports(fns, res, read)
	p.fieldFindings(fns, p.held, res, read)
	took = cpu() - begin
	require.Empty(t, res.Bugs, shape)
	require.Empty(t, res.Skipped, shape)
	require.Equal(t, shape == "parameter", len(res.Funcs) == 0, "%s: buffers are decided", shape)
	return took, values
}

// TestGrowth counts the statements that the analyzer executes for one function, small and six times as
// large, of each shape: the exponent stays at one, whatever else the machine does. The counts are those of
// the coverage tool, so no loop of the analyzer's own goes uncounted.
func TestGrowth(t *testing.T) {
	if *growthOf > 0 {
		grown(t, *growthShape, *growthOf, func() time.Duration { return 0 })
		return
	}
	if testing.Short() {
		t.Skip("builds the package with counters")
	}
	tier.Skip(t, "builds the package with counters")
	dir := t.TempDir()
	bin := filepath.Join(dir, "counted.test")
	out, err := exec.Command("go", "test", "-c", "-covermode=count", "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	steps := func(shape string, n int) float64 {
		profile := filepath.Join(dir, "profile")
		cmd := exec.Command(bin, "-test.run=^TestGrowth$", "-test.coverprofile="+profile, "-growth.shape="+shape, "-growth.of="+strconv.Itoa(n))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		f, err := os.Open(profile)
		require.NoError(t, err)
		defer f.Close()
		total := 0.0
		for s := bufio.NewScanner(f); s.Scan(); {
			if fields := strings.Fields(s.Text()); len(fields) == 3 {
				stmts, err := strconv.Atoi(fields[1])
				require.NoError(t, err)
				times, err := strconv.Atoi(fields[2])
				require.NoError(t, err)
				total += float64(stmts) * float64(times)
			}
		}
		return total
	}
	for _, shape := range slices.Sorted(maps.Keys(growthShapes)) {
		small, large := steps(shape, 500), steps(shape, 3000)
		exponent := math.Log(large/small) / math.Log(6)
		t.Logf("%-18s %10.0f steps for 500 statements, %10.0f for 3000: exponent %.2f", shape, small, large, exponent)
		require.Less(t, exponent, 1.1, shape)
	}
}

// TestGrowthTime fits processor time over the sizes of a function:
//
//	go test ./escape -run GrowthTime -growth 100000 -v -timeout 30m
func TestGrowthTime(t *testing.T) {
	if *growthLarge == 0 {
		t.Skip("a named run: -growth 100000")
	}
	fmt.Printf("%-18s %8s %12s %12s\n", "shape", "exponent", "milliseconds", "values")
	for _, shape := range slices.Sorted(maps.Keys(growthShapes)) {
		if *growthShape != "" && shape != *growthShape {
			continue
		}
		var x, y []float64
		var last time.Duration
		var values int
		for n := 100.0; n < 1.01*float64(*growthLarge); n *= math.Sqrt(10) {
			var sum time.Duration
			runs := 0
			for ; runs < 1 || sum < 50*time.Millisecond && runs < 20; runs++ {
				var took time.Duration
				took, values = grown(t, shape, int(n), cputime.Process)
				sum += took
			}
			last = sum / time.Duration(runs)
			x, y = append(x, math.Log(n)), append(y, math.Log(last.Seconds()))
		}
		e := slope(x, y)
		fmt.Printf("%-18s %8.2f %12d %12d\n", shape, e, last.Milliseconds(), values)
	}
}

// slope fits a line by least squares.
func slope(x, y []float64) float64 {
	var mx, my, xx, xy float64
	for i := range x {
		mx, my = mx+x[i]/float64(len(x)), my+y[i]/float64(len(x))
	}
	for i := range x {
		xx, xy = xx+(x[i]-mx)*(x[i]-mx), xy+(x[i]-mx)*(y[i]-my)
	}
	return xy / xx
}
