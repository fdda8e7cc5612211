package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
)

// TestLiars reads the tables of programs that lie.
func TestLiars(t *testing.T) {
	liar := filepath.Join(t.TempDir(), "liar")
	out, err := exec.Command("go", "build", "-o", liar, "./testdata/liar").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, c := range []struct {
		lie  string
		code int
		want string // in what is printed
	}{
		{"garbage", exitError, "not a table: first word is 0x0"},
		{"version", exitError, "not a table: version 77, and only 1 is known"},
		{"sizes", exitError, "not a table: shards"},
		{"huge", exitOK, "0 B live"},
		{"shrunk", exitError, "not a table: 100 bytes are too few"},
		{"name", exitOK, "?]0;owned??evil?"},
	} {
		t.Run(c.lie, func(t *testing.T) {
			cmd := start(t, liar, c.lie)
			code, text, errText := call(t, "-p", strconv.Itoa(cmd.Process.Pid), "-once")
			require.Equal(t, c.code, code, errText)
			require.Contains(t, text+errText, c.want)
			require.NotContains(t, text+errText, "\x1b")
			_, text, errText = call(t, "-p", strconv.Itoa(cmd.Process.Pid), "-once", "-o", "json")
			require.NotContains(t, text+errText, "\u202e")
		})
	}
	t.Run("marker", func(t *testing.T) {
		cmd := start(t, liar, "marker")
		code, _, errText := call(t, "-p", strconv.Itoa(cmd.Process.Pid), "-once", "-count", "10ms")
		require.Equal(t, exitError, code)
		if strings.Contains(errText, errProbe.Error()) {
			t.Skip("markers are not probed: ", errText)
		}
		require.Contains(t, errText, "where no code is mapped")
	})
}

// start runs a program until the test ends, and waits for its first line.
func start(t *testing.T, path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	require.True(t, bufio.NewScanner(out).Scan(), "it ended")
	return cmd
}

func TestProgramWithoutTable(t *testing.T) {
	sleep, err := exec.LookPath("cat")
	if err != nil {
		t.Skip("no cat here")
	}
	cmd := exec.Command(sleep)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	code, _, errText := call(t, "-p", strconv.Itoa(cmd.Process.Pid), "-once")
	require.Equal(t, exitError, code)
	require.Contains(t, errText, "it has no table")
}

// TestEndedProgram looks at a program that has ended but whose parent has not noticed.
func TestEndedProgram(t *testing.T) {
	path, err := exec.LookPath("true")
	if err != nil {
		t.Skip("no program to run: ", err)
	}
	cmd := exec.Command(path)
	require.NoError(t, cmd.Start())
	defer cmd.Wait()
	p, err := openProcess(cmd.Process.Pid)
	require.NoError(t, err)
	defer p.Close()
	require.Eventually(t, p.Ended, time.Minute, time.Millisecond)
	_, err = p.Tables()
	require.ErrorIs(t, err, procfs.ErrGone)
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"-h"}, exitOK},
		{[]string{"-nonsense"}, exitUsage},
		{[]string{"nonsense"}, exitUsage},
		{[]string{"-p", "x"}, exitUsage},
		{[]string{"-p", "2147483647"}, exitError},
	} {
		code, _, _ := call(t, c.args...)
		require.Equal(t, c.code, code, "%v", c.args)
	}
}

// brokenWriter is a reader of our output that has gone away.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWriteFails(t *testing.T) {
	var errText bytes.Buffer
	require.Equal(t, exitError, memwatch(t.Context(), brokenWriter{}, &errText, []string{"-o", "json"}))
	require.Contains(t, errText.String(), "write: broken pipe")
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"main.f":               "main.f",
		"größe/文件.go":          "größe/文件.go",
		"\x1b[31mred":          "?[31mred",
		"a\nb\tc\r":            "a?b?c?",
		"\u202eevil":           "?evil",
		"zero\u200bwidth":      "zero?width",
		"\xff\xfe":             "??",
		"\u0085next\u2028line": "?next?line",
	} {
		require.Equal(t, want, clean(in), "%q", in)
	}
}
