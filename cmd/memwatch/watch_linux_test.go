//go:build linux && amd64

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/demo"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
)

// stormProgram returns the program that calls every function of a driver that only
// keeps books, and the driver, both of this test alone; or skips the test. Ask before t.Parallel: a file
// that a fork of another test holds open for writing cannot be run.
func stormProgram(t testing.TB) (prog, lib string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	stormOnce.Do(func() { compileStorm(t, cc) })
	dir := t.TempDir()
	prog, lib = filepath.Join(dir, stormFiles[0]), filepath.Join(dir, stormFiles[1])
	for i, name := range stormFiles {
		require.NotEmpty(t, storm[i], "it could not be built")
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), storm[i], 0o755))
	}
	return prog, lib
}

// The files of the storm, which finds its driver beside it, built once for all tests.
var (
	stormFiles = [2]string{"storm", "libcuda.so.1"}
	stormOnce  sync.Once
	storm      [2][]byte
)

func compileStorm(t testing.TB, cc string) {
	dir := t.TempDir()
	var symbols strings.Builder
	for _, p := range probes.All() {
		if strings.HasPrefix(p.Symbol, "cu") {
			fmt.Fprintf(&symbols, "S(%s)\n", p.Symbol)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "symbols.h"), []byte(symbols.String()), 0o600))
	prog, lib := filepath.Join(dir, stormFiles[0]), filepath.Join(dir, stormFiles[1])
	const src = "internal/bpf/testdata/storm/"
	for _, args := range [][]string{
		{"-DSTUBS=580", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", lib, src + "lib.c"},
		{"-o", prog, src + "main.c", lib, "-Wl,--disable-new-dtags,-rpath,$ORIGIN"},
	} {
		out, err := exec.Command(cc, append([]string{"-std=gnu11", "-O2", "-w", "-pthread", "-I", dir}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for i, name := range stormFiles {
		var err error
		storm[i], err = os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
	}
}

// TestRun starts a program that ends with memory live: its figures are those of the
// program's own books, and the limit of CI trips.
func TestRun(t *testing.T) {
	prog, lib := stormProgram(t)
	t.Parallel()
	self := os.Args[0] // which is memwatch when a test script calls it so
	dir := t.TempDir()
	exe := filepath.Join(dir, "memwatch")
	require.NoError(t, os.Symlink(self, exe))
	run := func(args ...string) (string, string, error) {
		cmd := exec.Command(exe, append([]string{"run", "-lib", lib}, args...)...)
		cmd.Args[0] = "memwatch"
		var out, errOut bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("\n\n"), &out, &errOut
		err := cmd.Run()
		return out.String(), errOut.String(), err
	}
	out, errOut, err := run("-o", "jsonl", "--", prog, "1", "1", "200")
	require.NoError(t, err, errOut)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 3, "ready, the program's books, the answer")
	var doc struct {
		Processes []struct {
			Name                  string
			Exited                bool
			Joined                bool
			AtExit, AtExitObjects int64
		}
	}
	require.NoError(t, json.Unmarshal([]byte(lines[2]), &doc))
	require.Len(t, doc.Processes, 1)
	p := doc.Processes[0]
	require.Equal(t, "storm", p.Name)
	require.True(t, p.Exited)
	require.False(t, p.Joined, "it was watched from its first call")
	var own int64
	for i, w := range strings.Fields(lines[1]) {
		var n int64
		fmt.Sscan(w, &n)
		if i%2 == 0 && i/2 < 6 { // device, managed, pinned, pool, array, physical
			own += n
		}
	}
	require.NotZero(t, own)
	require.Equal(t, own, p.AtExit)
	require.Positive(t, p.AtExitObjects)

	_, errOut, err = run("-fail-over", "1KiB", "--", prog, "1", "1", "200")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, errOut)
	require.Equal(t, exitLimit, exit.ExitCode(), errOut)
	_, errOut, err = run("--", "false")
	require.ErrorAs(t, err, &exit)
	require.Equal(t, exitError, exit.ExitCode())
	require.Contains(t, errOut, "false: exit status 1")
	_, errOut, err = run("--", filepath.Join(dir, "nowhere"))
	require.ErrorAs(t, err, &exit)
	require.Contains(t, errOut, "no such file")
}

// mapped waits until a process that was started has mapped a library.
func mapped(t *testing.T, pid int, lib string) {
	for {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		require.NoError(t, err)
		if strings.Contains(string(maps), filepath.Base(lib)) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// TestRecordReplay records a running program and replays it.
func TestRecordReplay(t *testing.T) {
	prog, lib := stormProgram(t)
	t.Parallel()
	cmd := exec.Command(prog, "1", "1", "3000")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	file := filepath.Join(t.TempDir(), "session")
	grown := func(size int64) {
		for {
			if info, err := os.Stat(file); err == nil && info.Size() >= size {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	go func() {
		grown(1) // the file is made when the probes are there
		io.WriteString(in, "\n")
		// it has events: the process was looked at before its first one, and does not end before
		grown(4 << 10)
		io.WriteString(in, "\n")
	}()
	mapped(t, cmd.Process.Pid, lib)
	_, _, notes := call(t, "-once")
	require.Regexp(t, fmt.Sprintf(`without a table: .*\b%d\b.*; memwatch -driver`, cmd.Process.Pid), notes)
	// it ends with the process
	code, _, errOut := call(t, "record", file, "-p", fmt.Sprint(cmd.Process.Pid), "-lib", lib, "-for", "5m")
	require.NoError(t, cmd.Wait())
	require.Equal(t, exitOK, code, errOut)
	require.Regexp(t, `[1-9][0-9]+ events in`, errOut)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	code, out, errOut := call(t, "replay", file)
	require.Equal(t, exitOK, code, errOut)
	require.Regexp(t, `storm +exited +[0-9.]+ [MG]iB at exit`, out)
	code, _, errOut = call(t, "record", file, "-for", "10ms")
	require.Equal(t, exitError, code)
	require.Contains(t, errOut, "file exists")
}

func TestWatches(t *testing.T) {
	for line, want := range map[string]bool{
		"": false, "-p 1 -once": false, "sites -p 1": false, "-o json": false, "leaks -fail-over 1": false,
		"run -- ./app": true, "-top 3 top": true, "-driver -p 1": true, "sites --driver": true, "-p 1 -o pprof": false,
		"-p 1 -o=folded": false, "-d 1s demo": true, "-p 1 -for 1s": true, "leaks -suspects": true, "-p 1 -lib x": true,
	} {
		c, err := parse(strings.Fields(line))
		require.NoError(t, err, line)
		require.Equal(t, want, c.watches(), line)
	}
	for line, want := range map[string]bool{
		"": true, "-p 1": true, "top": true, "demo": true, "replay x": true,
		"-once": false, "-p 1 -o table": false, "-p 1 -n 3": false, "sites": false, "-fail-over 1": false, "demo -for 1s": false, "run x": false,
	} {
		c, err := parse(strings.Fields(line))
		require.NoError(t, err, line)
		c.terminal = true
		require.Equal(t, want, c.interactive(), line)
	}
}

// A buffer may be written by one goroutine and read by another.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestRecordKilled kills a memwatch that records: what it has written by then is shown.
func TestRecordKilled(t *testing.T) {
	prog, lib := stormProgram(t)
	t.Parallel()
	dir := t.TempDir()
	target := exec.Command(prog, "1", "2", "3000")
	in, err := target.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, target.Start())
	t.Cleanup(func() { in.Close(); _ = target.Wait() })
	exe, file := filepath.Join(dir, "memwatch"), filepath.Join(dir, "session")
	require.NoError(t, os.Symlink(os.Args[0], exe))
	cmd := exec.Command(exe, "record", file, "-p", fmt.Sprint(target.Process.Pid), "-lib", lib)
	cmd.Args[0], cmd.Stderr = "memwatch", os.Stderr
	require.NoError(t, cmd.Start())
	size := func() int64 {
		if info, err := os.Stat(file); err == nil {
			return info.Size()
		}
		return 0
	}
	require.Eventually(t, func() bool { return size() > 0 }, time.Minute, 5*time.Millisecond)
	io.WriteString(in, "\n") // it runs, and then waits for the next line
	require.Eventually(t, func() bool {
		code, out, _ := call(t, "replay", file)
		return code == exitOK && regexp.MustCompile(`storm +joined +≈?[1-9]`).MatchString(out)
	}, time.Minute, 50*time.Millisecond, "it can be read while it is written")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	code, out, errOut := call(t, "replay", file)
	require.Equal(t, exitOK, code, errOut)
	require.Regexp(t, `storm +joined +≈?[1-9]`, out)
	require.Regexp(t, `the recording breaks off: .*at byte [0-9]+: the file ends before its end record`, errOut)
	code, _, _ = call(t, "replay", file, "-fail-over", "1TiB")
	require.Equal(t, exitUnseen, code)
	code, _, errOut = call(t, "serve", "-replay", file, "-listen", "nowhere:x")
	require.Equal(t, exitError, code, errOut)
}

// TestServe serves a recording with a token from a file.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	file, token := filepath.Join(dir, "session"), filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(file, demo.Session(), 0o600))
	require.NoError(t, os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600))
	ctx, stop := context.WithCancel(t.Context())
	var errOut buffer
	done := make(chan int)
	go func() {
		done <- memwatch(ctx, io.Discard, &errOut, []string{"serve", "-replay", file, "-speed", "0", "-listen", "127.0.0.1:0", "-token-file", token})
	}()
	var base string
	require.Eventually(t, func() bool {
		base = regexp.MustCompile(`http://[0-9.:]+/`).FindString(errOut.String())
		return base != ""
	}, time.Minute, 10*time.Millisecond)
	require.NotContains(t, errOut.String(), "0123456789abcdef")
	r, err := http.NewRequest("GET", base+"metrics", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer 0123456789abcdef")
	require.Eventually(t, func() bool {
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, 200, res.StatusCode)
		return strings.Contains(string(b), `foreignheap_live_peak_bytes{comm="trainer",pid="4101"}`)
	}, time.Minute, 20*time.Millisecond)
	stop()
	require.Equal(t, exitOK, <-done)

	require.NoError(t, os.Chmod(token, 0o644))
	code, _, out := call(t, "serve", "-replay", file, "-listen", "127.0.0.1:0", "-token-file", token)
	require.Equal(t, exitError, code)
	require.Contains(t, out, "everybody may read or write it (mode 0644): chmod o= "+token)
	require.NoError(t, os.Chmod(token, 0o440))
	code, _, out = call(t, "serve", "-replay", file, "-listen", "nowhere:x", "-token-file", token)
	require.Equal(t, exitError, code)
	require.Contains(t, out, "unknown port", "a group may: the next step fails")
	require.NoError(t, os.Chmod(token, 0o600))
	require.NoError(t, os.WriteFile(token, []byte("short\n"), 0o600))
	code, _, out = call(t, "serve", "-replay", file, "-listen", "127.0.0.1:0", "-token-file", token)
	require.Equal(t, exitError, code)
	require.Contains(t, out, "a token has at least 16 characters")
}

// TestListen asks where serve listens, by the address that it was given.
func TestListen(t *testing.T) {
	for listen, want := range map[string]bool{":0": true, "localhost:0": true, "127.0.0.1:0": true, "0.0.0.0:0": false} {
		c, err := parse([]string{"serve", "-listen", listen})
		require.NoError(t, err)
		require.NoError(t, c.prepare())
		require.Equal(t, want, c.listener.Addr().(*net.TCPAddr).IP.IsLoopback(), listen)
		require.NoError(t, c.listener.Close())
	}
}

// TestCheck runs check: with rights everything but a library is there.
func TestCheck(t *testing.T) {
	code, out, errOut := call(t, "check")
	for _, what := range []string{"kernel", "types", "rights", "probes", "mappings", "libraries"} {
		require.Contains(t, out, what)
	}
	if os.Geteuid() != 0 {
		require.Equal(t, exitError, code)
		require.Contains(t, out, "MISSING")
		t.Skip("the rest of the test needs root")
	}
	require.Equal(t, exitOK, code, "%s%s", out, errOut)
	require.Contains(t, out, "2000 of 2000 calls were seen")
	require.Regexp(t, `mappings +ok +told by the kernel`, out)
}

// TestDriverUnasked asks about a process that has no table and uses a driver: it is
// watched, with the limit and the formats of any other.
func TestDriverUnasked(t *testing.T) {
	prog, _ := stormProgram(t)
	t.Parallel()
	cmd := exec.Command(prog, "1", "20", "300")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	pid := fmt.Sprint(cmd.Process.Pid)
	for i, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-once", "-d", "2s"}, exitOK, "storm"},
		{[]string{"-once", "-d", "100ms", "-o", "json"}, exitOK, `"schema": "memwatch/1"`},
		{[]string{"sites", "-d", "100ms", "-o", "wide"}, exitOK, "memory from before memwatch: unknown"},
	} {
		if i == 0 { // it goes on while it is watched, and is still again for the others
			time.AfterFunc(500*time.Millisecond, func() { io.WriteString(in, "\n") })
		}
		code, text, errOut := call(t, append([]string{"-p", pid}, c.args...)...)
		require.Equal(t, c.code, code, errOut)
		require.Contains(t, text, c.want)
		if i == 0 {
			require.True(t, lines.Scan())
		}
	}
	code, _, errOut := call(t, "leaks", "-p", pid, "-fail-over", "0", "-d", "100ms")
	require.Equal(t, exitOK, code, "nothing was allocated while it was watched: %s", errOut)
}

// A firstWrite ends what it is called for when something is written.
type firstWrite struct {
	ctx   context.Context
	stop  context.CancelFunc
	early bool // it was written before the end
}

func (f *firstWrite) Write(p []byte) (int, error) {
	f.early = f.early || f.ctx.Err() == nil
	f.stop()
	return len(p), nil
}

// TestFirstPrint prints once an hour: the first print does not take an hour.
func TestFirstPrint(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	w := &firstWrite{ctx: ctx, stop: stop}
	var wErr bytes.Buffer
	code := memwatch(ctx, w, &wErr, []string{"-driver", "-o", "jsonl", "-d", "1h", "-p", fmt.Sprint(os.Getpid())})
	require.Equal(t, exitOK, code, wErr.String())
	require.True(t, w.early)
}
