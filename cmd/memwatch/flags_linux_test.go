package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// TestManuals holds the manuals to the command line: each command has one, each flag
// named in one exists, and each flag is in the manual of all.
func TestManuals(t *testing.T) {
	for _, c := range commands {
		require.Contains(t, manuals[c], "Usage: memwatch "+c, c)
		for _, f := range regexp.MustCompile(`[ \[]-([a-z][a-z-]+)`).FindAllStringSubmatch(strings.ReplaceAll(manuals[c], "pprof -http", ""), -1) {
			require.Contains(t, usage, "\t-"+f[1]+" ", "%s names -%s", c, f[1])
		}
	}
	require.Len(t, manuals, len(commands))
	for _, f := range regexp.MustCompile(`(?m)^\t-([a-z-]+) `).FindAllStringSubmatch(usage, -1) {
		_, err := parse([]string{"-" + f[1] + "=x"})
		if err != nil {
			require.NotContains(t, err.Error(), "not defined", f[1])
		}
	}
	for _, format := range formats {
		require.Contains(t, usage, format)
	}
}

// TestVersion says which memwatch this is.
func TestVersion(t *testing.T) {
	code, out, errOut := call(t, "version")
	require.Equal(t, exitOK, code, errOut)
	require.Regexp(t, `^memwatch \S+, go1\.\S+.*, linux/\w+\n$`, out)
	code, _, _ = call(t, "version", "x")
	require.Equal(t, exitUsage, code)
}

// TestTableFormats prints a program's table in every format, with every flag that
// chooses: none of them needs rights or probes.
func TestTableFormats(t *testing.T) {
	k := startKeeper(t, buildKeeper(t), nil)
	k.do("alloc 0 4096")
	k.do("alloc 1 1048576")
	k.do("foreign 4096 10000")
	for _, c := range []struct {
		args []string
		code int
		want string // in what is printed
	}{
		{[]string{"-o", "folded"}, exitOK, ";main.main;[buffer] 1052672\n"},
		{[]string{"-o", "wide", "-top", "1"}, exitOK, "1.0 MiB"},
		{[]string{"-o", "json", "-older", "1h"}, exitOK, `"sites": []`},
		{[]string{"-o", "folded", "-older", "1h"}, exitOK, ""},
		{[]string{"-fail-over", "2MiB"}, exitOK, "1.0 MiB"},
		{[]string{"--fail-over", "1MiB"}, exitLimit, "1.0 MiB"},
		{[]string{"-fail-over", "0", "-older", "1h", "-o", "jsonl"}, exitOK, `"sites":[]`},
		{[]string{"-fail-over", "1KiB", "-o", "folded"}, exitLimit, ";main.main;[buffer] 10000\n"},
	} {
		code, out, errOut := call(t, append([]string{"-p", k.pid(), "--once"}, c.args...)...)
		require.Equal(t, c.code, code, "%v %s", c.args, errOut)
		require.Contains(t, out, c.want, "%v", c.args)
		if c.code == exitLimit {
			require.Contains(t, errOut, "more than the limit")
		}
	}
	_, out, _ := call(t, "-p", k.pid(), "--once", "-o", "folded", "-top", "1")
	require.Equal(t, 1, strings.Count(out, "\n"), out)

	code, out, errOut := call(t, "sites", "-p", k.pid(), "-o", "pprof")
	require.Equal(t, exitOK, code, errOut)
	p, err := profile.ParseData([]byte(out))
	require.NoError(t, err)
	space := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "inuse_space" })
	require.GreaterOrEqual(t, space, 0)
	var live int64
	for _, s := range p.Sample {
		live += s.Value[space]
		require.True(t, slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
			return len(l.Line) > 0 && l.Line[0].Function.Name == "main.main"
		}), p.String())
	}
	require.Equal(t, int64(1062672), live)
}

// TestRunReadsTheTable runs a program that calls no driver and ends with buffers live:
// what its table said last is what is printed, and the limit trips.
func TestRunReadsTheTable(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "memwatch")
	require.NoError(t, os.Symlink(os.Args[0], exe)) // memwatch when a script calls it so
	path := buildKeeper(t)
	run := func(in string, args ...string) (code int, out, errOut string) {
		cmd := exec.Command(exe, append([]string{"run", "-bytes"}, append(args, "--", path)...)...)
		var w, wErr bytes.Buffer
		cmd.Args[0], cmd.Stdin, cmd.Stdout, cmd.Stderr = "memwatch", strings.NewReader(in), &w, &wErr
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode(), w.String(), wErr.String()
	}
	code, out, errOut := run("alloc 0 1000\nalloc 1 50000\nfree 0 1000\n", "-fail-over", "50000")
	require.Equal(t, exitOK, code, errOut)
	require.Regexp(t, `keeper +exited +50000 at exit`, out)
	require.Regexp(t, `50000 .*buffer .*main\.main`, out)
	code, _, errOut = run("alloc 0 1000\nalloc 1 50000\n", "-fail-over", "50999")
	require.Equal(t, exitLimit, code, errOut)
	require.Contains(t, errOut, "51000 live, more than the limit of 50999")
	code, _, errOut = run("alloc 0 1000\nfree 0 1000\n", "-fail-over", "0")
	require.Equal(t, exitOK, code, errOut)
}

// TestRunLeavesTheProgramAlone runs a program that is stopped, continued and signalled:
// it must not notice that its end is waited for.
func TestRunLeavesTheProgramAlone(t *testing.T) {
	ended := false
	for _, c := range []struct {
		script string
		err    string
	}{
		{"exit 0", ""},
		{"exit 7", "exit status 7"},
		{"kill -TERM $$; sleep 10", "signal: terminated"},
		{"kill -KILL $$; sleep 10", "signal: killed"},
		{"trap 'exit 3' USR1; kill -USR1 $$; sleep 10", "exit status 3"},
		{"(sleep 0.2; kill -CONT $$) & kill -STOP $$; exit 4", "exit status 4"},
		{"trap '' INT; kill -INT $$; exit 5", "exit status 5"},
		{"exec sh -c 'exit 6'", "exit status 6"},
	} {
		ch, err := startStopped([]string{"sh", "-c", c.script})
		require.NoError(t, err)
		ch.ending = func() { ended = true }
		if err := ch.run(t.Context()); c.err == "" {
			require.NoError(t, err, c.script)
			require.True(t, ended, "its end was seen")
		} else {
			require.EqualError(t, err, c.err, c.script)
		}
	}
	ch, err := startStopped([]string{"sleep", "100"})
	require.NoError(t, err)
	ch.end() // it was never let go
	require.NotNil(t, ch.cmd.ProcessState)
	_, err = startStopped([]string{"/nonexistent/program"})
	require.ErrorContains(t, err, "no such file")
}
