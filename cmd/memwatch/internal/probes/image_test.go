package probes

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// heads are functions of a library with the heads of drivers 580 and 550, one that
// is only its own alias, one that no probe runs at, and one that is data.
const heads = `
	.text
	.macro head550 name
	.globl \name
	.type \name, @function
	.balign 16
\name:
	cmpl $0x15, flag(%rip)
	je 1f
	xorl %eax, %eax
	ret
1:	ud2
	.size \name, .-\name
	.endm
	.macro head580 name
	.globl \name
	.type \name, @function
	.balign 16
\name:
	push %rbp
	mov %rsp, %rbp
	xorl %eax, %eax
	pop %rbp
	ret
	.size \name, .-\name
	.endm
	head550 cuMemAlloc_v2
	head580 cuMemFree_v2
	.globl cuMemFree
	.type cuMemFree, @function
	.set cuMemFree, cuMemFree_v2
	.globl cuMemCreate
	.type cuMemCreate, @function
cuMemCreate:
	.byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
	ret
	.size cuMemCreate, .-cuMemCreate
	.data
	.globl cuMemRelease
	.type cuMemRelease, @object
cuMemRelease:
	.quad 0
	.size cuMemRelease, 8
	.globl cuMemUnmap
	.type cuMemUnmap, @function
cuMemUnmap:
	.quad 0
	.size cuMemUnmap, 8
	.local flag
	.comm flag, 4
	.section .note.GNU-stack,"",@progbits
`

// library assembles a library, or skips the test.
func library(t *testing.T, flags ...string) []byte {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	src, lib := filepath.Join(dir, "a.s"), filepath.Join(dir, "libcuda.so")
	require.NoError(t, os.WriteFile(src, []byte(heads), 0o600))
	out, err := exec.Command(cc, append(flags, "-shared", "-nostdlib", "-o", lib, src)...).CombinedOutput()
	if err != nil {
		t.Skipf("the C compiler makes no amd64 library: %s", out)
	}
	b, err := os.ReadFile(lib)
	require.NoError(t, err)
	return b
}

func TestReadImage(t *testing.T) {
	lib := library(t, "-Wl,--build-id=0xabcdef01")
	m, err := ReadImage(bytes.NewReader(lib), &cuda)
	require.NoError(t, err)
	require.Equal(t, "amd64", m.Machine)
	require.Equal(t, "abcdef01", m.BuildID)
	require.Len(t, m.Placements, 2, "the alias is probed once")
	for i, want := range []struct {
		symbol string
		within int
		first  byte
	}{{"cuMemAlloc_v2", 7, 0x74}, {"cuMemFree_v2", 0, 0x55}} {
		p := m.Placements[i]
		require.Equal(t, want.symbol, p.Probe.Symbol)
		require.Equal(t, want.within, p.Within)
		require.Equal(t, Fast, p.Cost)
		require.Equal(t, want.first, lib[p.Offset], "the offset is of the file")
	}
	var refused []string
	for _, n := range m.Missing {
		if n.Err != nil {
			require.ErrorIs(t, n.Err, ErrShape)
			refused = append(refused, n.Probe.Symbol)
		}
	}
	require.ElementsMatch(t, []string{"cuMemUnmap", "cuMemCreate"}, refused)

	_, err = ReadImage(bytes.NewReader(lib), &openCL)
	require.ErrorIs(t, err, ErrNotLibrary)
	_, err = ReadImage(bytes.NewReader([]byte("\x7fELF")), &cuda)
	require.Error(t, err)
}

func TestCache(t *testing.T) {
	lib := bytes.NewReader(library(t, "-Wl,--build-id=0xabcdef01"))
	var c Cache
	a, err := c.Read(lib, &cuda, "file 1")
	require.NoError(t, err)
	b, err := c.Read(lib, &cuda, "file 1")
	require.NoError(t, err)
	require.Same(t, a, b)
	b, err = c.Read(lib, &cuda, "file 2")
	require.NoError(t, err)
	require.NotSame(t, a, b, "a copied build ID is no proof")
	bare := bytes.NewReader(library(t, "-Wl,--build-id=none"))
	a, err = c.Read(bare, &cuda, "file 3")
	require.NoError(t, err)
	b, err = c.Read(bare, &cuda, "file 3")
	require.NoError(t, err)
	require.NotSame(t, a, b)
}

// FuzzReadImage damages a library.
func FuzzReadImage(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	if exe, err := os.ReadFile("/bin/true"); err == nil {
		f.Add(exe)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := ReadImage(bytes.NewReader(b), &cuda); err == nil {
			for _, p := range m.Placements {
				require.Less(t, p.Offset, uint64(len(b)))
			}
		}
	})
}
