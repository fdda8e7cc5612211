package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/bench/trace"
)

// TestMain lets the tests' own program be a peer.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-serve" {
		if serve(os.Args[2], os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// smallSteps writes steps that have 40 MiB live at most.
func smallSteps(t *testing.T) *steps {
	s := &steps{name: "small", streams: 2, places: 2, all: []trace.Step{
		{Place: 0, Size: 20 << 20}, {Place: 1, Stream: 1, Size: 20 << 20},
		{Place: 0, Size: -1}, {Place: 1, Stream: 1, Size: -1},
	}}
	s.peak = trace.Peak(s.all)
	require.NoError(t, s.write(t.TempDir()))
	return s
}

func TestSteps(t *testing.T) {
	s := smallSteps(t)
	got, err := readSteps(s.file)
	require.NoError(t, err)
	require.Equal(t, s.all, got.all)
	require.Equal(t, []int{2, 2}, []int{got.places, got.streams})
	require.EqualValues(t, 40<<20, s.peak)
	require.NoError(t, os.WriteFile(s.file, []byte("steps 2 1 1\n0 0 5\n"), 0o666))
	_, err = readSteps(s.file)
	require.ErrorContains(t, err, "step 1")
}

func TestServe(t *testing.T) {
	s := smallSteps(t)
	const number = `[0-9]+(\.[0-9]+)?`
	for _, c := range []struct{ question, answer string }{
		{"pair shape=one sizes=256 ms=1",
			`ok ns=` + number + ` n=[0-9]+000 allocs=0.0[0-9]* clock=` + number + ` what=`},
		{"pair shape=live8 sizes=256,512 ms=1", `ok ns=.*`},
		{"pair shape=deep sizes=256 ms=1", `ok ns=.*`},
		{"pair shape=alternate sizes=256,512 ms=1", `ok ns=.*`},
		{"pair shape=round sizes=256 ms=1", `error there is no shape "round"`},
		{"first size=1048576", `ok ns=[0-9]+ new=[0-9]+ reserved=2097152 taken=2097152`},
		{"trace file=" + s.file + " replays=3 ms=1000",
			`ok cold=` + number + ` ns=(` + number + `,?){3} reserved=41943040 taken=41943040 ` +
				`calls=[0-9]+(,0){4} what=`},
		{"trace file=" + s.file + " limit=20971520", "error 1 allocations found no memory"},
		{"limit file=" + s.file + " free=20971520", "ok done=0.2500"},
		{"limit file=" + s.file + " free=41943040", "ok done=1.0000"},
		{"trace file=none", "error open none: .*"},
		{"copy dir=in size=1000 fresh=0 ms=0", `ok ns=[0-9]+,[0-9]+,[0-9]+`},
		{"copy dir=out size=1000 fresh=1 ms=0", `ok ns=[0-9]+,[0-9]+,[0-9]+`},
		{"streams goroutines=2 ms=0", `ok speedup=` + number + ` machine=` + number},
		{"sing", "error it does not answer sing"},
	} {
		var w bytes.Buffer
		require.NoError(t, serve("lastuse-host", strings.NewReader(c.question), &w))
		first, answer, _ := strings.Cut(w.String(), "\n")
		assert.Equal(t, "ok lastuse-host", first)
		assert.Regexp(t, "^"+c.answer+"\n$", answer, c.question)
	}
	for _, name := range []string{"lastuse-host-tight", "lastuse-host-fast", "lastuse-host-nosites"} {
		var w bytes.Buffer
		require.NoError(t, serve(name, strings.NewReader("pair shape=one sizes=256 ms=1"), &w))
		require.Regexp(t, "^ok "+name+"\nok ns=", w.String())
	}
	var w bytes.Buffer
	require.Error(t, serve("lastuse-moon", strings.NewReader(""), &w))
	require.Equal(t, "error device \"moon\" is neither cuda nor host\n", w.String())
}

// TestTurns asks peers of which some fail: each is named, and the others go on.
func TestTurns(t *testing.T) {
	shell := func(name, script string) *peer { return &peer{name: name, args: []string{"sh", "-c", script}} }
	self, err := os.Executable()
	require.NoError(t, err)
	var w bytes.Buffer
	r := &run{out: t.TempDir(), device: "host", processor: -1, patience: time.Minute, w: &w}
	r.end = time.Now().Add(time.Minute)
	require.NoError(t, r.start(context.Background(), []*peer{
		{name: "lastuse-host", args: []string{self, "-serve", "lastuse-host"}},
		shell("good", "echo ok; while read q; do echo noise; echo ok ns=7 n=1; done"),
		shell("refuses", "echo ok; while read q; do echo error not that; done"),
		shell("ends", "echo ok; read q; read q"),
		shell("hangs", "echo ok; exec sleep 100"),
		shell("unable", "echo error no device"),
		{name: "unbuilt", args: []string{filepath.Join(r.out, "none")}},
		shell("unasked", "exit 1"),
	}, []string{"lastuse-host", "good", "refuses", "ends", "hangs", "unable", "unbuilt"}))
	c := pairCase("one", 256)
	c.peers = []string{"lastuse", "good", "refuses", "ends", "unable", "unbuilt", "unasked"}
	r.peers["ends"].in.Close()
	r.ask(context.Background(), part{name: "pair", rounds: 2, limit: time.Minute, cases: []asked{c}})
	c.peers, r.patience = []string{"hangs"}, 10*time.Millisecond
	r.ask(context.Background(), part{name: "pair", rounds: 1, limit: time.Minute, cases: []asked{c}})
	r.stop()
	require.Equal(t, 2, strings.Count(w.String(), "/pool=good 1 7 ns/op\n"))
	require.Equal(t, 2, strings.Count(w.String(), "/pool=lastuse-host "), w.String())
	require.Equal(t, 7, strings.Count(w.String(), "\n"), "three of rounds")
	for _, name := range []string{"refuses", "ends", "hangs", "unable", "unbuilt"} {
		require.Contains(t, strings.Join(r.missing, "\n"), name+":")
	}
	require.Len(t, r.missing, 5)
}

func TestSummary(t *testing.T) {
	dir := t.TempDir()
	raw := filepath.Join(dir, "raw.txt")
	require.NoError(t, os.WriteFile(raw, []byte(`cpu: some
BenchmarkMakeFree/size=1MiB/pool=a 10 1 ns/op 0 allocs/op
BenchmarkMakeFree/size=1MiB/pool=b 10 7 ns/op
BenchmarkMakeFree/size=1MiB/pool=a 10 3 ns/op 1 allocs/op
BenchmarkMakeFree/size=1MiB/pool=a 10 9 ns/op 0 allocs/op
missing: c: it has ended
`), 0o666))
	require.NoError(t, (&run{out: dir, device: "host"}).summarize(raw))
	got, err := os.ReadFile(filepath.Join(dir, "summary.txt"))
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(got), "\n\n")
	require.Equal(t, `MakeFree/size=1MiB
  a                               3 ns/op (2 to 6, least 1, 3 times)  0 allocs/op
  b                               7 ns/op (7 to 7, least 7, 1 times)
missing: c: it has ended
`, table)
}

