package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/internal/built"
	"github.com/lastuse/lastuse/internal/probe"
	"github.com/lastuse/lastuse/internal/tier"
	"github.com/lastuse/lastuse/tracker"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"memwatch": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}

// call runs memwatch and returns its status and what it printed.
func call(t testing.TB, args ...string) (code int, out, errOut string) {
	var w, wErr bytes.Buffer
	code = memwatch(t.Context(), &w, &wErr, args)
	return code, w.String(), wErr.String()
}

// A keeper is a running program with books.
type keeper struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// buildKeeper builds the program with these flags of go build.
func buildKeeper(t testing.TB, flags ...string) (path string) {
	path = filepath.Join(t.TempDir(), "keeper")
	args := append(append([]string{"build", "-o", path}, flags...), "./testdata/keeper")
	out, err := exec.Command("go", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

func startKeeper(t testing.TB, path string, as *syscall.Credential) *keeper {
	k := &keeper{t: t, cmd: exec.Command(path)}
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	k.cmd.Stderr = os.Stderr
	var err error
	k.in, err = k.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := k.cmd.StdoutPipe()
	require.NoError(t, err)
	k.out = bufio.NewScanner(out)
	require.NoError(t, k.cmd.Start())
	t.Cleanup(func() {
		k.in.Close()
		_ = k.cmd.Wait()
	})
	k.do("stats")
	return k
}

func (k *keeper) pid() string { return strconv.Itoa(k.cmd.Process.Pid) }

// do has the keeper do something and returns its own view of its books afterwards.
func (k *keeper) do(line string, args ...any) (s tracker.Stats) {
	_, err := fmt.Fprintf(k.in, line+"\n", args...)
	require.NoError(k.t, err)
	require.True(k.t, k.out.Scan(), "the keeper ended")
	require.NoError(k.t, json.Unmarshal(k.out.Bytes(), &s))
	return s
}

// seen returns what memwatch sees of the keeper.
func (k *keeper) seen(args ...string) *processRow {
	code, out, errOut := call(k.t, append([]string{"-p", k.pid(), "-once", "-o", "json"}, args...)...)
	require.Equal(k.t, exitOK, code, errOut)
	require.Empty(k.t, errOut)
	return k.only(out)
}

// A document is the JSON of what tables say.
type document struct {
	Schema    string
	Processes []struct {
		heap.Process
		Table *processRow `json:"table"`
	}
}

// only returns what a document says of the table of its only process, which is what it says of the process.
func (k *keeper) only(text string) *processRow {
	var d document
	require.NoError(k.t, json.Unmarshal([]byte(text), &d))
	require.Equal(k.t, "memwatch/1", d.Schema)
	require.Len(k.t, d.Processes, 1)
	p := d.Processes[0]
	require.Equal(k.t, p.Table.Live, p.Live)
	require.Equal(k.t, p.Table.LiveObjects, p.Objects)
	require.Equal(k.t, p.Table.Late, p.ByNet.Objects)
	require.Equal(k.t, p.Table.Freed, p.Explicit.Objects)
	require.Len(k.t, p.Sites, len(p.Table.Sites))
	return p.Table
}

// same demands that memwatch and the program see the same.
func (k *keeper) same(want tracker.Stats) {
	k.t.Helper()
	got := k.seen()
	require.Equal(k.t, want.Live, got.Live, "live")
	require.Equal(k.t, want.Pending, got.Pending, "pending")
	require.Equal(k.t, want.Reserved, got.Reserved, "reserved")
	require.Equal(k.t, want.LiveObjects, got.LiveObjects, "objects")
	require.Equal(k.t, want.Total, int64(got.MadeBytes), "total")
	require.Equal(k.t, []int64{want.Made, want.Freed, want.Late, want.LateBytes, want.Repeated},
		[]int64{int64(got.Made), int64(got.Freed), int64(got.Late), int64(got.LateBytes), int64(got.Repeated)})
	require.Len(k.t, got.Accounts, len(want.Accounts))
	for i, a := range want.Accounts {
		g := got.Accounts[i]
		require.Equal(k.t, []any{a.Name, a.Foreign, a.Live, a.Reserved, a.Peak}, []any{g.Name, g.Foreign, g.Live, g.Reserved, g.Peak})
	}
}

// TestPlain watches an ordinary program.
func TestPlain(t *testing.T) {
	path := buildKeeper(t)
	t.Run("figures", func(t *testing.T) { testFigures(t, path) })
	t.Run("leaks", func(t *testing.T) { testLeaks(t, path) })
	t.Run("leaks of a busy site", func(t *testing.T) { testOlderLeak(t, path) })
	t.Run("list and watch", func(t *testing.T) { testListAndWatch(t, path) })
	t.Run("end of program", func(t *testing.T) { testEndOfProgram(t, path) })
	t.Run("attach in a storm", func(t *testing.T) { testAttachInAStorm(t, path) })
	t.Run("without rights", func(t *testing.T) { testWithoutRights(t, path) })
}

func TestStripped(t *testing.T) {
	flags := []string{"-ldflags=-s -w"}
	if tier.Long { // the standard library is built anew for it
		flags = append(flags, "-buildmode=pie")
	}
	testFigures(t, buildKeeper(t, flags...))
}

func TestRace(t *testing.T) {
	if !raceEnabled {
		t.Skip("the tests run without the race detector: building for it would take long")
	}
	testFigures(t, buildKeeper(t, "-race"))
}

// testFigures demands that memwatch and a program see the same at every step.
func testFigures(t *testing.T, path string) {
	k := startKeeper(t, path, nil)
	k.do("reserve 2097152")
	k.do("alloc 0 1024")
	k.do("alloc 1 4096")
	k.do("alloc 0 512")
	k.do("foreign 4096 5000000")
	k.same(k.do("pend 0 512"))
	k.do("free 0 512")
	k.do("late 1 4096")
	k.do("gone 4096")
	k.same(k.do("reserve -1048576"))

	sites := k.seen().Sites
	require.Len(t, sites, 2)
	require.Equal(t, "main.main", sites[0].Function)
	require.Equal(t, "main.go", filepath.Base(sites[0].File))
	require.Equal(t, int64(1024), sites[0].Live, "rate 1: exact")
	require.Equal(t, int64(1), sites[0].Late)

	m := k.counted(func() { k.do("marks 5000") })
	require.Equal(t, [2]uint64{20000, 20000}, [2]uint64{m.Alloc, m.Free})
}

// snapshots returns what the tables of a process say.
func snapshots(t testing.TB, p *process) []*probe.Snapshot {
	tables, err := p.Tables()
	require.NoError(t, err)
	defer tables.Close()
	all, err := tables.Read()
	require.NoError(t, err)
	return all
}

// counted returns how often memwatch sees the markers called while f runs. It skips the
// test where probes are not permitted.
func (k *keeper) counted(f func()) *markerRow {
	p, err := openProcess(k.cmd.Process.Pid)
	require.NoError(k.t, err)
	defer p.Close()
	tables := snapshots(k.t, p)
	if _, err := countMarkers(k.t.Context(), p.PID, tables, 0, func() {}); errors.Is(err, errProbe) {
		k.t.Skip("markers are not counted: ", err)
	}
	memory, err := p.OpenFile("mem")
	require.NoError(k.t, err)
	defer memory.Close()

	// The kernel puts a breakpoint in place of the push. It is gone, with the probes of the trial
	// above, a moment after they were closed.
	for _, marker := range markers {
		require.Eventually(k.t, func() bool {
			var head [1]byte
			_, err := memory.ReadAt(head[:], int64(marker.address(tables[0])))
			return err == nil && head[0] == pushRBP
		}, time.Minute, time.Millisecond)
	}
	ctx, cancel := context.WithCancel(k.t.Context())
	defer cancel()
	var w bytes.Buffer
	said, wErr := io.Pipe()
	done := make(chan int)
	go func() {
		done <- memwatch(ctx, &w, wErr, []string{"-p", k.pid(), "-once", "-o", "json", "-count", "1h"})
		wErr.Close()
	}()
	// The breakpoints are there before anything counts: what it says is what to wait for.
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(said); s.Scan(); {
			lines <- s.Text()
		}
	}()
	require.Contains(k.t, <-lines, "counting for 1h0m0s")
	f()
	cancel()
	require.Equal(k.t, exitOK, <-done)
	require.Empty(k.t, <-lines)
	return k.only(w.String()).Markers
}

func testLeaks(t *testing.T, path string) {
	k := startKeeper(t, path, nil)
	k.do("alloc 0 1048576")
	for _, c := range []struct {
		name string
		args []string
		code int
		out  string // in what it prints
		err  string
	}{
		{"no limit", nil, exitOK, "1.0 MiB", ""},
		{"at the limit", []string{"-fail-over", "1MiB"}, exitOK, "1.0 MiB", ""},
		{"over it", []string{"-fail-over", "1048575"}, exitLimit, "1.0 MiB", "more than the limit of 1024 KiB"},
		{"nothing is old", []string{"-older", "1h", "-fail-over", "0"}, exitOK, "no call site to show", ""},
		{"in bytes", []string{"-bytes"}, exitOK, "1048576", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errOut := call(t, append([]string{"leaks", "-p", k.pid()}, c.args...)...)
			require.Equal(t, c.code, code)
			require.Contains(t, out, c.out)
			require.Contains(t, errOut, c.err)
		})
	}
	k.do("free 0 1048576")
	code, out, _ := call(t, "leaks", "-p", k.pid(), "-fail-over", "0")
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "no call site to show")
}

