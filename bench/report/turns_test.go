package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/bench/ask"
)

// TestMain lets the tests' own program be a peer, which answers every question with seven nanoseconds.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "answers" {
		_ = ask.Serve("test", os.Stdin, os.Stdout, func(ask.Line) (string, error) { return "ns=7 n=1", nil })
		return
	}
	os.Exit(m.Run())
}

// newBench returns one whose files are a test's own, and a part that asks peers for pairs.
func newBench(t *testing.T, peers ...*peer) (*bench, part) {
	b := &bench{root: t.TempDir(), set: "x", processor: -1, patience: time.Minute, peers: peers,
		end: time.Now().Add(time.Minute)}
	b.bin = b.root
	require.NoError(t, os.WriteFile(filepath.Join(b.bin, commitFile), []byte("c1"), 0o666))
	var names []string
	for _, p := range peers {
		names = append(names, p.name)
	}
	return b, part{name: "pair", rounds: 3, limit: time.Minute, asked: []asked{pairOf(names, "one", 256)}}
}

func shell(name, script string) *peer { return &peer{name: name, args: []string{"sh", "-c", script}} }

// good returns a peer that answers.
func good(t *testing.T) *peer {
	self, err := os.Executable()
	require.NoError(t, err)
	return &peer{name: "good", args: []string{self, "answers"}}
}

// TestPeersFail asks peers of which some fail: each is named, and the others go on.
func TestPeersFail(t *testing.T) {
	b, p := newBench(t, good(t),
		shell("noisy", "echo ok; while read q; do echo noise; echo ok ns=8 n=1; done"),
		shell("refuses", "echo ok; while read q; do echo error not that; done"),
		shell("ends", "echo ok; read q; echo ok ns=9 n=1; read q"),
		shell("unable", "echo error no device"),
		&peer{name: "unbuilt", args: []string{"/none/such"}})
	require.NoError(t, b.runAll(context.Background(), []part{p}))
	f, err := load(b.file("pair"))
	require.NoError(t, err)
	require.True(t, f.complete)
	answers := map[string]int{}
	for _, r := range f.only("MakeFree", "size=256B") {
		answers[r.vars["pool"]] = len(r.values["ns/op"])
	}
	require.Equal(t, map[string]int{"good": 3, "noisy": 3, "ends": 1}, answers)
	said := strings.Join(f.missing, "\n")
	for name, why := range map[string]string{"refuses": "not that", "ends": "it has ended: ",
		"unable": "no device", "unbuilt": "such was not built"} {
		require.Regexp(t, "(?m)^"+name+": .*"+why, said)
	}
	b, p = newBench(t, shell("hangs", "exec sleep 100"))
	b.patience = time.Millisecond
	require.ErrorContains(t, b.runAll(context.Background(), []part{p}), "nobody answered")
	require.ErrorContains(t, b.peers[0].dead, "it gave no answer for 1ms")
}

// TestResume: what was interrupted is run again, what is complete is not, unless it is of another commit;
// and a part that cannot run leaves the file that was there.
func TestResume(t *testing.T) {
	read := func(b *bench) string {
		text, err := os.ReadFile(b.file("pair"))
		require.NoError(t, err)
		return string(text)
	}
	b, p := newBench(t, good(t))
	ctx, interrupt := context.WithCancel(context.Background())
	cut := p
	lines := cut.asked[0].lines
	cut.asked = []asked{question("pair", []string{"good"}, func(pool string, a ask.Line) []string {
		interrupt()
		return lines(pool, a)
	})}
	require.ErrorIs(t, b.runAll(ctx, []part{cut}), context.Canceled)
	require.NoFileExists(t, b.file("pair"))

	b.peers = []*peer{good(t)}
	require.NoError(t, b.runAll(context.Background(), []part{p}))
	first := read(b)
	require.Contains(t, first, "commit: c1\n")
	require.NoError(t, b.runAll(context.Background(), []part{p}))
	require.Equal(t, first, read(b), "it is complete")

	require.NoError(t, os.WriteFile(filepath.Join(b.bin, commitFile), []byte("c2"), 0o666))
	b.peers = []*peer{shell("good", "exit 1")}
	require.ErrorContains(t, b.runAll(context.Background(), []part{p}), "pair: nobody answered")
	require.Equal(t, first, read(b), "it keeps its figures and its commit")
	if p.gpu = true; !b.gpu() {
		require.NoError(t, b.runAll(context.Background(), []part{p}))
		require.Equal(t, first, read(b))
	}
	p.gpu = false
	b.end = time.Now()
	require.ErrorContains(t, b.runAll(context.Background(), []part{p}), "there was no time left")
	b.peers, b.end = []*peer{good(t)}, time.Now().Add(time.Minute)
	require.NoError(t, b.runAll(context.Background(), []part{p}))
	require.Contains(t, read(b), "commit: c2\n")
}

// TestOverlay empties what the books do, and nothing else.
func TestOverlay(t *testing.T) {
	src := "package p\n\nimport \"fmt\"\n\n// It counts.\nfunc Alloc() { fmt.Println() }\n\nfunc Free() {}\n"
	got, err := emptied("p.go", []byte(src), map[string]string{"Alloc": "{}"})
	require.NoError(t, err)
	require.Equal(t, "package p\n\nfunc Alloc() {}\n\nfunc Free() {}\n", string(got))
	_, err = emptied("p.go", []byte(src), map[string]string{"Alloc": "{}", "Late": "{}"})
	require.EqualError(t, err, "p.go: found 1 of the 2 functions to empty")
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	list, err := writeOverlay(root, t.TempDir())
	require.NoError(t, err)
	text, err := os.ReadFile(list)
	require.NoError(t, err)
	require.Equal(t, len(bareBodies), bytes.Count(text, []byte("bare_")))
}
