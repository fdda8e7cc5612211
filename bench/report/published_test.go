package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// published are the figures of the README, in their order, as what they are the median of.
var published = []struct {
	file, unit string
	names      []string
}{
	{"early", "peak-B", []string{"Early/program=blur/frees=lastuse", "Early/program=blur/frees=hand",
		"Early/program=blur/frees=defer", "Early/program=blur/frees=collector"}},
	{"pair", "ns/op", []string{"MakeFree/size=1MiB/pool=lastuse-cuda", "MakeFree/size=1MiB/pool=rmm-pool",
		"MakeFree/size=1MiB/pool=torch-native", "MakeFree/size=1MiB/pool=driver-async"}},
	{"trace", "reserved/requested", []string{"Trace/trace=train/pool=lastuse-cuda",
		"Trace/trace=train/pool=lastuse-cuda-tight", "Trace/trace=train/pool=torch-expandable",
		"Trace/trace=train/pool=torch-native"}},
}

// TestPublished looks up every figure of the README in the raw files, without the code that writes it, and
// renders the set that it names once more: docs/benchmarks.md, its pictures and the README are what the raw
// files say.
func TestPublished(t *testing.T) {
	module := filepath.Join("..", "..")
	readme, err := os.ReadFile(filepath.Join(module, readmeFile))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(readme), readmeBegin)
	require.True(t, ok)
	body, _, ok := strings.Cut(rest, readmeEnd)
	require.True(t, ok)
	set := regexp.MustCompile(`bench/results/([^/]+)/`).FindStringSubmatch(body)
	require.NotNil(t, set, "it names no raw file")
	body = strings.ReplaceAll(body, "Free of 1 MiB on", "") // the only other number
	cells := regexp.MustCompile(`\b([0-9][0-9.]*)\b(?:\s+([nµm]s|[KMG]iB)\b)?`).FindAllStringSubmatch(body, -1)
	units := map[string]float64{"": 1, "ns": 1, "µs": 1e3, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
	require.Len(t, cells, 3*4)
	for i, cell := range cells {
		p := published[i/4]
		raw, err := os.ReadFile(filepath.Join("..", "results", set[1], p.file+".txt"))
		require.NoError(t, err)
		name := `(?m)^Benchmark` + regexp.QuoteMeta(p.names[i%4]) + `(?:-[0-9]+)?\s.*?\s([0-9.e+]+) ` + p.unit
		var all []float64
		for _, m := range regexp.MustCompile(name).FindAllStringSubmatch(string(raw), -1) {
			x, err := strconv.ParseFloat(m[1], 64)
			require.NoError(t, err)
			all = append(all, x)
		}
		require.NotEmpty(t, all, name)
		slices.Sort(all)
		x, err := strconv.ParseFloat(cell[1], 64)
		require.NoError(t, err)
		median := (all[(len(all)-1)/2] + all[len(all)/2]) / 2
		require.InEpsilon(t, median, x*units[cell[2]], 0.0051, name)
	}

	b := &bench{root: t.TempDir(), set: set[1]}
	require.NoError(t, os.CopyFS(b.dir(), os.DirFS(filepath.Join(module, "bench", "results", b.set))))
	require.NoError(t, os.WriteFile(filepath.Join(b.root, readmeFile), readme, 0o666))
	require.NoError(t, os.MkdirAll(b.documents(), 0o777))
	require.NoError(t, b.render())
	files := []string{readmeFile, "docs/benchmarks.md"}
	plots, err := filepath.Glob(filepath.Join(b.documents(), "plots", "*"))
	require.NoError(t, err)
	for _, name := range plots {
		files = append(files, "docs/plots/"+filepath.Base(name))
	}
	for _, name := range files {
		want, err := os.ReadFile(filepath.Join(b.root, filepath.FromSlash(name)))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(module, filepath.FromSlash(name)))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%s: go run ./bench/report -set %s -render", name, b.set)
	}
}
