//go:build linux && amd64

package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// buildBlocks builds the program whose allocator tells of its blocks, and the libraries that it is of.
func buildBlocks(t *testing.T) (driver, exe string) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	shared := func(name string, more ...string) []string {
		return append([]string{"-shared", "-fPIC", "-Wl,-soname," + name, "-o", at(name)}, more...)
	}
	for _, args := range [][]string{
		shared("libcuda.so.1", "../bpf/testdata/cost/lib.c"),
		shared("libc10.so", "testdata/blocks/c10.c"),
		shared("libc10_cuda.so", "testdata/blocks/cuda.c", at("libc10.so"), at("libcuda.so.1")),
		{"-o", at("blocks"), "testdata/blocks/main.c", at("libc10_cuda.so"), at("libc10.so"), at("libcuda.so.1"), "-Wl,--disable-new-dtags,-rpath," + dir},
	} {
		out, err := exec.Command(cc, append([]string{"-std=gnu11", "-O2", "-w"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return at("libcuda.so.1"), at("blocks")
}

// TestBlocks watches a program whose allocator hands out parts of what it asks the driver for. Each block
// is of the function that wanted it, and what the allocator says of the host is not memory of a device.
func TestBlocks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	driver, exe := buildBlocks(t)
	for _, without := range []bool{false, true} {
		t.Run(fmt.Sprintf("without=%v", without), func(t *testing.T) {
			w := watch(t, Options{Libraries: []string{driver}, Copies: bpf.NeededCopies, NoBlocks: without, Scan: 10 * time.Millisecond})
			w.unwinder.patience = time.Minute
			f := follow(t, w)
			r := start(t, exe)
			pid := uint32(r.Process.Pid)
			path := filepath.Join(filepath.Dir(exe), "libc10.so")
			if without {
				require.Eventually(t, func() bool { return f.process(pid).PID == pid }, time.Minute, time.Millisecond)
			} else {
				require.Eventually(t, func() bool { return probed(w, path) > 0 }, time.Minute, time.Millisecond)
			}
			const mib = 1 << 20
			for steps := int64(10); steps <= 30; steps += 10 {
				r.step(t)
				var p heap.Process
				blocks := make(map[string]heap.Tally)
				require.Eventually(t, func() bool {
					p = f.process(pid)
					clear(blocks)
					named := true
					for _, s := range p.Sites {
						if named = named && len(s.Frames) > 0; named && s.Class == "block" {
							blocks[s.Frames[s.Named].Func] = s.Tally
						}
					}
					return named && p.Live == steps*20*mib && (without || blocks["lend"].FreedObjects == uint64(steps))
				}, time.Minute, time.Millisecond, "blocks are parts of the driver's memory")
				require.False(t, p.Inexact)
				require.False(t, slices.ContainsFunc(p.Sites, func(s heap.Site) bool { return s.Own && s.Class == "block" }))
				if without {
					require.Empty(t, blocks)
					continue
				}
				require.Len(t, blocks, 2, "%v", blocks)
				kept, lent := blocks["keep"], blocks["lend"]
				require.Equal(t, []int64{steps * 4 * mib, steps}, []int64{kept.Live, kept.Objects})
				require.Equal(t, []int64{0, 0}, []int64{lent.Live, lent.Objects})
				require.Equal(t, []uint64{uint64(steps * 16 * mib), uint64(steps)}, []uint64{lent.FreedBytes, lent.FreedObjects})
			}
		})
	}
}
