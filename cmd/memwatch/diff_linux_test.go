package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/demo"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/record"
)

// TestDiff compares the demo's recording with itself and with snapshots of it, in every format.
func TestDiff(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	session := file("session", string(demo.Session()))
	code, end, errOut := call(t, "demo", "-o", "json", "-top", "0")
	require.Equal(t, exitOK, code, errOut)
	code, line, errOut := call(t, "demo", "-o", "jsonl", "-top", "1")
	require.Equal(t, exitOK, code, errOut)
	whole, part := file("end.json", end), file("part.jsonl", end+line)
	broken := file("broken", string(demo.Session())[:len(demo.Session())-100])
	atSign := file("a@b", end)
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	const cache = `  \+192 MiB  \+48      224 MiB  416 MiB  device  main.\(\*Cache\).put /src/trainer/cache.go:40\n`
	for _, c := range []struct {
		args []string
		code int
		want string // in what is printed
		err  string
	}{
		{[]string{session + "@60s", session}, exitOK, cache, ""},
		{[]string{session + "@60s", whole, "-top", "1"}, exitOK, cache, ""},
		{[]string{session + "@60s", atSign, "-o", "wide"}, exitOK, cache + ` +main.\(\*Cache\)`, ""},
		{[]string{session + "@60s", session, "-p", "4377"}, exitOK, `^PROCESS.*\nworkspace 4377  256 MiB  256 MiB  0 B   \+0\n$`, ""},
		{[]string{session, whole}, exitOK, `trainer 4101  1.6 GiB  1.6 GiB  0 B   \+0\n`, ""},
		{[]string{session + "@60s", session, "-fail-over", "100MiB"}, exitLimit, cache, "grew by 180 MiB, more than the limit of 100 MiB"},
		{[]string{session + "@60s", session, "-fail-over", "200MiB"}, exitOK, cache, ""},
		{[]string{session + "@60s", session, "-bytes"}, exitOK, `\+201326592 `, ""},
		{[]string{session + "@60s", session, "-o", "jsonl"}, exitOK, `^\{"schema":"memwatch-diff/1","before":\d+,"after":\d+,"grown":188\d+,.*\}\n$`, ""},
		{[]string{session + "@60s", session, "-o", "json"}, exitOK, `"suspect": \[`, ""},
		{[]string{whole, part}, exitOK, "leave out 3 sites, which may have been there before", ""},
		{[]string{session, broken}, exitOK, "PROCESS", "the recording breaks off"},
		{[]string{session, broken, "-fail-over", "1GiB"}, exitUnseen, "PROCESS", "not all was seen"},
		{[]string{session, file("text", "hello")}, exitError, "", "neither a recording nor a snapshot"},
		{[]string{session, file("none", "")}, exitError, "", "neither a recording nor a snapshot"},
		{[]string{session, file("other", `{"schema":"memwatch/2"}`)}, exitError, "", `its schema is "memwatch/2", and only "memwatch/1" is known`},
		{[]string{session, file("null", `null`)}, exitError, "", "its schema is"},
		{[]string{session, file("huge", `{"schema":"memwatch/1","processes":[{"pid":3,"live":9223372036854775807}]}`)}, exitError, "", "process 3: a size that cannot be"},
		{[]string{session, file("less", `{"schema":"memwatch/1","processes":[{"pid":3,"sites":[{"class":"a","live":-1}]}]}`)}, exitError, "", "process 3: site 0: a size that cannot be"},
		{[]string{session, file("rest", end+"x")}, exitError, "", "invalid character"},
		{[]string{session, file("version", "memwtch\x09")}, exitError, "", "version 9, and only 1 is known"},
		{[]string{session, whole + "@5s"}, exitError, "", "a snapshot is of one time"},
		{[]string{session, session + "@soon"}, exitError, "", `"soon" is no time after the first event`},
		{[]string{session, dir}, exitError, "", "not a regular file"},
		{[]string{session, fifo}, exitError, "", "not a regular file"},
		{[]string{session, filepath.Join(dir, "missing")}, exitError, "", "no such file"},
		{[]string{session}, exitUsage, "", "diff needs two files"},
		{[]string{session, session, session}, exitUsage, "", "unexpected argument"},
		{[]string{session, session, "-o", "pprof"}, exitUsage, "", "-o pprof does not go with diff"},
	} {
		code, out, errOut := call(t, append([]string{"diff"}, c.args...)...)
		require.Equal(t, c.code, code, "%v: %s", c.args, errOut)
		require.Regexp(t, c.want, out, "%v", c.args)
		require.Contains(t, errOut, c.err, "%v", c.args)
		if c.err == "" {
			require.Empty(t, errOut, "%v", c.args)
		}
	}
	hostile := file("hostile", strings.ReplaceAll(end, `"name": "trainer"`, `"name": "a\u001b[2J\nb"`))
	code, out, _ := call(t, "diff", session, hostile)
	require.Equal(t, exitOK, code)
	require.NotContains(t, out, "\x1b")
	require.Contains(t, out, "a?[2J?b")
}

// TestReplayWhileWritten shows what there is of a recording that goes on, and says so.
func TestReplayWhileWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w, err := record.Create(path, 0, record.Header{Wall: 1e18})
	require.NoError(t, err)
	require.NoError(t, w.Write(&heap.Event{Op: heap.Start, PID: 5, Text: "trainer", Size: 1, Time: 1}))
	require.NoError(t, w.Write(&heap.Event{Op: heap.Alloc, PID: 5, TID: 5, Time: 2, Addr: 1, Size: 1 << 20, Stack: 1}))
	require.NoError(t, w.Flush())
	code, out, errOut := call(t, "replay", path)
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "trainer  running  1.0 MiB")
	require.Contains(t, errOut, "the recording is still being written")
	code, _, errOut = call(t, "replay", path, "-fail-over", "1GiB")
	require.Equal(t, exitUnseen, code, errOut)
	code, _, errOut = call(t, "diff", path, path, "-fail-over", "1GiB")
	require.Equal(t, exitOK, code, "up to now it is whole")
	require.Empty(t, errOut)
	require.NoError(t, w.Close())
	code, _, errOut = call(t, "replay", path, "-fail-over", "1GiB")
	require.Equal(t, exitOK, code, errOut)
}

// TestFollowed plays what is there of a recording at once, and what comes as it comes.
func TestFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w, err := record.Create(path, 0, record.Header{})
	require.NoError(t, err)
	alloc := func(n uint64) {
		require.NoError(t, w.Write(&heap.Event{Op: heap.Alloc, PID: 5, TID: 5, Time: int64(n) * 3600e9, Addr: n, Size: 1, Stack: 1}))
		require.NoError(t, w.Flush())
	}
	for n := range uint64(10) { // hours
		alloc(n + 1)
	}
	stop := make(chan struct{})
	r, err := record.Follow(path, stop)
	require.NoError(t, err)
	defer r.Close()
	s := replaying("replay", r)
	over := make(chan error, 1)
	c := &config{given: map[string]bool{}, speed: 1}
	go func() { over <- s.play(r, c.pace(r), stop) }()
	alloc(11)
	require.NoError(t, w.Close())
	require.NoError(t, <-over)
	require.Equal(t, int64(11), s.snapshot(heap.Query{}).Processes[0].Live)
	c.given["speed"] = true
	require.Equal(t, 1.0, c.pace(r))
}
