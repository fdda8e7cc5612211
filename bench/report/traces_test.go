package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const traceSample = `BenchmarkTraceRecorded/trace=train/pool=torch-native 1 2147483648 reserved-B 1073741824 requested-B 100 events 3 steps
BenchmarkTrace/trace=train/pool=lastuse-cuda 1 80.0 ns/event 300 cold-ns/event 1105954078 reserved-B 1073741824 requested-B 100 events 0 failures
BenchmarkTrace/trace=train/pool=lastuse-cuda-nosites 1 50.0 ns/event 290 cold-ns/event 1105954078 reserved-B 1073741824 requested-B 100 events 0 failures
BenchmarkTrace/trace=train/pool=torch-native 1 400 ns/event 1500 cold-ns/event 2147483648 reserved-B 1073741824 requested-B 100 events 0 failures
BenchmarkTrace/trace=train/pool=driver-async 1 900 ns/event 1500 cold-ns/event 1073741824 reserved-B 1073741824 requested-B 7 events 1 failures
BenchmarkTraceLimit/trace=train/pool=lastuse-cuda/limit=1.05 1 0 failures 1.0000 done 1127428096 free-B
BenchmarkTraceLimit/trace=train/pool=torch-native/limit=1.05 1 1 failures 0.3700 done 1127428096 free-B
`

func TestTraceTables(t *testing.T) {
	f, err := parse(strings.NewReader(traceSample))
	require.NoError(t, err)
	var w bytes.Buffer
	traceTables(f, func(title string, t *table) { t.write(&w, title) })
	for _, want := range []string{
		"| train | 100 | 1.00 GiB | 2.00 GiB |\n",
		"| lastuse-cuda | 1.030 |\n", "| torch-native | 2.000 |\n",
		"| driver-async |  |\n", // it did not come to its end
		"| lastuse-cuda-nosites | 50.0 ns |\n",
		"| lastuse-cuda | yes |\n| torch-native | no, 37 % |\n",
	} {
		require.Contains(t, w.String(), want)
	}
	require.NotContains(t, w.String(), "900 ns", "nor does its time count")
	require.NotContains(t, w.String(), "| lastuse-cuda-nosites | 1.030", "it differs in time only")

	grid, err := tracePlots(f)
	require.NoError(t, err)
	b := &bench{root: t.TempDir(), set: "full"}
	require.NoError(t, b.save("traces", grid))
	info, err := os.Stat(filepath.Join(b.root, "docs", "plots", "traces.png"))
	require.NoError(t, err)
	require.Greater(t, info.Size(), int64(1000))
}

// TestImpatience: a peer that takes too long is missing, and what it has printed is there, as soon as it is found.
func TestImpatience(t *testing.T) {
	b := &bench{root: t.TempDir(), set: "s", ctx: t.Context(), bar: &bar{w: io.Discard, all: 1, stop: make(chan struct{})}, patience: 200 * time.Millisecond}
	require.NoError(t, os.MkdirAll(filepath.Join(b.root, "bench"), 0o777))
	name := filepath.Join(b.dir(), "p.txt")
	require.NoError(t, b.run(part{name: "p", run: func(r *raw) error {
		r.peer("slow", nil, "sh", "-c", "echo BenchmarkX/pool=slow 1 3 ns/op; exec sleep 60")
		so, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Contains(t, string(so), "BenchmarkX/pool=slow 1 3 ns/op\nmissing: slow: sh: signal: killed")
		return nil
	}}))
}
