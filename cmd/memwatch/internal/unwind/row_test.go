//go:build linux && amd64

package unwind

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var names = [columns]string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "ra"}

// String returns a rule as readelf writes it.
func (f rule) String() string {
	switch f.kind {
	case offset:
		return fmt.Sprintf("c%+d", f.n)
	case valOffset:
		return fmt.Sprintf("v%+d", f.n)
	case register:
		return names[f.from]
	case at:
		return "exp"
	case value:
		return "vexp"
	}
	return "u" // readelf does not tell what was not saved from what is gone
}

// of returns what a row says of a column of readelf.
func (r *Row) of(column string) string {
	if column == "CFA" {
		if r.frame.kind == value {
			return "exp"
		}
		return fmt.Sprintf("%s%+d", names[r.frame.from], r.frame.n)
	}
	for _, s := range r.saved {
		if names[s.reg] == column {
			return s.String()
		}
	}
	return "u"
}

// TestReadelf compares every row of real files with what readelf makes of them.
func TestReadelf(t *testing.T) {
	readelf, err := exec.LookPath("readelf")
	if err != nil {
		t.Skip("no readelf")
	}
	lib := compile(t, "-O2", "-fomit-frame-pointer", "-fPIC", "-shared", "testdata/oracle/main.c")
	system, err := filepath.Glob("/lib/x86_64-linux-gnu/libc.so.6")
	require.NoError(t, err)
	for _, path := range append(system, lib) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := os.Open(path)
			require.NoError(t, err)
			defer f.Close()
			table, err := Open(f)
			require.NoError(t, err)
			cmd := exec.Command(readelf, "--debug-dump=frames-interp", path)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			var columns []string
			n, of := 0, false
			var begin, end uint64
			for sc := bufio.NewScanner(out); sc.Scan(); {
				line := strings.Fields(strings.ReplaceAll(sc.Text(), "()", ""))
				switch {
				case len(line) > 3 && (line[3] == "CIE" || line[3] == "FDE"):
					if of = line[3] == "FDE"; of {
						_, err := fmt.Sscanf(line[5], "pc=%x..%x", &begin, &end)
						require.NoError(t, err)
					}
				case len(line) > 0 && line[0] == "LOC":
					columns = line[1:]
				case of && len(line) == 1+len(columns):
					pc, err := strconv.ParseUint(line[0], 16, 64)
					require.NoError(t, err)
					if pc < begin || pc >= end { // the program goes on behind the function
						continue
					}
					row, err := table.Row(pc)
					require.NoError(t, err, "%x", pc)
					for i, c := range columns {
						if want := line[1+i]; want != "s" && c != "rip" {
							require.Equal(t, want, row.of(c), "%s at %x", c, pc)
						}
					}
					n++
				}
			}
			_ = cmd.Wait() // it also looks for files that are beside others, and tells if they are not there
			require.Greater(t, n, 40)
			t.Logf("%d rows", n)
		})
	}
}
