package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
)

const marked1 = "package m\n\nfunc F() {\n\t//mark: after println(1)\n}\n"

// module writes a module with one file that has a fix.
func module(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "f.go")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/m\n\ngo 1.26\n"), 0o644))
	require.NoError(t, os.WriteFile(file, []byte(marked1), 0o644))
	return dir, file
}

// before returns an analyzer that calls f and then obeys marks.
func before(f func()) *analysis.Analyzer {
	a := *marks
	a.Run = func(pass *analysis.Pass) (any, error) {
		f()
		return marks.Run(pass)
	}
	return &a
}

func TestRunInterrupted(t *testing.T) {
	for name, when := range map[string]func(cancel func()) *analysis.Analyzer{
		"at once":         func(cancel func()) *analysis.Analyzer { cancel(); return marks },
		"during analysis": func(cancel func()) *analysis.Analyzer { return before(cancel) },
		"shortly after all": func(cancel func()) *analysis.Analyzer {
			return before(func() { time.AfterFunc(time.Millisecond, cancel) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, file := module(t)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var stdout, stderr bytes.Buffer
			code := run(ctx, when(cancel), dir, &stdout, &stderr, []string{"-fix", "."})
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, entries, 2, "a file is left over")
			if string(text) != marked1 { // it was faster than the interrupt
				require.Contains(t, string(text), "\tprintln(1)\n}")
				if code != exitClean {
					require.Equal(t, exitError, code)
					require.Contains(t, stderr.String(), "interrupted after 1 changed file, each of them complete: run it again")
				}
				return
			}
			require.Equal(t, exitError, code)
			require.Contains(t, stderr.String(), "interrupted: nothing was changed")
			require.Empty(t, stdout.String())
		})
	}
}

// What somebody writes while the tool runs is never lost.
func TestRunFileChanges(t *testing.T) {
	dir, file := module(t)
	var stdout, stderr bytes.Buffer
	edited := marked1 + "\n// a thought\n"
	a := before(func() { require.NoError(t, os.WriteFile(file, []byte(edited), 0o644)) })
	code := run(context.Background(), a, dir, &stdout, &stderr, []string{"-fix", "."})
	require.Equal(t, exitError, code)
	require.Contains(t, stderr.String(), "f.go: the file changed while lastuse ran: run it again")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, edited, string(text))

	// The run that is asked for succeeds.
	stdout.Reset()
	require.Equal(t, exitClean, run(context.Background(), marks, dir, &stdout, &stderr, []string{"-fix", "."}))
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "println(1)\n}\n\n// a thought\n")
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	start := time.Now()
	p := &progress{w: &out, quit: make(chan struct{}), since: start}
	p.phase("loading packages", 0)
	p.show(start.Add(500 * time.Millisecond))
	require.Empty(t, out.String(), "a short run says nothing")
	p.show(start.Add(2 * time.Second))
	require.Equal(t, "\r\x1b[Klastuse: loading packages", out.String())
	p.phase("analyzing packages", 30)
	p.set(12)
	p.set(11) // packages finish in any order
	out.Reset()
	p.show(start.Add(3 * time.Second))
	require.Equal(t, "\r\x1b[Klastuse: analyzing packages 12/30", out.String())
	out.Reset()
	p.stop()
	require.Equal(t, "\r\x1b[K", out.String(), "the line is taken away")

	// Without a terminal there is none.
	c := &command{stderr: &out}
	out.Reset()
	q := c.startProgress()
	q.phase("loading packages", 0)
	q.show(time.Now().Add(time.Hour))
	q.stop()
	require.Empty(t, out.String())
}

func TestStyle(t *testing.T) {
	require.Equal(t, "x", style{}.red("x"))
	require.Equal(t, "\x1b[31mx\x1b[0m", style{on: true}.red("x"))
	require.False(t, (&command{stdout: new(bytes.Buffer)}).style().on, "no colours without a terminal")
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	require.False(t, isTerminal(null))
}
