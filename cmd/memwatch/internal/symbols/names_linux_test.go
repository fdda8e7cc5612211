package symbols

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/tier"
)

// names is a library with the functions of a C++ program, by their names for linkers.
const names = `
int counter;
__attribute__((noinline)) int _ZN3app5CacheIfE3putEmPKc(int n) { return counter += n; } /* line 3 */
__attribute__((noinline)) int plain(int n)
{
	return _ZN3app5CacheIfE3putEmPKc(n) + 1; /* line 6 */
}
static inline __attribute__((always_inline)) int inner(int n) { return counter *= n; } /* line 8 */
static inline __attribute__((always_inline)) int middle(int n) { return inner(n) + inner(n + 1); } /* line 9 */
__attribute__((noinline)) int outer(int n) { return middle(n) + 1; } /* line 10 */
`

// compile builds the library, or skips the test.
func compile(t *testing.T, args ...string) []byte {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	src, lib := filepath.Join(dir, "names.c"), filepath.Join(dir, "libnames.so")
	require.NoError(t, os.WriteFile(src, []byte(names), 0o600))
	out, err := exec.Command(cc, append(args, "-O1", "-w", "-shared", "-fPIC", "-o", lib, src)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	b, err := os.ReadFile(lib)
	require.NoError(t, err)
	return b
}

// at returns where a function of a library begins.
func at(t *testing.T, b []byte, name string) uint64 {
	e, err := elf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	syms, err := e.DynamicSymbols()
	require.NoError(t, err)
	for _, s := range syms {
		if s.Name == name {
			return s.Value
		}
	}
	require.Fail(t, "no symbol", name)
	return 0
}

// TestNames names functions as their program's text has them, with their lines where a compiler left those.
func TestNames(t *testing.T) {
	for _, args := range [][]string{{"-g"}, {"-gdwarf-4"}, {"-g", "-gz"}, {"-g0"}} {
		b := compile(t, args...)
		f, err := ReadFile(bytes.NewReader(b))
		require.NoError(t, err)
		for name, want := range map[string]struct {
			name string
			line int
		}{"_ZN3app5CacheIfE3putEmPKc": {"app::Cache<float>::put", 3}, "plain": {"plain", 5}} {
			all := f.lookup(at(t, b, name))
			require.Len(t, all, 1)
			got := all[0]
			require.Equal(t, want.name, got.Func)
			if args[0] == "-g0" {
				require.Empty(t, got.File)
				require.Zero(t, got.Line)
				continue
			}
			require.Equal(t, "names.c", filepath.Base(got.File), "%v", args)
			require.Equal(t, want.line, got.Line, "%v", args)
			require.Equal(t, all, f.lookup(at(t, b, name)), "and again")
		}
	}
}

// TestInlined names the functions that a compiler put into another, each with the line that calls the next.
func TestInlined(t *testing.T) {
	for _, args := range [][]string{{"-g"}, {"-gdwarf-4"}, {"-g1"}} {
		b := compile(t, args...)
		f, err := ReadFile(bytes.NewReader(b))
		require.NoError(t, err)
		begin := at(t, b, "outer")
		seen := map[string]bool{}
		for addr := begin; ; addr++ {
			all := f.lookup(addr)
			if len(all) == 0 || all[len(all)-1].Func != "outer" {
				break
			}
			var text []string
			for _, fr := range all {
				require.Equal(t, "names.c", filepath.Base(fr.File), "%v", args)
				text = append(text, fmt.Sprint(fr.Func, ":", fr.Line))
			}
			seen[strings.Join(text, " ")] = true
		}
		require.True(t, seen["inner:8 middle:9 outer:10"], "%v: %v", args, seen)
	}
}

// TestInlinedBound knows the line, and nothing more, of a file in which too much had to be read.
func TestInlinedBound(t *testing.T) {
	b := compile(t, "-g")
	f, err := ReadFile(bytes.NewReader(b))
	require.NoError(t, err)
	f.lines.entries = maxEntries
	all := f.lookup(at(t, b, "outer") + 8)
	require.Len(t, all, 1)
	require.NotZero(t, all[0].Line)
}

// TestReadable bounds what a short name stands for, and leaves alone what is none of C++.
func TestReadable(t *testing.T) {
	for name, want := range map[string]string{
		"cuMemAlloc_v2": "cuMemAlloc_v2",
		"_Z":            "_Z",
		"_ZN3app3runEv": "app::run",
		"_ZNK3c104cuda20CUDACachingAllocator3getEv.cold": "c10::cuda::CUDACachingAllocator::get",
		"_RNvC3app4main":    "app::main",
		"main.(*Cache).put": "main.(*Cache).put",
	} {
		require.Equal(t, want, readable(name))
	}
	bomb := "_Z1f1XI" + strings.Repeat("St4pairIiS0_E", 40) + "E"
	require.Less(t, len(readable(bomb)), 4<<10)
}

// TestDamagedLines reads debugging information that was damaged at every so many bytes.
func TestDamagedLines(t *testing.T) {
	b := compile(t, "-g", "-gz=none")
	addr, in := at(t, b, "plain"), at(t, b, "outer")+8
	e, err := elf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	for _, s := range e.Sections {
		if !strings.HasPrefix(s.Name, ".debug_") {
			continue
		}
		for i := uint64(0); i < s.Size; i += uint64(tier.Of(31, 3)) {
			damaged := b[s.Offset+i:][:min(4, s.Size-i)]
			kept := [4]byte{}
			copy(kept[:], damaged)
			for j := range damaged {
				damaged[j] ^= 0xff
			}
			if f, err := ReadFile(bytes.NewReader(b)); err == nil {
				require.NotPanics(t, func() { f.lookup(addr); f.lookup(in) }, "%s at %d", s.Name, i)
			}
			copy(damaged, kept[:])
		}
	}
}
