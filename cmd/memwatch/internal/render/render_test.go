package render

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/internal/tier"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func session(t testing.TB, q heap.Query) *heap.Snapshot {
	log, err := os.Open("testdata/session.log")
	require.NoError(t, err)
	defer log.Close()
	h := heap.New(heap.Options{})
	require.NoError(t, heap.ParseLog(log, h.Apply))
	h.Advance(10e9)
	return h.Snapshot(q)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// TestTitle names sites by the innermost function that is the program's own.
func TestTitle(t *testing.T) {
	f := func(name, module, file string) heap.Frame {
		return heap.Frame{Func: name, Module: module, File: file, Line: 7}
	}
	driver := []heap.Frame{f("cuMemAlloc_v2", "libcuda.so.1", ""), f("libcudart.so.12+0x4f2a0", "libcudart.so.12", "")}
	for _, c := range []struct {
		name   string
		frames []heap.Frame
		want   string
	}{
		{"a caller of the runtime", []heap.Frame{f("load", "app", "load.cc")}, "load load.cc:7"},
		{"PyTorch's allocator", []heap.Frame{
			f("c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::alloc_block", "libc10_cuda.so", ""),
			f("at::detail::empty_generic", "libtorch_cpu.so", ""), f("at::native::empty_cuda", "libtorch_cuda.so", ""),
			f("model::forward", "libmodel.so", ""), f("main", "app", "")}, "model::forward [libmodel.so]"},
		{"an allocator of RAPIDS", []heap.Frame{f("rmm::mr::cuda_memory_resource::do_allocate", "app", "cuda.hpp"), f("load", "app", "load.cc")}, "load load.cc:7"},
		{"a static runtime", []heap.Frame{f("cudart::cudaApiMalloc", "app", ""), f("cudaMalloc", "app", ""), f("load", "app", "")}, "load [app]"},
		{"the pool of lastuse", []heap.Frame{
			f("github.com/lastuse/lastuse/internal/cudadrv.(*Context).Create", "app", "x.go"),
			f("github.com/lastuse/lastuse/alloc/cuda.(*Device).Map", "app", "y.go"),
			f("github.com/lastuse/lastuse/alloc.Make[...]", "app", "make.go"), f("main.load", "app", "main.go")}, "main.load main.go:7"},
		{"a program without symbols", []heap.Frame{f("app+0x1234", "app", "")}, "app+0x1234"},
		{"nothing of the program", nil, "cuMemAlloc_v2 [libcuda.so.1]"},
	} {
		sites := []heap.Site{{Frames: append(driver[:2:2], c.frames...)}}
		heap.Name(sites)
		require.Equal(t, c.want, Title(&sites[0]), c.name)
	}
}

func TestGolden(t *testing.T) {
	s := session(t, heap.Query{})
	for name, do := range map[string]func(*bytes.Buffer) error{
		"table.txt": func(b *bytes.Buffer) error { return Table(b, s, Options{}) },
		"wide.txt":  func(b *bytes.Buffer) error { return Table(b, s, Options{Wide: true, Bytes: true}) },
		"suspects.txt": func(b *bytes.Buffer) error {
			return Table(b, session(t, heap.Query{Suspects: true}), Options{Suspects: true})
		},
		"none.txt":   func(b *bytes.Buffer) error { return Table(b, session(t, heap.Query{PIDs: []uint32{99}}), Options{}) },
		"json.txt":   func(b *bytes.Buffer) error { return JSON(b, s) },
		"folded.txt": func(b *bytes.Buffer) error { return Folded(b, s) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, do(&b))
			golden(t, name, b.Bytes())
			if name != "json.txt" { // which escapes by its own rules
				for _, r := range b.String() {
					require.True(t, r == '\n' || r >= ' ' && r != '\u202e' && r != utf8.RuneError, "%q reached the output", r)
				}
			}
		})
	}
}

// TestLines holds the line-based formats to their grammar, hostile names and all.
func TestLines(t *testing.T) {
	s := session(t, heap.Query{})
	var b bytes.Buffer
	require.NoError(t, Folded(&b, s))
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		require.Regexp(t, `^[^ ;]+(;[^ ;]+)+ [0-9]+$`, line)
	}
	b.Reset()
	require.NoError(t, JSONLine(&b, s))
	require.Equal(t, 1, strings.Count(b.String(), "\n"))
	require.NotContains(t, b.String(), "null", "a list may be empty")
	var doc map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &doc))
	require.Equal(t, Schema, doc["schema"])
	b.Reset()
	require.NoError(t, JSONLine(&b, heap.New(heap.Options{}).Snapshot(heap.Query{})))
	require.NotContains(t, b.String(), "null")
}

