package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const sample = `goos: linux
cpu: some processor
gpu: none
load: 0.10
part: pair
BenchmarkMakeFree/size=256B/pool=lastuse-16         	       1	   50.0 ns/op	 0 allocs/op
BenchmarkMakeFree/size=256B/pool=lastuse-16         	       1	   40.0 ns/op	 0 allocs/op
BenchmarkMakeFree/size=256B/pool=lastuse-16         	       1	   44.0 ns/op	 0 allocs/op
BenchmarkMakeFree/size=256B/pool=torch-native 100 500.0 ns/op
BenchmarkMakeFree/size=1MiB/pool=lastuse-16 1 60 ns/op
missing: jemalloc: it is not installed
complete: true
`

func TestParse(t *testing.T) {
	f, err := parse(strings.NewReader(sample))
	require.NoError(t, err)
	require.True(t, f.complete)
	require.Equal(t, "some processor", f.config["cpu"])
	require.Equal(t, []string{"jemalloc: it is not installed"}, f.missing)
	require.Len(t, f.results, 3)
	r := f.results[0]
	require.Equal(t, "MakeFree", r.bench)
	require.Equal(t, map[string]string{"size": "256B", "pool": "lastuse"}, r.vars, "the number of processors is no part of a pool's name")
	m, ok := r.of("ns/op")
	require.True(t, ok)
	require.Equal(t, median{value: 44, least: 40, most: 50, runs: 3}, m)
	require.InDelta(t, 6.0/44, r.spread("ns/op"), 1e-9)
	_, ok = r.of("B/op")
	require.False(t, ok, "a unit that was not measured")
	require.Equal(t, "torch-native", f.results[1].vars["pool"])

	f, err = parse(strings.NewReader("missing: a: b\nmissing: a: b\nunusable: X: out of step\nBenchmarkX/a=1 1 2 ns/op\nBenchmarkXY/a=1 1 3 ns/op\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"a: b"}, f.missing, "what is missing twice is said once")
	require.Equal(t, []string{"X: out of step"}, f.unusable)
	require.Empty(t, f.only("X"), "what was measured wrong is no result")
	require.Len(t, f.only("XY"), 1)

	_, err = parse(strings.NewReader("BenchmarkX 1 2\n"))
	require.EqualError(t, err, "line 1: 3 fields: BenchmarkX 1 2")
	_, err = parse(strings.NewReader("a: b\nBenchmarkX 1 many ns/op\n"))
	require.ErrorContains(t, err, "line 2: ")
}

func TestPivot(t *testing.T) {
	f, err := parse(strings.NewReader(sample))
	require.NoError(t, err)
	var w bytes.Buffer
	pivot(f.only("MakeFree"), "size", "pool", "ns/op", duration).write(&w, "Pairs")
	require.Equal(t, "Pairs:\n\n| size | lastuse | torch-native |\n| --- | ---: | ---: |\n"+
		"| 256B | 44.0 ns ±14 % | 500 ns |\n| 1MiB | 60.0 ns |  |\n\n", w.String())
}

// TestInterval holds the interval of a median to the table of the sign test, and to medians that are known.
func TestInterval(t *testing.T) {
	of := func(n int) *result {
		r := &result{values: map[string][]float64{}}
		for i := range n {
			r.values["x"] = append(r.values["x"], float64((i*7)%n+1)) // 1 to n, out of order: 7 divides none
		}
		return r
	}
	for n, below := range map[int]float64{6: 1, 8: 1, 9: 2, 12: 3, 20: 6, 25: 8, 50: 18, 100: 40, 150: 63} {
		low, high, ok := of(n).interval("x")
		require.True(t, ok, n)
		require.Equal(t, []float64{below, float64(n) + 1 - below}, []float64{low, high}, "%d runs", n)
	}
	for _, n := range []int{0, 1, 5} {
		_, _, ok := of(n).interval("x")
		require.False(t, ok, "%d runs are too few", n)
	}
	random := rand.New(rand.NewPCG(1, 2))
	const tries = 2000
	held := 0
	for range tries {
		r := &result{values: map[string][]float64{}}
		for range 21 {
			r.values["x"] = append(r.values["x"], random.ExpFloat64()) // skewed: its median is ln 2
		}
		if low, high, _ := r.interval("x"); low <= math.Ln2 && math.Ln2 <= high {
			held++
		}
	}
	require.InDelta(t, 0.973, float64(held)/tries, 0.01, "21 runs leave five out at each end, which is right with 97.3 %")
}

func TestByHand(t *testing.T) {
	lines := func(frees string, ratios ...float64) string {
		var w strings.Builder
		for _, x := range ratios {
			fmt.Fprintf(&w, "BenchmarkByHand/program=loop/frees=%s-2 1 50e6 cpu-ns 60e6 wall-ns %g x-of-hand %g x-of-hand-cpu\n", frees, 2*x, x)
		}
		return w.String()
	}
	f, err := parse(strings.NewReader(lines("lastuse", 0.99, 1, 1.001, 1.002, 0.999, 1.01) + lines("hand", 1.03, 1.04, 1.05, 1.04, 1.03, 1.06) + lines("defer", 1, 1, 1)))
	require.NoError(t, err)
	var w bytes.Buffer
	byHandTables(f, func(title string, t *table) { t.write(&w, title) })
	for _, want := range []string{
		"Processor time:\n\n", "Time on the clock:\n\n",
		"| loop | rewritten by lastuse | 50.0 ms ±0 % | 6 | 1.000 | 0.990–1.010 | none | yes |\n",
		"| loop | by hand | 50.0 ms ±0 % | 6 | 1.040 | 1.030–1.060 | +4.0 % | no |\n",
		"| loop | deferred | 50.0 ms ±0 % | 3 | 1.000 |  | too few blocks to say |  |\n",
		"| loop | rewritten by lastuse | 60.0 ms ±0 % | 6 | 2.001 | 1.980–2.020 | +100.1 % | no |\n",
	} {
		require.Contains(t, w.String(), want)
	}
	require.Equal(t, "not shown", within(0.97, 1.01, 0.02))
}

// TestCells shows what a cell says of how far runs lie apart.
func TestCells(t *testing.T) {
	r := &result{values: map[string][]float64{"same": {2, 2, 2}, "apart": {-50, 10, 20}, "once": {3}}}
	require.Equal(t, "2.00 ns ±0 %", r.cell("same", duration))
	require.Equal(t, "2.00 ns", r.exactly("same", duration))
	require.Equal(t, "10.0 ns ±600 %", r.exactly("apart", duration))
	require.Equal(t, "10.0 ns (−50.0 ns to 20.0 ns)", r.between("apart", duration))
	require.Equal(t, "3.00 ns", r.between("once", duration))
	require.Empty(t, r.between("none", duration))
}

func TestUnits(t *testing.T) {
	for want, got := range map[string]string{
		"950 ns": duration(950), "1.50 µs": duration(1500), "2.00 ms": duration(2e6), "12.3 s": duration(12.3e9),
		"512 B": size(512), "1.50 KiB": size(1536), "192 MiB": size(192 << 20), "2.00 GiB": size(2 << 30),
		"1.5 KiB": short(size)(1536), "200 MiB": short(size)(200 << 20), "0 B": short(size)(0),
	} {
		require.Equal(t, want, got)
	}
	require.EqualValues(t, 64<<10, bytesOf("64KiB"))
	require.EqualValues(t, 256, bytesOf("256B"))
	require.Zero(t, bytesOf("K"))
}

// TestRun holds run to its promises: a part that is complete is not run again, one that failed is, and
// a peer that is not here is named.
func TestRun(t *testing.T) {
	b := &bench{root: t.TempDir(), set: "s", ctx: t.Context(), bar: &bar{w: io.Discard, all: 9, stop: make(chan struct{})}, patience: time.Minute}
	runs := 0
	p := part{name: "p", run: func(r *raw) error {
		runs++
		fmt.Fprintln(r.w, "BenchmarkX 1 2 ns/op")
		if runs == 1 {
			return errors.New("out of luck")
		}
		r.peer("nobody", nil, filepath.Join(t.TempDir(), "nobody"))
		r.peer("failing", nil, "sh", "-c", "echo BenchmarkX/pool=failing 1 3 ns/op; echo it broke >&2; exit 7")
		return nil
	}}
	require.EqualError(t, b.run(p), "out of luck")
	f, err := load(filepath.Join(b.dir(), "p.txt"))
	require.NoError(t, err)
	require.False(t, f.complete)
	require.Equal(t, "out of luck", f.config["failed"])
	require.NoError(t, os.MkdirAll(filepath.Join(b.root, "bench"), 0o777)) // commands run there
	for range 2 {
		require.NoError(t, b.run(p))
	}
	require.Equal(t, 2, runs)
	b.quick = true
	require.ErrorContains(t, b.run(p), "p.txt is of a full run, and this is a quick one")
	b.quick = false
	require.Equal(t, 2, runs, "nothing of a full run is overwritten")
	f, err = load(filepath.Join(b.dir(), "p.txt"))
	require.NoError(t, err)
	require.True(t, f.complete)
	require.Equal(t, []string{"nobody: it was not built, or is not installed: nobody", "failing: sh: exit status 7: it broke"}, f.missing)
	require.Len(t, f.only("X", "pool=failing"), 1, "what it printed before it failed is kept")
}

// TestSane refuses flags that cannot be meant.
func TestSane(t *testing.T) {
	for want, b := range map[string]*bench{
		"-blocks -3: want 1 or more":                     {blocks: -3, patience: 1},
		"-patience 0s: want a time above 0":              {},
		"-bin nowhere: nothing that -build has built is": {bin: "nowhere", patience: 1},
	} {
		require.ErrorContains(t, b.sane(), want)
	}
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, commitFile), nil, 0o666))
	require.NoError(t, (&bench{bin: bin, patience: time.Minute}).sane())
}

