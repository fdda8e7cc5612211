package main

import (
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/tier"
)

// TestRun walks the whole demonstration on small sizes, both variants.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs: seconds")
	}
	for _, variant := range []string{"pool", "c"} {
		t.Run(variant, func(t *testing.T) {
			if variant == "c" {
				tier.Skip(t, "the same on memory from C")
			}
			dir := tempDir(t)
			var out strings.Builder
			err := run(context.Background(), &out, []string{"-n", "4096", "-iterations", "40", "-variant", variant})
			require.NoError(t, err, "%s", out.String())
			text := out.String()
			for _, want := range []string{
				"unfreed: w is never freed",
				"+\t\tw.Free()",
				"collector alone   rewritten",
				"40 iterations",
				"Rewritten, the program holds one workspace at a time: 16 KiB at its peak",
			} {
				require.Contains(t, text, want)
			}
			require.Empty(t, entries(t, dir), "the temporary module should be gone")
		})
	}
}

// TestInterrupt cancels at several moments: nothing may be left behind.
func TestInterrupt(t *testing.T) {
	for _, after := range []time.Duration{0, 300 * time.Millisecond} {
		dir := tempDir(t)
		ctx, cancel := context.WithTimeout(context.Background(), after)
		err := run(ctx, io.Discard, nil)
		cancel()
		require.EqualError(t, err, "interrupted")
		require.Empty(t, entries(t, dir))
	}
}

func TestBadArguments(t *testing.T) {
	for _, tt := range []struct{ arg, want string }{
		{"extra", `unexpected argument "extra"`},
		{"-variant=gpu", "-variant gpu: want pool or c"},
		{"-iterations=-1", "-iterations -1: want at least 1"},
		{"-n=0", "-n 0: want at least 1"},
	} {
		require.EqualError(t, run(context.Background(), io.Discard, []string{tt.arg}), tt.want)
	}
	require.True(t, errors.Is(run(context.Background(), io.Discard, []string{"-h"}), flag.ErrHelp))
}

func TestVerdict(t *testing.T) {
	before := &figures{Block: 4, Peak: 40, LiveAtExit: 40}
	flat := figures{Block: 4, Peak: 4, Frees: 10}
	require.NoError(t, verdict(io.Discard, before, &flat))
	for name, change := range map[string]func(*figures){
		"a late free":      func(f *figures) { f.LateFrees = 1 },
		"a live byte":      func(f *figures) { f.LiveAtExit = 1 },
		"two at a time":    func(f *figures) { f.Peak = 8 },
		"nothing measured": func(f *figures) { *f = figures{} },
	} {
		f := flat
		change(&f)
		require.Error(t, verdict(io.Discard, before, &f), name)
	}
}

func TestPlot(t *testing.T) {
	var out strings.Builder
	plot(&out, []int64{0, 1, 4, 8, 8, 0}, 8)
	require.Equal(t, ""+
		"      8 B │   ██\n"+
		"          │   ██\n"+
		"          │   ██\n"+
		"          │   ██\n"+
		"          │  ███\n"+
		"          │  ███\n"+
		"          │  ███\n"+
		"        0 │ ████\n"+
		"          └──────\n"+
		"           0    6 iterations\n", out.String())
}

// TestPicture reads the picture as XML: two lines as long as the runs, and their peaks in words.
func TestPicture(t *testing.T) {
	before := &figures{Peak: 8 << 20, Samples: []int64{1 << 20, 4 << 20, 8 << 20}}
	after := &figures{Peak: 1 << 20, Samples: []int64{1 << 20, 1 << 20, 1 << 20}}
	var svg struct {
		Path []struct {
			D      string `xml:"d,attr"`
			Stroke string `xml:"stroke-width,attr"`
		} `xml:"path"`
		Text []string `xml:"text"`
	}
	require.NoError(t, xml.Unmarshal([]byte(picture(before, after)), &svg))
	var lines []string
	for _, p := range svg.Path {
		if p.Stroke == "2" {
			lines = append(lines, p.D)
		}
	}
	require.Equal(t, []string{"M70.0 226.2L385.0 149.0L700.0 46.0", "M70.0 226.2L385.0 226.2L700.0 226.2"}, lines)
	require.Contains(t, svg.Text, "as it is: 8.0 MiB at its peak")
	require.Contains(t, svg.Text, "rewritten by lastuse: 1.0 MiB at its peak")
	require.Contains(t, svg.Text, "3 iterations")
}

// tempDir makes an empty folder the place for temporary files.
func tempDir(t *testing.T) string {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return dir
}

// entries lists what quickstart left in dir; the go command's own leavings after
// an interrupt are not ours.
func entries(t *testing.T, dir string) []string {
	names, err := filepath.Glob(filepath.Join(dir, "lastuse-quickstart-*"))
	require.NoError(t, err)
	_, err = os.Stat(dir)
	require.NoError(t, err)
	return names
}