// TestTopDoesNotHideALeak checks that -fail-over looks at everything, not at what is shown.
func TestTopDoesNotHideALeak(t *testing.T) {
	c := &config{command: "leaks", top: 1, older: time.Minute}
	r := &report{Time: time.Now()}
	c.choose(&processRow{Sites: []siteRow{{Live: 10}, {Live: 5}}}, r, nil)
	require.Equal(t, int64(15), r.least)
}

// TestOlder tells what of a table's sites is an hour old.
func TestOlder(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name        string
		site        siteRow
		age         time.Duration // of the process
		before      *siteRow      // an hour ago
		least, most int64
	}{
		{"idle since", siteRow{Live: 10, MadeBytes: 50, Last: now.Add(-time.Hour)}, 2 * time.Hour, nil, 10, 10},
		{"a young program", siteRow{Live: 10, MadeBytes: 50, Last: now}, time.Minute, nil, 0, 0},
		{"one look", siteRow{Live: 10, MadeBytes: 50, Last: now}, 2 * time.Hour, nil, 0, 10},
		{"it leaks all the time", siteRow{Live: 110, MadeBytes: 110, Last: now}, 2 * time.Hour, &siteRow{Live: 100, MadeBytes: 100}, 100, 100},
		{"it holds no more than before", siteRow{Live: 10, MadeBytes: 500, Last: now}, 2 * time.Hour, &siteRow{Live: 9, MadeBytes: 400}, 0, 9},
		{"some of it is new", siteRow{Live: 100, MadeBytes: 110, Last: now}, 2 * time.Hour, &siteRow{Live: 100, MadeBytes: 100}, 90, 100},
		{"it was not there", siteRow{Live: 10, MadeBytes: 10, Last: now}, 2 * time.Hour, &siteRow{Account: "another"}, 0, 0},
	} {
		cfg := &config{command: "leaks", older: time.Hour}
		r := &report{Time: now}
		var before *report
		if c.before != nil {
			before = &report{Time: now.Add(-time.Hour), Processes: []*processRow{{all: []siteRow{*c.before}}}}
		}
		p := &processRow{Sites: []siteRow{c.site}, age: c.age}
		cfg.choose(p, r, before)
		require.Equal(t, [2]int64{c.least, c.most}, [2]int64{r.least, r.most}, c.name)
		require.Equal(t, c.most > 0, len(p.Sites) == 1, c.name)
	}
}