// TestLines keeps what benchmarks have found, and nothing of one that was ended in its midst.
func TestLines(t *testing.T) {
	var w strings.Builder
	(&raw{w: &w}).lines([]byte("goos: linux\nBenchmarkA/x=1 1 2 ns/op\nBenchmarkLonely\nBenchmarkA/x=2-16 \t"), "books=kept")
	require.Equal(t, "BenchmarkA/books=kept/x=1 1 2 ns/op\n", w.String())
}

// TestRender makes a document, plots and the README's table of a set.
func TestRender(t *testing.T) {
	b := &bench{root: t.TempDir(), set: "full"}
	require.NoError(t, os.MkdirAll(b.dir(), 0o777))
	require.ErrorContains(t, b.render(), "there are no results in")
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
	}
	write(filepath.Join(b.dir(), "pair.txt"), sample)
	write(filepath.Join(b.dir(), "early.txt"), "cpu: c\nBenchmarkEarly/program=loop/frees=hand-2 1 128 batch 0 cycles 0 late 4194304 mean-B 4194304 peak-B 2e6 wall-ns\n")
	write(filepath.Join(b.dir(), "early-series.txt"), "loop hand 0 0\nloop hand 10 4194304\nloop collector 0 0\nloop collector 5 1000\n")
	write(filepath.Join(b.dir(), "notes.md"), "## What it lacks\n\nAll.\n")
	write(filepath.Join(b.root, "README.md"), "before\n"+readmeBegin+"\nold\n"+readmeEnd+"\nafter\n")
	require.NoError(t, os.MkdirAll(b.documents(), 0o777))
	require.NoError(t, b.render())
	doc, err := os.ReadFile(filepath.Join(b.root, "docs", "benchmarks.md"))
	require.NoError(t, err)
	for _, want := range []string{"44.0 ns ±14 %", "Missing: jemalloc: it is not installed", "![pair](plots/pair.svg)",
		"[pair.txt](../bench/results/full/pair.txt), 1 to 3 runs of each, at a load of 0.10", "No results in this set.", "## What it lacks\n\nAll.\n\n## A Make", "This part did not run to its end."} {
		require.Contains(t, string(doc), want)
	}
	readme, err := os.ReadFile(filepath.Join(b.root, "README.md"))
	require.NoError(t, err)
	require.Regexp(t, `(?s)^before\n.*\| peak of the foreign heap \| by hand \|.*\| loop \| 4.00 MiB \|.*early.txt.*\nafter\n$`, string(readme))
	require.NotContains(t, string(readme), "old")
	for _, name := range []string{"pair.svg", "pair.png", "early.svg", "early.png"} {
		info, err := os.Stat(filepath.Join(b.root, "docs", "plots", name))
		require.NoError(t, err)
		require.Greater(t, info.Size(), int64(1000))
	}
}