func TestGoals(t *testing.T) {
	_, f, _, err := read(strings.NewReader(`# round 0 of pair
BenchmarkMakeFree/size=256B/pool=lastuse-host 1 45 ns/op
BenchmarkMakeFree/size=1MiB/pool=lastuse-host 1 71 ns/op
BenchmarkPair/shape=deep/size=256B/pool=lastuse-host 1 90 ns/op
BenchmarkPair/shape=deep/size=256B/pool=rmm-pool 1 300 ns/op
BenchmarkPair/shape=deep/size=256B/pool=torch-native 1 300 ns/op
# round 1 of pair
BenchmarkPair/shape=deep/size=256B/pool=lastuse-host 1 900 ns/op
BenchmarkPair/shape=deep/size=256B/pool=rmm-pool 1 3000 ns/op
# round 2 of pair
BenchmarkPair/shape=deep/size=256B/pool=rmm-pool 1 1 ns/op
# round 0 of first
BenchmarkFirst/size=1GiB/pool=lastuse-host 1 500 ns/op
BenchmarkFirst/size=1GiB/pool=torch-native 1 200 ns/op
BenchmarkFirst/size=1GiB/pool=driver-vmm 1 450 ns/op
BenchmarkStreams/goroutines=16/pool=lastuse-host 1 12.5 x-of-one
BenchmarkTrace/trace=random-1000-64MiB/pool=lastuse-host 1 60 ns/event
BenchmarkTrace/trace=random-1000-64MiB/pool=rmm-pool 1 110 ns/event
BenchmarkTrace/trace=random-1000-64MiB/pool=torch-native 1 200 ns/event
BenchmarkTrace/trace=random-1000-64MiB/pool=torch-expandable 1 200 ns/event
`))
	require.NoError(t, err)
	words := map[string]string{}
	share := f.share("Pair/shape=deep/size=256B", "lastuse-host", "rmm-pool")
	require.InDelta(t, 0.3, share, 1e-9, "round by round")
	for _, v := range f.goals("lastuse-host") {
		words[v.name], _, _ = strings.Cut(v.String(), " ")
	}
	for name, word := range map[string]string{
		"pair of 256B": "met", "pair of 1MiB": "MISSED", "pair of 1GiB": "",
		"deep/size=256B, of RMM's": "met", "deep/size=256B, of PyTorch's": "MISSED",
		"first buffer of 1GiB, of mapping alone":   "met", // which takes more than twice PyTorch's time
		"16 goroutines, times one":                 "met",
		"random-1000-64MiB, of the fastest's time": "MISSED", "random-1000-64MiB, memory": "unknown",
		"random-1000-256MiB, of the fastest's time": "", "Copy/dir=in/fresh=0/size=1GiB": "",
	} {
		require.Equal(t, word, words[name], name)
	}
}

