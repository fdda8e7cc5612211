package unwind

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Where the tables of an image are.
const (
	indexAt  = 0x1000
	framesAt = 0x2000
)

// image returns an ELF file with these tables, and nothing else.
func image(index, frames []byte) []byte {
	var b bytes.Buffer
	h := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 3}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)
	const from = 64 + 3*56
	progs := []elf.Prog64{
		{Type: uint32(elf.PT_LOAD), Off: from, Vaddr: indexAt, Filesz: uint64(len(index)), Memsz: uint64(len(index))},
		{Type: uint32(elf.PT_LOAD), Off: from + uint64(len(index)), Vaddr: framesAt, Filesz: uint64(len(frames)), Memsz: uint64(len(frames))},
		{Type: uint32(elf.PT_GNU_EH_FRAME), Off: from, Vaddr: indexAt, Filesz: uint64(len(index)), Memsz: uint64(len(index))},
	}
	for _, v := range []any{h, progs, index, frames} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err) // a buffer takes everything
		}
	}
	return b.Bytes()
}

// unhex reads bytes with comments.
func unhex(t testing.TB, text []byte) (all []byte) {
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		b, err := hex.DecodeString(strings.Join(strings.Fields(line), ""))
		require.NoError(t, err)
		all = append(all, b...)
	}
	return all
}

// section returns a file of an archive.
func section(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// describe returns a row as text.
func describe(r *Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "frame %s", where(r.frame))
	for _, s := range r.saved {
		fmt.Fprintf(&b, ", r%d %s", s.reg, where(s))
	}
	if r.signal {
		b.WriteString(", by a signal")
	}
	return b.String()
}

func where(f rule) string {
	switch f.kind {
	case undefined:
		return "gone"
	case offset:
		return fmt.Sprintf("at frame%+d", f.n)
	case valOffset:
		return fmt.Sprintf("frame%+d", f.n)
	case register:
		return fmt.Sprintf("r%d%+d", f.from, f.n)
	case at:
		return fmt.Sprintf("at what % x says", f.expr)
	}
	return fmt.Sprintf("what % x says", f.expr)
}

// TestHostile reads damaged tables. Each says what is found at some addresses, or why
// nothing is.
func TestHostile(t *testing.T) {
	paths, err := filepath.Glob("testdata/hostile/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			require.NoError(t, err)
			var got strings.Builder
			table, err := Open(bytes.NewReader(image(unhex(t, section(a, "index")), unhex(t, section(a, "frames")))))
			if err != nil {
				require.ErrorIs(t, err, ErrTable)
				fmt.Fprintln(&got, err)
			} else {
				for _, ask := range strings.Fields(string(section(a, "ask"))) {
					addr, err := strconv.ParseUint(ask, 16, 64)
					require.NoError(t, err)
					r, err := table.Row(addr)
					if err != nil {
						require.True(t, errors.Is(err, ErrTable) || errors.Is(err, ErrNoRow), "%v", err)
						fmt.Fprintf(&got, "%s: %v\n", ask, err)
						continue
					}
					fmt.Fprintf(&got, "%s: %s\n", ask, describe(r))
				}
			}
			if *update {
				want := txtar.File{Name: "want", Data: []byte(got.String())}
				if section(a, "want") == nil {
					a.Files = append(a.Files, want)
				}
				a.Files[len(a.Files)-1] = want
				require.NoError(t, os.WriteFile(path, txtar.Format(a), 0o600))
			}
			require.Equal(t, string(section(a, "want")), got.String())
		})
	}
}
