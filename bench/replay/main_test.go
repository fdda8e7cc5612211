package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/bench/trace"
)

// write makes a trace of buffers of 64 MiB, 20 of them live at the end.
func write(t *testing.T) string {
	var tr trace.Trace
	tr.Device = "test"
	for i := range uint64(40) {
		tr.Events = append(tr.Events, trace.Event{Ptr: i << 30, Size: 64 << 20, Stream: int(i % 2)})
		if i%2 == 1 {
			tr.Events = append(tr.Events, trace.Event{Free: true, Ptr: (i - 1) << 30, Size: 64 << 20})
		}
	}
	name := filepath.Join(t.TempDir(), "some.trace")
	var w bytes.Buffer
	require.NoError(t, tr.Write(&w))
	require.NoError(t, os.WriteFile(name, w.Bytes(), 0o666))
	return name
}

func TestReplay(t *testing.T) {
	name := write(t)
	var w bytes.Buffer
	require.NoError(t, run(&w, "host", 2, "0.5,2", "", []string{name}))
	lines := strings.Split(strings.TrimSpace(w.String()), "\n")
	require.Len(t, lines, 6, "two rounds, each with sites and without, and two limits")
	for i, pool := range []string{"lastuse-host", "lastuse-host-nosites", "lastuse-host", "lastuse-host-nosites"} {
		require.Regexp(t, `^BenchmarkTrace/trace=some/pool=`+pool+` 1 [0-9.]+ ns/event [0-9.]+ cold-ns/event [0-9]+ reserved-B 1409286144 requested-B 80 events 0 failures$`, lines[i])
	}
	// Half of the peak is 672 MiB: the tenth pair of Makes finds no room for both, as nine are left of those before.
	require.Equal(t, "BenchmarkTraceLimit/trace=some/pool=lastuse-host/limit=0.50 1 1 failures 0.3500 done 704643072 free-B", lines[4])
	require.Equal(t, "BenchmarkTraceLimit/trace=some/pool=lastuse-host/limit=2.00 1 0 failures 1.0000 done 2818572288 free-B", lines[5])
}

func TestConvert(t *testing.T) {
	name := write(t)
	var own, rmm bytes.Buffer
	require.NoError(t, run(&own, "", 0, "", "lastuse", []string{name}))
	so, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(so), own.String())
	require.NoError(t, run(&rmm, "", 0, "", "rmm", []string{name}))
	require.Equal(t, 61, strings.Count(rmm.String(), "\n"), "a head and a line for each event")
}

func TestUsage(t *testing.T) {
	name := write(t)
	for _, c := range []struct {
		device, limits, write string
		files                 []string
		want                  string
	}{
		{"host", "1", "", nil, "which trace?"},
		{"gpu", "1", "", []string{name}, `device "gpu" is neither host nor cuda`},
		{"host", "1,much", "", []string{name}, `limit "much" is no positive number`},
		{"host", "1", "csv", []string{name}, `form "csv" is neither lastuse nor rmm`},
		{"host", "1", "rmm", []string{name, name}, "one trace at a time"},
	} {
		require.EqualError(t, run(&bytes.Buffer{}, c.device, 1, c.limits, c.write, c.files), c.want)
	}
}
