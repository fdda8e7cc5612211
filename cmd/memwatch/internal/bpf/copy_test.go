//go:build linux && amd64

package bpf

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCopies has more stacks copied than the ring has room for while nobody reads it. Copies give way to
// calls: none of these is lost, and of each stack it is known whether it was copied.
func TestCopies(t *testing.T) {
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	lib, prog := filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "frameless")
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", lib, "testdata/cost/lib.c"},
		{"-o", prog, "../live/testdata/frameless/main.c", lib, "-Wl,--disable-new-dtags,-rpath," + dir},
	} {
		args = append([]string{"-std=gnu11", "-O2", "-fomit-frame-pointer", "-pthread", "-w"}, args...)
		out, err := exec.Command(cc, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	const pattern = "\x01\x01\x01\x01\x01\x01\x01\x01" // of what is on the stack besides frames
	for _, c := range []struct {
		name   string
		copies Copies
		bytes  string // of stack besides
		least  int    // of a copy
		most   int
	}{
		{"small", AllCopies, "0", 100, 8 << 10},
		{"medium", AllCopies, "4000", 4000, 8 << 10},
		{"large", AllCopies, "20000", 20000, 32 << 10},
		{"most", AllCopies, "50000", 50000, 64 << 10},
		{"more than there is", NeededCopies, "200000", 64 << 10, 64 << 10},
		{"none", NoCopies, "4000", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, Options{Ring: 1 << 20, Copies: c.copies})
			_, err := s.Attach(lib, image(t, lib), 0)
			require.NoError(t, err)
			cmd := exec.Command(prog, c.bytes)
			cmd.Stdin = strings.NewReader("3\n")
			require.NoError(t, cmd.Run())
			pid := uint32(cmd.Process.Pid)
			books := s.LedgerOf(pid)
			require.Equal(t, uint64(3*128), books.Allocs)
			require.Zero(t, books.LostRing+books.LostCalls+books.LostStacks)
			if c.copies != NoCopies {
				require.Equal(t, books.Allocs, books.Copies+books.Uncopied)
				require.NotZero(t, books.Copies)
			}
			require.Equal(t, c.copies != NoCopies, books.Uncopied > 0, "%+v", books)
			var calls, copies uint64
			var r Report
			for s.Waiting() > 0 {
				ok, err := s.Read(&r)
				require.NoError(t, err)
				if !ok || r.Raw.PID != pid || r.Kind != Call {
					continue
				}
				calls++
				if r.Copy == nil {
					continue
				}
				copies++
				require.GreaterOrEqual(t, len(r.Copy.Bytes), c.least)
				require.LessOrEqual(t, len(r.Copy.Bytes), c.most)
				require.Equal(t, int(r.Copy.Wanted) <= 64<<10, int(r.Copy.Wanted) == len(r.Copy.Bytes))
				require.NotZero(t, r.Copy.PC)
				require.Equal(t, c.least > 100, bytes.Contains(r.Copy.Bytes, []byte(strings.Repeat(pattern, 100))))
			}
			require.Equal(t, books.Allocs+books.Frees, calls)
			require.Equal(t, books.Copies, copies)
		})
	}
}