// testOlderLeak asks for what is old of a program that leaks without a pause.
func testOlderLeak(t *testing.T, path string) {
	k := startKeeper(t, path, nil)
	k.do("alloc 0 1048576")
	over, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-over:
				return
			default:
				k.do("alloc 0 1")
			}
		}
	}()
	const older = 200 * time.Millisecond
	time.Sleep(older) // so that the program is older
	code, out, errOut := call(t, "leaks", "-p", k.pid(), "-older", older.String(), "-fail-over", "1MB")
	close(over)
	<-stopped
	require.Equal(t, exitLimit, code, "%s%s", out, errOut)
}

func testListAndWatch(t *testing.T, path string) {
	k := startKeeper(t, path, nil)
	k.do("alloc 0 3145728")
	code, out, _ := call(t)
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "every process with a table")
	require.Regexp(t, k.pid()+` +keeper +3\.0 MiB`, out)

	code, out, _ = call(t, "-p", k.pid(), "-n", "3", "-d", "10ms", "-o", "jsonl")
	require.Equal(t, exitOK, code)
	require.Equal(t, 3, strings.Count(out, "\n"))
	for line := range strings.Lines(out) {
		require.Equal(t, int64(3<<20), k.only(line).Live)
	}
}

// onWrite calls a function when something is written to it.
type onWrite struct {
	text bytes.Buffer // not embedded: it has more ways to be written to
	once func()
}

func (w *onWrite) Write(b []byte) (int, error) {
	defer w.once()
	return w.text.Write(b)
}

