package python

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// A golden is a code object as a Python made it, with the line of each of its instructions: lines.py.
type golden struct {
	Version, Name, Table string
	First                int
	Lines                []int
}

func goldens(t testing.TB) (all []golden) {
	files, err := filepath.Glob("testdata/lines-*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		var some []golden
		require.NoError(t, json.Unmarshal(b, &some))
		all = append(all, some...)
	}
	return all
}

func (g *golden) code(t testing.TB) *Code {
	table, err := hex.DecodeString(g.Table)
	require.NoError(t, err)
	return &Code{Name: g.Name, First: g.First, table: table}
}

// TestLine finds the line of each instruction that Pythons found themselves, those that are kept and those of
// the Python that is here.
func TestLine(t *testing.T) {
	all := goldens(t)
	if out, err := exec.Command("python3", "testdata/lines.py").Output(); err == nil && strings.Contains(string(out), `"version": "3.1`) {
		var more []golden
		require.NoError(t, json.Unmarshal(out, &more))
		for _, g := range more {
			if g.Version != "3.10" {
				all = append(all, g)
			}
		}
	}
	seen := make(map[string]int)
	for _, g := range all {
		c := g.code(t)
		for i, line := range g.Lines {
			require.Equal(t, line, c.Line(int64(2*i)), "%s %s: instruction %d of %s", g.Version, g.Name, i, g.Table)
			seen[g.Version]++
		}
		require.Zero(t, c.Line(int64(2*len(g.Lines))), "behind the end")
		require.Equal(t, g.First, c.Line(-2), "before the beginning")
	}
	for _, v := range []string{"3.11", "3.12", "3.13"} {
		require.Greater(t, seen[v], 300, "instructions of %s", v)
	}
}

// TestDamagedLines asks tables that lie.
func TestDamagedLines(t *testing.T) {
	for _, c := range []struct {
		name  string
		first int
		table []byte
		at    int64
		want  int
	}{
		{"none", 7, nil, 0, 0},
		{"no beginning of an entry", 7, []byte{0x01}, 0, 0},
		{"a number that does not end", 7, []byte{0xf0, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f}, 0, 0},
		{"cut off in a number", 7, []byte{0xe8}, 0, 0},
		{"cut off behind it", 7, []byte{0xe8, 0x04}, 0, 9},
		{"a line before the first of all", 1, []byte{0xe8, 0x3f}, 0, 0},
		{"lines that go ever further", 1, []byte(strings.Repeat("\xe8\x7e\x7f\x7f\x7f\x1f", 100)), 150, 0},
		{"no place", 7, []byte{0xf8}, 0, 0},
		{"a line that cannot be", -5, []byte{0x80, 0x00}, 0, 0},
		{"far behind", 7, []byte{0x80, 0x00}, 1 << 62, 0},
		{"far before", 7, []byte{0x80, 0x00}, -1 << 63, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, (&Code{First: c.first, table: c.table}).Line(c.at))
		})
	}
}

// FuzzLine asks any table for any instruction.
func FuzzLine(f *testing.F) {
	for _, g := range goldens(f) {
		c := g.code(f)
		f.Add(int32(c.First), c.table, int64(len(c.table)))
	}
	f.Fuzz(func(t *testing.T, first int32, table []byte, at int64) {
		line := (&Code{First: int(first), table: table}).Line(at)
		require.True(t, line >= 0 && line <= maxLine, line)
	})
}

// str lays out what the probe copies of a str.
func str(l *Layout, s string, kind int, ascii bool, shift int) *Text {
	text := &Text{State: uint32(kind)<<shift | 1<<(shift+3)}
	if ascii {
		text.State |= 1 << (shift + 4)
	} else {
		text.Bytes = make([]byte, l.Compact-l.ASCII)
	}
	for _, r := range s {
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], uint32(r))
		text.Bytes = append(text.Bytes, b[:kind]...)
		text.Length++
	}
	return text
}

func TestText(t *testing.T) {
	for minor, l := range tables {
		for _, shift := range []int{2, 16} {
			t.Run(fmt.Sprintf("%x shifted by %d", minor, shift), func(t *testing.T) {
				require.Equal(t, "train.py", str(&l, "train.py", 1, true, shift).String(&l))
				require.Equal(t, "größe", str(&l, "größe", 1, false, shift).String(&l))
				require.Equal(t, "訓練.py", str(&l, "訓練.py", 2, false, shift).String(&l))
				require.Equal(t, "🔥.py", str(&l, "🔥.py", 4, false, shift).String(&l))
				require.Empty(t, str(&l, "", 1, true, shift).String(&l))
				s := str(&l, "train.py", 1, true, shift)
				s.Length = 1000
				require.Equal(t, "train.py…", s.String(&l), "longer than what was copied")
				s.Length = 1 << 63
				require.Empty(t, s.String(&l))
				require.Empty(t, str(&l, "train\x00py", 1, true, shift).String(&l))
				s = str(&l, "größe", 1, false, shift)
				s.Bytes = s.Bytes[:5]
				require.Empty(t, s.String(&l), "no characters were copied")
				require.Empty(t, str(&l, "x", 3, false, shift).String(&l), "characters of three bytes")
				s = str(&l, "x", 4, false, shift)
				copy(s.Bytes[len(s.Bytes)-4:], "\xff\xff\xff\xff")
				require.Equal(t, "\ufffd", s.String(&l))
				s = str(&l, "xy", 2, false, shift)
				// a byte of a file's name that is none of a character
				copy(s.Bytes[len(s.Bytes)-4:], "\x80\xdc")
				require.Equal(t, "\ufffdy", s.String(&l))
			})
		}
		s := str(&l, "train.py", 1, true, 2)
		s.State |= 0xffffff80 // bits that 3.11 does not set
		require.Equal(t, "train.py", s.String(&l))
		s.State &^= 1 << 5
		require.Empty(t, s.String(&l), "its characters are elsewhere")
	}
}

// FuzzText reads any text.
func FuzzText(f *testing.F) {
	for _, l := range tables {
		f.Add(l.ASCII, l.Compact, uint64(3), uint32(0xe4), []byte("abc"))
	}
	f.Fuzz(func(t *testing.T, ascii, compact uint16, length uint64, state uint32, b []byte) {
		s := (&Text{Length: length, State: state, Bytes: b}).String(&Layout{ASCII: ascii, Compact: compact})
		require.True(t, utf8.ValidString(s))
		require.LessOrEqual(t, utf8.RuneCountInString(s), len(b)+1)
	})
}
