package web

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/internal/page"
)

// TestPageScripts runs what the page computes: its filter, its tree of calls, what it keeps of the past.
func TestPageScripts(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node")
	}
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	cmd := exec.Command(node, "--test", "testdata/page.test.mjs")
	dir := t.TempDir() // where a folder says that its files are modules
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o600))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "static"), os.DirFS(filepath.Join(here, "static"))))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "static", "shared"), page.Files()))
	cmd.Env = append(os.Environ(), "STATIC="+filepath.Join(dir, "static"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "# pass 7")
}

// TestHistory keeps what was live in steps, of processes that are there, and no more than it has room for.
func TestHistory(t *testing.T) {
	var h history
	step := func(at int64, processes ...heap.Process) { h.keep(&heap.Snapshot{Time: at, Processes: processes}) }
	a, b := heap.Process{PID: 1, Start: 1, Live: 10}, heap.Process{PID: 2, Start: 1, Live: 5}
	step(1, a, b)
	step(1, a, b)
	a.Live = 20
	step(2, a, b)
	again := heap.Process{PID: 2, Start: 9, Live: 7}
	step(3, a, again)
	require.Len(t, h.past, 2)
	require.Equal(t, &past{1, 1, []int64{1, 2, 3}, []int64{10, 20, 20}}, h.past[processID{1, 1}])
	require.Equal(t, []int64{3}, h.past[processID{2, 9}].Times)
	a.Exited = true
	step(4, a)
	require.Len(t, h.past[processID{1, 1}].Times, 3, "what has ended has no more to tell")
	for i := range int64(2 * keepMost) {
		step(10+i, again)
	}
	require.Len(t, h.past, 1)
	p := h.past[processID{2, 9}]
	require.Len(t, p.Times, keepMost)
	require.Equal(t, int64(10+2*keepMost-1), p.Times[keepMost-1])
	var many []heap.Process
	for i := range uint32(2 * keepProcs) {
		many = append(many, heap.Process{PID: i})
	}
	step(1e6, many...)
	require.Len(t, h.past, keepProcs)

	s := serve(t, Options{})
	code, body, _ := get(t, s, "/history.json")
	require.Equal(t, 200, code)
	var doc struct{ Processes []past }
	require.NoError(t, json.Unmarshal([]byte(body), &doc))
	code, _, _ = get(t, s, "/history.json", "Authorization", "")
	require.Equal(t, 401, code)
}