// TestParts holds every question against what peers answer.
func TestParts(t *testing.T) {
	all := parts([]*steps{smallSteps(t)}, []*steps{smallSteps(t)}, true)
	o, err := openOwn("lastuse-host")
	require.NoError(t, err)
	for _, p := range all {
		require.LessOrEqual(t, p.rounds, 2)
		for _, c := range p.cases {
			q := parse(c.question)
			if q.number("size", 0) > 1<<20 || q.number("goroutines", 0) > 2 {
				continue // the same question of less memory is asked
			}
			q.values["ms"] = "1"
			a, err := o.answer(q)
			require.NoError(t, err, c.question)
			fields := strings.Fields(c.write(parse("ok " + a)))
			require.Equal(t, 1, len(fields)%2, "a count, then values with units: %q", fields)
			require.NotContains(t, fields, "")
			require.NotPanics(t, func() { c.write(question{}) }, "an answer that says nothing")
		}
	}
	_, err = choose(all, []string{"pair", "nap"}, regexp.MustCompile(""))
	require.EqualError(t, err, `there is no part "nap"`)
	chosen, err := choose(all, []string{"pair", "first"}, regexp.MustCompile("64MiB$"))
	require.NoError(t, err)
	require.Len(t, chosen, 2)
	require.Equal(t, "MakeFree/size=64MiB", chosen[0].cases[0].name)
	require.Len(t, chosen[1].cases, 1)
}

func TestQuantile(t *testing.T) {
	x := []float64{4, 1, 3, 2}
	require.Equal(t, 2.5, median(x))
	require.Equal(t, 1.75, quantile(x, 0.25))
	require.Equal(t, 4.0, quantile(x, 1))
	require.Zero(t, median(nil))
}

func TestNames(t *testing.T) {
	for n, name := range map[int64]string{256: "256B", 1 << 10: "1KiB", 3 << 20: "3MiB", 1500: "1500B"} {
		require.Equal(t, name, sizeName(n))
	}
	line := question{}.line(3, 1.5, "ns/op", 7.0, "new-ns", "", "B", 9, "calls")
	require.Equal(t, "3 1.5 ns/op 7 new-ns 9 calls", line)
}