// testEndOfProgram watches a program until it ends.
func testEndOfProgram(t *testing.T, path string) {
	k := startKeeper(t, path, nil)
	out := onWrite{once: sync.OnceFunc(func() {
		k.in.Close()
		_ = k.cmd.Wait()
	})}
	var errOut bytes.Buffer
	code := memwatch(t.Context(), &out, &errOut, []string{"-p", k.pid(), "-d", "20ms"})
	require.Equal(t, exitOK, code)
	require.Contains(t, out.text.String(), "keeper")
	require.Contains(t, errOut.String(), "no such process")
}

// testWithoutRights runs memwatch as a user who is not root, on a program of root and on
// one of his own.
func testWithoutRights(t *testing.T, keeps string) {
	if os.Geteuid() != 0 {
		t.Skip("not root: cannot become another user")
	}
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
	dir := t.TempDir()
	for d := dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		require.NoError(t, os.Chmod(d, 0o755))
	}
	path, watch := filepath.Join(dir, "keeper"), filepath.Join(dir, "memwatch") // where nobody may run them
	tool, err := built.Command("cmd/memwatch")
	require.NoError(t, err)
	for from, to := range map[string]string{keeps: path, tool: watch} {
		program, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, program, 0o755))
	}
	asNobody := func(args ...string) (int, string) {
		cmd := exec.Command(watch, args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: nobody}
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}

	of := startKeeper(t, path, nil)
	code, text := asNobody("-p", of.pid(), "-once")
	require.Equal(t, exitError, code)
	require.Contains(t, text, "not permitted")

	own := startKeeper(t, path, nobody)
	own.do("alloc 0 1048576")
	code, text = asNobody("-p", own.pid(), "-once")
	require.Equal(t, exitOK, code, text)
	require.Contains(t, text, "1.0 MiB live")
	code, text = asNobody("-p", own.pid(), "-once", "-count", "10ms")
	require.Equal(t, exitError, code, text)
	require.Contains(t, text, "not permitted to attach probes")

	code, text = asNobody()
	require.Equal(t, exitOK, code, text)
	require.Contains(t, text, own.pid())
	require.Contains(t, text, "run as root")
	_, _, errOut := call(t)
	require.NotContains(t, errOut, "run as root", "root is told something else")

	// Without rights run reads the table, and top those of all programs of one's own.
	code, text = asNobody("run", "-fail-over", "1KiB", "--", path)
	require.Equal(t, exitOK, code, text)
	require.Contains(t, text, "only tables are read")
	seen := regexp.MustCompile(`(?m)^ *` + own.pid() + ` +keeper .*1\.0 MiB`)
	require.Eventually(t, func() bool { // it prints what it has seen in a second
		code, text = asNobody("top")
		require.Equal(t, exitOK, code, text)
		return seen.MatchString(text)
	}, time.Minute, time.Millisecond)
	require.Contains(t, text, ownTables)
	require.Contains(t, text, "memwatch check")
	require.NotRegexp(t, `(?m)^ *`+of.pid()+` `, text, "it is root's")
	for _, args := range [][]string{
		{"top", "-driver"}, {"-fail-over", "0", "-for", "1s"}, {"leaks", "-suspects"}, {"top", "-lib", path},
		{"record", filepath.Join(dir, "session")},
	} {
		code, text = asNobody(args...)
		require.Equal(t, exitError, code, "%v: %s", args, text)
		require.NotContains(t, text, ownTables, "what is asked for is not in tables, or a gate")
		require.Contains(t, text, "memwatch check")
	}
	testServeWithoutRights(t, watch, nobody, own)
}

// testServeWithoutRights asks the page of a user who is not root for the program of that user.
func testServeWithoutRights(t *testing.T, watch string, as *syscall.Credential, own *keeper) {
	cmd := exec.Command(watch, "serve", "-listen", "127.0.0.1:0", "-d", "100ms")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	errOut, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(errOut)
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), ownTables)
	require.True(t, lines.Scan())
	address := regexp.MustCompile(`http://\S+`).FindString(lines.Text())
	require.NotEmpty(t, address, lines.Text())
	u, err := url.Parse(address)
	require.NoError(t, err)
	r, err := http.NewRequest(http.MethodGet, u.Scheme+"://"+u.Host+"/snapshot.json", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+u.Query().Get("token"))
	require.Eventually(t, func() bool {
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		require.Equal(t, http.StatusOK, res.StatusCode, address)
		var doc heap.Snapshot
		require.NoError(t, json.NewDecoder(res.Body).Decode(&doc))
		require.Equal(t, ownTables, doc.Limits, "the page shows it")
		return slices.ContainsFunc(doc.Processes, func(p heap.Process) bool {
			return fmt.Sprint(p.PID) == own.pid() && p.Live == 1<<20
		})
	}, time.Minute, 20*time.Millisecond)
}