// TestPprof has Go's own tool read the profile.
func TestPprof(t *testing.T) {
	tier.Skip(t, "builds pprof")
	s := session(t, heap.Query{})
	var b bytes.Buffer
	require.NoError(t, Pprof(&b, s, 1e18))
	path := filepath.Join(t.TempDir(), "p.pb.gz")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	run := func(args ...string) string {
		out, err := exec.Command("go", append([]string{"tool", "pprof", "-symbolize=none"}, append(args, path)...)...).CombinedOutput()
		if err != nil && strings.Contains(string(out), "no such tool") {
			t.Skipf("no pprof: %s", out)
		}
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	top := run("-top", "-unit=b", "-nodefraction=0")
	require.Contains(t, top, "Type: inuse_space")
	require.Regexp(t, `7340032B .*main\._Cfunc_cuMemAlloc_v2`, top)
	require.Regexp(t, `7340032B +100% +main\.main`, top)
	require.Regexp(t, `4194304B .*main.workspace`, run("-top", "-unit=b", "-sample_index=alloc_space"))
	require.Contains(t, run("-tags"), "class: Total")
	require.Contains(t, run("-list=Cache"), "main.(*Cache).add")
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain / Ünï 世界":                "plain / Ünï 世界",
		"\x1b[2J\x1b]0;title\a":         "?[2J?]0;title?",
		"a\u202eb\u2066c\u200dd\ufeffe": "a?b?c?d?e",
		"tab\tline\r\n":                 "tab?line??",
		"\xff\xfe":                      "??",
		"\u009b31m":                     "?31m",
		"nbsp\u00a0x":                   "nbsp?x",
	} {
		require.Equal(t, want, Clean(in))
	}
	require.Equal(t, "a?b?c", folded("a;b c"))
	require.Equal(t, "abc…", cut("abcdef", 4, false))
	require.Equal(t, "…def", cut("abcdef", 4, true))
	require.Equal(t, "ab", cut("ab", 2, true))
	require.Equal(t, "", cut("ab", 0, true))
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b]8;;http://x\a")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		require.True(t, utf8.ValidString(got))
		require.Equal(t, got, Clean(got))
		require.NotContains(t, got, "\x1b")
		require.NotContains(t, got, "\n")
	})
}

// TestState: what a table tells is known from the beginning, whenever one looks.
func TestState(t *testing.T) {
	require.Equal(t, "running", State(&heap.Process{}))
	require.Equal(t, "joined", State(&heap.Process{Joined: true}))
	require.Equal(t, "running", State(&heap.Process{Joined: true, ByTable: true}))
	require.Equal(t, "exited", State(&heap.Process{Joined: true, Exited: true}))
}

func TestTitleIn(t *testing.T) {
	s := &heap.Site{Stack: 1, Frames: []heap.Frame{{Func: "main.(*Cache).put", File: "/src/trainer/cache.go", Line: 40}}}
	for n, want := range map[int]string{
		42: "main.(*Cache).put /src/trainer/cache.go:40",
		41: "main.(*Cache).put …/trainer/cache.go:40",
		38: "main.(*Cache).put …/cache.go:40",
		30: "main.(*Cache).put cache.go:40",
		29: "main.(*Cache).put cache.go:40",
		28: "…in.(*Cache).put cache.go:40",
		20: "…he).put cache.go:40",
		19: "…rainer/cache.go:40",
	} {
		got := TitleIn(s, n)
		require.LessOrEqual(t, len([]rune(got)), n)
		require.Equal(t, want, got)
	}
	require.Equal(t, "(unresolved stack 0x1)", TitleIn(&heap.Site{Stack: 1}, 40))
}

func TestSpark(t *testing.T) {
	require.Equal(t, "   ▁█", Spark([]int64{0, 1, 100}, 5))
	require.Equal(t, "▁█", Spark([]int64{100, 50, 100}, 2))
	require.Equal(t, "▁▅█", Spark([]int64{1000, 1005, 1009}, 3), "a small rise is seen")
	require.Equal(t, " ▁█", Spark([]int64{0, 1, 1 << 62}, 3))
	require.Equal(t, " ───", Spark([]int64{7, 7, 7}, 4), "nothing happened")
	require.Equal(t, "   ", Spark(nil, 3))
	require.Equal(t, "  ", Spark([]int64{0, -5}, 2))
}