// TestPlaces shows in a set's document what another machine found, with that machine, behind what the set's own did.
func TestPlaces(t *testing.T) {
	b := &bench{root: t.TempDir()}
	require.NoError(t, b.name("s/vm"))
	require.NoError(t, os.MkdirAll(b.dir(), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(b.dir(), "pair.txt"), []byte(strings.ReplaceAll(sample, "some processor", "another")), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(b.dir(), "..", "pair.txt"), []byte(sample), 0o666))
	require.NoError(t, os.MkdirAll(filepath.Join(b.dir(), "..", "nothing"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(b.root, "README.md"), []byte(pairBegin+"\n"+pairEnd+"\n"), 0o666))
	require.NoError(t, os.MkdirAll(b.documents(), 0o777))
	require.NoError(t, b.render())
	doc, err := os.ReadFile(filepath.Join(b.documents(), "benchmarks.md"))
	require.NoError(t, err)
	require.Regexp(t, `(?s)^# Benchmarks.*- pair: some processor.*- vm/pair: another.*## A Make.*\(plots/pair\.svg\).*\(\.\./bench/results/s/pair\.txt\)`+
		`.*On another machine than the set's: another.*\(plots/pair-vm\.svg\).*\[vm/pair\.txt\]\(\.\./bench/results/s/vm/pair\.txt\)`, string(doc))
	require.FileExists(t, filepath.Join(b.documents(), "plots", "pair-vm.svg"))
	readme, err := os.ReadFile(filepath.Join(b.root, "README.md"))
	require.NoError(t, err)
	require.Contains(t, string(readme), "On some processor")

	for _, bad := range []string{"", "/", "a/", "/b", "a/b/c", "..", "a/..", "a b"} {
		require.ErrorContains(t, b.name(bad), "want NAME or NAME/PLACE", bad)
	}
	require.NoError(t, b.name("h200-host"))
	require.Empty(t, b.place)
}

// TestOverlay builds the tracker without its books: they are gone, and everything that calls them
// still compiles.
func TestOverlay(t *testing.T) {
	list, err := writeOverlay(filepath.Join("..", ".."), t.TempDir())
	require.NoError(t, err)
	out, err := exec.Command("go", "vet", "-overlay", list, "github.com/lastuse/lastuse/alloc").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, bodies := range bareBodies {
		src, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		empty, err := emptied(name, src, bodies)
		require.NoError(t, err)
		require.Less(t, len(empty), len(src))
	}
	_, err = emptied("x.go", []byte("package x\nfunc f() {}\n"), map[string]string{"g": "{}"})
	require.EqualError(t, err, "overlay: x.go: found 0 of the 1 functions to empty")
}

// TestWatchBuild tells the packages that the go command compiles from what is wrong.
func TestWatchBuild(t *testing.T) {
	var w strings.Builder
	b := &bar{w: &w, all: 2, begin: time.Now()}
	b.part("building it")
	b.said = time.Now().Add(-sayEvery) // as if nothing had been said for so long
	said, compiled := watchBuild(strings.NewReader("unicode/utf8\nexample.org/a/b\n# example.org/a/c\nc/c.go:1:2: undefined: x\n"), b)
	require.Equal(t, 2, compiled)
	require.EqualError(t, said, "# example.org/a/c\nc/c.go:1:2: undefined: x")
	b.built(compiled)
	for _, line := range []string{" building it\n", " building it: unicode/utf8, package 1 that is compiled\n", " building it: 2 packages were compiled\n"} {
		require.Contains(t, w.String(), line)
	}
	said, compiled = watchBuild(strings.NewReader(""), b)
	require.NoError(t, said)
	b.built(compiled)
	require.NotContains(t, w.String(), "0 packages", "what is built already is not worth a line")
}

// TestQuick: a quick report repeats less, is shorter, and names what it leaves out.
func TestQuick(t *testing.T) {
	full, quick := &bench{patience: time.Hour}, &bench{patience: time.Hour, quick: true}
	require.Equal(t, []any{10, "100ms", time.Hour}, []any{full.count(), full.time(100 * time.Millisecond), full.peerPatience()})
	require.Equal(t, []any{3, "20ms", time.Minute}, []any{quick.count(), quick.time(100 * time.Millisecond), quick.peerPatience()})
	require.Subset(t, full.analyzed(), quick.analyzed())
	var w strings.Builder
	require.Equal(t, []string{"native"}, (&raw{bench: quick, w: &w}).backends())
	require.Equal(t, "missing: torch-expandable: left out of a quick report\nmissing: torch-async: left out of a quick report\n", w.String())
	require.Len(t, (&raw{bench: full, w: io.Discard}).backends(), 3)
}
