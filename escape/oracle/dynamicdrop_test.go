package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/oracle/gen"
	"github.com/lastuse/lastuse/internal/built"
)

// The scenarios of rustc's tests/ui/drop/dynamic-drop.rs, each in its Go reading:
// testdata/dynamicdrop/NN_name.go, named after the original's function. Each runs
// with several decisions, then with an error and with a panic at each operation.
// A comment behind a probe says which buffers are live there, by their number of
// elements; "kept" says that they stay so. Buffers that the analyzer is known to leave alone are listed here,
// not hidden: if one is freed after all, its line has to go.
var acceptedLeaks = map[string]string{
	"18_subslice_pattern_from_end": "an element that is kept keeps its whole collection",
	"22_index_field_mixed_ends":    "withheld: elements of an array are not told apart",
}

var probeLine = regexp.MustCompile(`c\.Probe\((\d+)\) // live:([ \d]*)(kept)?`)

// dropSites is the most buffers a scenario makes by name.
const dropSites = 4

func TestDynamicDrop(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a batch")
	}
	names, err := filepath.Glob("testdata/dynamicdrop/*.go")
	require.NoError(t, err)
	require.Len(t, names, 35)

	dir := t.TempDir()
	b, err := newBatch(dir, Pool{})
	require.NoError(t, err)
	wants := make([]map[int64][]int, len(names)+1)
	kept := map[int]int64{} // scenario → probe after which buffers stay live for good
	for _, side := range []string{"orig", "fixed"} {
		table := fmt.Sprintf("package progs\n\nimport %q\n\nvar Table = []rt.Prog{\n", gen.PathRT)
		for i, name := range names {
			id := i + 1
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			require.NoError(t, write(b.path(side, false, id), string(text)))
			table += fmt.Sprintf("\t{ID: %d, Sites: %d, Seed: %d, F: P%d},\n", id, dropSites, id, id)
			wants[id] = map[int64][]int{}
			for _, m := range probeLine.FindAllStringSubmatch(string(text), -1) {
				probe, _ := strconv.Atoi(m[1])
				live := make([]int, dropSites)
				for _, f := range strings.Fields(m[2]) {
					n, err := strconv.Atoi(f)
					require.NoError(t, err, name)
					live[n-gen.FirstSite]++
				}
				wants[id][int64(probe)] = live
				if m[3] != "" {
					kept[id] = int64(probe)
				}
			}
		}
		require.NoError(t, write(filepath.Join(dir, side, "progs/table.go"), table+"}\n"))
	}
	fixed := filepath.Join(dir, "fixed")
	_, err = testTool(t).Rewrite(context.Background(), fixed)
	require.NoError(t, err)
	bin, broken, err := b.build(context.Background())
	require.NoError(t, err)
	require.Empty(t, broken)
	out, err := b.execute(context.Background(), bin, RunOptions{8, 8})
	require.NoError(t, err)

	var orig *Record
	bad := map[string]string{}
	runs := 0
	err = read(bytes.NewReader(out), func(int) int { return dropSites }, func(r *Record, _ []int64) {
		if !r.Fixed {
			orig = r
			return
		}
		runs++
		name := strings.TrimSuffix(filepath.Base(names[r.ID-1]), ".go")
		at := fmt.Sprintf("%s, run %d, fault %v", name, r.Run, r.Fault)
		require.Empty(t, r.Crash, at)
		require.Empty(t, r.UAF, at)
		require.Zero(t, r.Twice, at)
		require.Equal(t, shown(orig), shown(r), at)
		for i := range dropSites {
			require.LessOrEqual(t, r.Frees[i], orig.Frees[i]+orig.Made(i), at)
		}
		for i, e := range r.Events {
			if e.Kind == gen.EOut {
				continue
			}
			for j := range e.Live {
				require.LessOrEqual(t, e.Live[j], orig.Events[i].Live[j], "%s: a lifetime grew", at)
			}
			if orig.Panicked || r.Fault.Panic {
				continue // what a panic unwinds is left to the safety net
			}
			want := make([]int, dropSites)
			if e.Kind == gen.EProbe {
				want = wants[r.ID][e.Value]
			} else if probe, ok := kept[r.ID]; ok && slices.ContainsFunc(r.Events, func(e Seen) bool {
				return e.Kind == gen.EProbe && e.Value == probe
			}) {
				want = wants[r.ID][probe]
			}
			if !slices.Equal(e.Live, want) && bad[name] == "" {
				bad[name] = fmt.Sprintf("run %d, fault %v, probe %d: live %v, want %v", r.Run, r.Fault, e.Value, e.Live, want)
			}
		}
	})
	require.NoError(t, err)
	require.Greater(t, runs, 35*8)
	for name, text := range bad {
		if acceptedLeaks[name] == "" {
			t.Errorf("%s: %s\n%s", name, text, b.source("fixed", slices.Index(names, "testdata/dynamicdrop/"+name+".go")+1))
		}
	}
	for name := range acceptedLeaks {
		if bad[name] == "" {
			t.Errorf("%s is listed as leaking, but all of it is freed", name)
		}
	}
}

// shown is what a run prints and passes.
func shown(r *Record) (res []int64) {
	for _, e := range r.Events {
		res = append(res, int64(e.Kind), e.Value)
	}
	return res
}

// Made returns how many buffers of a site were ever live at once.
func (r *Record) Made(site int) int {
	n := 0
	for _, e := range r.Events {
		if e.Kind != gen.EOut {
			n = max(n, e.Live[site])
		}
	}
	return n
}

// testTool returns the lastuse command.
func testTool(t *testing.T) tool {
	t.Helper()
	path, err := built.Command("cmd/lastuse")
	require.NoError(t, err)
	return tool{path: path}
}
