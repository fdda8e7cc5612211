package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// rawOf returns what a raw file with this text says.
func rawOf(t *testing.T, text string) *rawFile {
	name := filepath.Join(t.TempDir(), "raw.txt")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
	f, err := load(name)
	require.NoError(t, err)
	return f
}

func TestLoad(t *testing.T) {
	f := rawOf(t, "cpu: some\nround: 0\nBenchmarkMakeFree/size=1MiB/pool=a-16 10 1 ns/op 0 allocs/op\n"+
		"BenchmarkMakeFree/size=1MiB/pool=b 10 7 ns/op\nround: 1\n"+
		"BenchmarkMakeFree/size=1MiB/pool=a-16 10 3 ns/op\n"+
		"series-loop-hand: 1,2\nmissing: c: it has ended\ncomplete: true\n")
	require.True(t, f.complete)
	require.Equal(t, []string{"c: it has ended"}, f.missing)
	require.Equal(t, []string{"some", "1,2"}, []string{f.config["cpu"], f.config["series-loop-hand"]})
	a, b := f.one("MakeFree", "size=1MiB", "pool=a"), f.one("MakeFree", "pool=b")
	require.Equal(t, []float64{1, 3}, a.values["ns/op"])
	require.Equal(t, 2.0, a.of("ns/op"))
	require.InDelta(t, 1.0/7, a.share("ns/op", b), 1e-9, "of the round that both have")
	require.True(t, math.IsNaN(f.one("MakeFree", "pool=none").of("ns/op")))
	_, err := load(filepath.Join("..", "results", "none.txt"))
	require.NoError(t, err)
}

func TestShow(t *testing.T) {
	for want, got := range map[string]string{"55.8 ns": duration(55.77), "−1.20 µs": duration(-1200),
		"2.00 s": duration(2e9), "808 KiB": size(808 << 10), "3MiB": sizeName(3 << 20), "1500B": sizeName(1500),
		"0 B": size(0), "": duration(math.NaN())} {
		require.Equal(t, want, got)
	}
	require.Equal(t, []string{"BenchmarkX 3 1.5 ns/op"}, result("X", 3, 1.5, "ns/op", math.NaN(), "B"))
	require.EqualValues(t, 64<<10, bytesOf("64KiB"))
}

func TestGoals(t *testing.T) {
	text := "round: 0\nBenchmarkMakeFree/size=256B/pool=lastuse-cuda 1 45 ns/op\n" +
		"BenchmarkMakeFree/size=1MiB/pool=lastuse-cuda 1 71 ns/op\n"
	for round, ns := range []float64{90, 900} { // the clock is slower in the second, for all
		text += fmt.Sprintf("round: %d\nBenchmarkPair/shape=deep/size=256B/pool=lastuse-cuda 1 %g ns/op\n"+
			"BenchmarkPair/shape=deep/size=256B/pool=rmm-pool 1 %g ns/op\n"+
			"BenchmarkPair/shape=deep/size=256B/pool=torch-native 1 %g ns/op\n", round, ns, ns/0.3, ns/0.3)
	}
	files := map[string]*rawFile{"pair": rawOf(t, text)}
	require.Equal(t, []string{"[pair](raw/pair.txt): a pair, at most 70.0 ns: 71.0 ns of 1MiB",
		"[pair](raw/pair.txt): a pair 60 calls deep, of PyTorch's, at most 0.167: 0.300 of 256B"},
		misses(goals(files), "raw"))
	known := 0
	for _, v := range goals(files) {
		if v.known() {
			known++
		}
	}
	require.Equal(t, 4, known, "what was not measured is neither met nor missed")
}
