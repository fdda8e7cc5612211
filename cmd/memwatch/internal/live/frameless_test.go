//go:build linux && amd64

package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// buildFrameless builds the program of many ways, with flags, and its driver without frame pointers.
func buildFrameless(t testing.TB, flags ...string) (lib, exe string) {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	lib, exe = filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "frameless")
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-fomit-frame-pointer", "-Wl,-soname,libcuda.so.1", "-o", lib, "../bpf/testdata/cost/lib.c"},
		append(flags, "-o", exe, "testdata/frameless/main.c", lib, "-Wl,--disable-new-dtags,-rpath,"+dir),
	} {
		out, err := exec.Command(cc, append([]string{"-std=gnu11", "-O2", "-pthread", "-w"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return lib, exe
}

// ways returns how many of the 128 ways that the program takes have the stack that they should, and how many
// have main or the thread's function on it.
func ways(p heap.Process) (right, rooted int) {
	for _, s := range p.Sites {
		size, of := int(s.AllocBytes/max(s.AllocObjects, 1)), "main"
		way := size - 1000
		if way >= 1000 {
			way, of = way-1000, "worker"
		}
		var own []string
		for _, f := range s.Frames {
			if f.Module == "frameless" && f.Func != "make" && !strings.HasPrefix(f.Func, "_start") {
				own = append(own, f.Func)
			}
		}
		got := strings.Join(own, " ")
		if got == fmt.Sprintf("inner%d middle%d outer%d all %s", way&3, way>>2&3, way>>4, of) {
			right++
		}
		if strings.HasSuffix(got, of) {
			rooted++
		}
	}
	return right, rooted
}

// TestFrameless watches a program on whose stacks functions of all forms are, with frame pointers and
// without, and knows of each allocation which functions called.
func TestFrameless(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	for _, c := range []struct {
		name   string
		flags  string
		copies bpf.Copies
		right  bool
		quiet  bool // once all stacks were seen, none is copied
	}{
		{"pointers without", "-fomit-frame-pointer", bpf.NoCopies, false, true},
		{"needed without", "-fomit-frame-pointer", bpf.NeededCopies, true, false},
		{"always without", "-fomit-frame-pointer", bpf.AllCopies, true, false},
		{"pointers with", "-fno-omit-frame-pointer", bpf.NoCopies, true, true},
		{"needed with", "-fno-omit-frame-pointer", bpf.NeededCopies, true, true},
		{"pointers mixed", "-fno-omit-frame-pointer -DMIXED", bpf.NoCopies, false, true},
		{"needed mixed", "-fno-omit-frame-pointer -DMIXED", bpf.NeededCopies, true, false},
		{"always mixed", "-fno-omit-frame-pointer -DMIXED", bpf.AllCopies, true, false},
		{"always with", "-fno-omit-frame-pointer", bpf.AllCopies, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			lib, exe := buildFrameless(t, strings.Fields(c.flags)...)
			w := watch(t, Options{Libraries: []string{lib}, Copies: c.copies})
			w.unwinder.patience = time.Minute
			f := follow(t, w)
			r := start(t, exe)
			pid := uint32(r.Process.Pid)
			await := func(allocs uint64) (p heap.Process, books bpf.Ledger) {
				require.Eventually(t, func() bool {
					p = f.process(pid)
					var n uint64
					named := true
					for _, s := range p.Sites {
						n += s.AllocObjects
						named = named && len(s.Frames) > 0
					}
					return n == allocs && named
				}, time.Minute, 5*time.Millisecond)
				require.False(t, p.Inexact)
				return p, w.session.LedgerOf(pid)
			}
			fmt.Fprintln(r.in, 1)
			r.out.Scan()
			_, before := await(128)
			fmt.Fprintln(r.in, 20)
			r.out.Scan()
			p, after := await(21 * 128)
			right, rooted := ways(p)
			t.Logf("of %d sites %d have the right stack, %d reach main; %d of %d stacks copied, %d not", len(p.Sites), right, rooted, after.Copies, after.Allocs, after.Uncopied)
			require.Zero(t, after.Uncopied)
			if c.right {
				require.Equal(t, 128, right)
				require.Len(t, p.Sites, 128)
			}
			if c.quiet {
				require.Equal(t, before.Copies, after.Copies, "what frame pointers tell is not copied")
			} else if c.copies == bpf.AllCopies {
				require.Equal(t, after.Allocs, after.Copies)
			}
		})
	}
}
