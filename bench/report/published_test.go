package main

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rawLink is how the README's tables name the raw file that they are from.
var rawLink = regexp.MustCompile(`\(bench/results/([^/)]+)/([a-z]+\.txt)\)`)

// generated returns a generated part of the README, and the set and the file that it names.
func generated(t *testing.T, begin, end string) (body, set, file string) {
	text, err := os.ReadFile(filepath.Join("..", "..", readmeFile))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, begin)
	body, _, ok = strings.Cut(rest, end)
	require.True(t, ok, end)
	link := rawLink.FindStringSubmatch(body)
	require.NotNil(t, link, "it names no raw file")
	return body, link[1], link[2]
}

// figure reads a table's cell: nanoseconds, bytes or a number.
func figure(t *testing.T, cell string) float64 {
	number, unit, _ := strings.Cut(cell, " ")
	x, err := strconv.ParseFloat(number, 64)
	require.NoError(t, err, cell)
	by, ok := map[string]float64{"": 1, "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
	require.True(t, ok, cell)
	return x * by
}

// TestReadmeFigures looks up every figure of the README's generated tables in the raw file that is named below it, without
// the code that writes them: it is the median of the lines of that benchmark, but for its rounding.
func TestReadmeFigures(t *testing.T) {
	pools := map[string]string{"lastuse": "lastuse-cuda", "PyTorch, C++": "torch-native",
		"PyTorch, expandable segments": "torch-expandable", "the driver's pool, C": "driver-async"}
	frees := map[string]string{"no frees": "collector", "deferred": "defer", "rewritten by lastuse": "lastuse", "by hand": "hand"}
	units := map[string]string{"peak of the foreign heap": "peak-B", "largest batch that fits in 64 MiB": "batch"}
	figures := 0
	for _, p := range []struct {
		begin, end string
		name       func(row, column string) string // of the benchmark
		unit       func(head string) string
	}{
		{pairBegin, pairEnd, func(row, column string) string {
			n := strconv.FormatFloat(figure(t, row), 'f', -1, 64)
			size := map[string]string{"256": "256B", "65536": "64KiB", "1048576": "1MiB", "1073741824": "1GiB"}[n]
			return "BenchmarkMakeFree/size=" + size + "/pool=" + pools[column]
		}, func(string) string { return "ns/op" }},
		{readmeBegin, readmeEnd, func(row, column string) string {
			return "BenchmarkEarly/program=" + row + "/frees=" + frees[column]
		}, func(head string) string { return units[head] }},
	} {
		body, set, file := generated(t, p.begin, p.end)
		raw, err := os.ReadFile(filepath.Join("..", "results", set, file))
		require.NoError(t, err)
		var head []string
		for line := range strings.Lines(body) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "|") {
				head = nil
				continue
			}
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			if head == nil {
				head = cells
				continue
			}
			if strings.HasPrefix(cells[0], "---") {
				continue
			}
			for i, cell := range cells[1:] {
				name, unit := p.name(cells[0], head[i+1]), p.unit(head[0])
				require.NotEmpty(t, unit, head[0])
				line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `(?:-[0-9]+)?\s.*?\s([0-9.e+]+) ` + regexp.QuoteMeta(unit) + `(?:\s|$)`)
				var runs []float64
				for _, m := range line.FindAllStringSubmatch(string(raw), -1) {
					x, err := strconv.ParseFloat(m[1], 64)
					require.NoError(t, err)
					runs = append(runs, x)
				}
				require.NotEmpty(t, runs, "%s has no %s of %s", file, unit, name)
				slices.Sort(runs)
				median := (runs[(len(runs)-1)/2] + runs[len(runs)/2]) / 2
				require.InEpsilon(t, median, figure(t, cell), 0.0051, "%s: %s", name, unit)
				figures++
			}
		}
	}
	require.GreaterOrEqual(t, figures, 4*4+2*4*4)
}

// TestPublished renders the set that the README names once more: docs/benchmarks.md and the README are what its raw files
// say, and no raw file is without its place.
func TestPublished(t *testing.T) {
	_, set, _ := generated(t, readmeBegin, readmeEnd)
	_, same, _ := generated(t, pairBegin, pairEnd)
	require.Equal(t, set, same)
	module := filepath.Join("..", "..")
	b := &bench{root: t.TempDir(), set: set}
	require.NoError(t, os.CopyFS(b.dir(), os.DirFS(filepath.Join(module, "bench", "results", set))))
	readme, err := os.ReadFile(filepath.Join(module, readmeFile))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(b.root, readmeFile), readme, 0o666))
	require.NoError(t, os.MkdirAll(b.documents(), 0o777))
	require.NoError(t, b.render())
	for _, name := range []string{readmeFile, filepath.Join("docs", "benchmarks.md")} {
		want, err := os.ReadFile(filepath.Join(b.root, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(module, name))
		require.NoError(t, err)
		wanted, found := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
		for i := range min(len(wanted), len(found)) {
			require.Equal(t, wanted[i], found[i], "%s, line %d, is not what the raw files say: go run ./bench/report -set %s -render", name, i+1, set)
		}
		require.Len(t, found, len(wanted), "%s has more or fewer lines than the raw files say", name)
	}
	doc, err := os.ReadFile(filepath.Join(b.documents(), "benchmarks.md"))
	require.NoError(t, err)
	require.NoError(t, fs.WalkDir(os.DirFS(b.dir()), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".txt") && path.Base(name) != seriesFile {
			require.Contains(t, string(doc), name, "nothing in docs/benchmarks.md names this raw file")
		}
		return err
	}))
	// Each picture that the document shows is there, and drawn from these files; other processors round in other places.
	for _, m := range regexp.MustCompile(`\]\((plots/[a-z-]+\.svg)\)`).FindAllStringSubmatch(string(doc), -1) {
		name := filepath.FromSlash(m[1])
		require.FileExists(t, filepath.Join(module, "docs", name))
		if runtime.GOARCH == "amd64" {
			want, err := os.ReadFile(filepath.Join(b.documents(), name))
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(module, "docs", name))
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), "docs/%s is not what the raw files say: go run ./bench/report -set %s -render", name, set)
		}
	}
}
