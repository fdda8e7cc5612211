//go:build linux && amd64

package unwind

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// compile compiles files of C into a program or library, or skips the test.
func compile(t *testing.T, args ...string) (path string) {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no C compiler")
	}
	path = filepath.Join(t.TempDir(), "out")
	args = append([]string{"-std=gnu11", "-w", "-pthread", "-o", path}, args...)
	out, err := exec.Command(cc, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// mapped is what a process has mapped as code.
type mapped struct {
	start, end, offset uint64
	table              *Table
}

// parse reads the maps of a process, and opens the tables of the files.
func parse(t *testing.T, maps string) (all []mapped) {
	tables := make(map[string]*Table)
	for line := range strings.Lines(maps) {
		var m mapped
		var rights, dev, inode, path string
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x %s %s %s", &m.start, &m.end, &rights, &m.offset, &dev, &inode, &path); n < 7 ||
			!strings.Contains(rights, "x") || path[0] != '/' {
			continue
		}
		if tables[path] == nil {
			f, err := os.Open(path)
			require.NoError(t, err)
			t.Cleanup(func() { f.Close() })
			tables[path], err = Open(f)
			require.NoError(t, err, path)
		}
		m.table = tables[path]
		all = append(all, m)
	}
	require.NotEmpty(t, all)
	return all
}

// rowIn returns the row of an address of a process.
func rowIn(t *testing.T, all []mapped, pc uint64) *Row {
	for _, m := range all {
		if pc < m.start || pc >= m.end {
			continue
		}
		addr, ok := m.table.Address(pc - m.start + m.offset)
		require.True(t, ok)
		r, err := m.table.Row(addr)
		if err != nil {
			require.ErrorIs(t, err, ErrNoRow)
			return nil
		}
		return r
	}
	return nil
}

// TestOracle walks stacks of functions of all kinds and compares with what the
// compiler's own unwinder makes of them. With frame pointers the walk says that they are
// good, as far as they are.
func TestOracle(t *testing.T) {
	for _, flags := range [][]string{
		{"-O2", "-fomit-frame-pointer"}, {"-O1", "-fomit-frame-pointer", "-mno-red-zone"}, {"-O3", "-fomit-frame-pointer", "-mno-push-args"},
		{"-Os", "-fomit-frame-pointer"}, {"-O2", "-fno-omit-frame-pointer"}, {"-O0"}, {"-O2", "-static", "-Wl,--eh-frame-hdr"}, {"-O2", "-no-pie"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			exe := compile(t, append(flags, "testdata/oracle/main.c")...)
			cmd := exec.Command(exe, "7", "300")
			var out, maps bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &maps
			require.NoError(t, cmd.Run())
			all := parse(t, maps.String())
			ends := map[End]int{}
			n, pointers := 0, 0
			for ; ; n++ {
				var head [10]uint64
				if err := binary.Read(&out, binary.LittleEndian, &head); err == io.EOF {
					break
				}
				s := &Copy{Base: head[1], Bytes: out.Next(int(head[8]))}
				want := make([]uint64, head[9])
				require.NoError(t, binary.Read(&out, binary.LittleEndian, want))
				g := Registers{PC: head[0]}
				for i, reg := range []int{RSP, RBX, RBP, R12, R13, R14, R15} {
					g.Set(reg, head[1+i])
				}
				w := Walk(make([]uint64, 0, 256), g, s, func(pc uint64) *Row { return rowIn(t, all, pc) })
				ends[w.End]++
				require.Less(t, w.Pointers, len(w.Frames)+1)
				pointers = max(pointers, w.Pointers)
				if want[len(want)-1] == 0 {
					want = want[:len(want)-1]
				}
				if w.End == Cut { // the bottom of a thread is not in the copy
					require.LessOrEqual(t, len(want)-len(w.Frames), 3)
					want = want[:len(w.Frames)]
				}
				// The innermost returns from another call there.
				require.Equal(t, fmt.Sprintf("%x", want[1:]), fmt.Sprintf("%x", w.Frames[1:]), "look %d, %v", n, w.End)
				// With less of the stack it ends before.
				if w.End == Whole {
					short := Copy{s.Base, s.Bytes[:64]}
					w := Walk(make([]uint64, 0, 256), g, &short, func(pc uint64) *Row { return rowIn(t, all, pc) })
					require.Equal(t, Cut, w.End)
					require.Equal(t, want[1:len(w.Frames)], w.Frames[1:])
				}
			}
			require.GreaterOrEqual(t, n, 300)
			require.Greater(t, ends[Whole], 100, "%v", ends)
			require.Equal(t, ends[Whole]+ends[Cut], n, "%v", ends)
			if flags[0] == "-O0" || flags[1] == "-fno-omit-frame-pointer" {
				require.Greater(t, pointers, 5)
			}
		})
	}
}
