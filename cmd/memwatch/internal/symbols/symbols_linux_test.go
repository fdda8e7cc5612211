package symbols

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/internal/tier"
)

func TestParseMaps(t *testing.T) {
	maps, err := ParseMaps(strings.NewReader(`00400000-0047f000 r-xp 00000000 fd:01 77 /usr/bin/a b (deleted)
7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0 [vdso]
7ffff7fc3000-7ffff7fc5000 r--p 00001000 103:0a 5                         /lib/libcuda.so.1
`))
	require.NoError(t, err)
	require.Equal(t, []Mapping{
		{Start: 0x400000, End: 0x47f000, Exec: true, Major: 0xfd, Minor: 1, Inode: 77, Path: "/usr/bin/a b (deleted)"},
		{Start: 0x7ffff7fc3000, End: 0x7ffff7fc5000, Offset: 0x1000, Major: 0x103, Minor: 10, Inode: 5, Path: "/lib/libcuda.so.1"},
	}, maps)
	require.Equal(t, "a b", maps[0].Base())
	for _, bad := range []string{"x", "2-1 r-xp 0 0:0 1 a", "1-2 r-xp 0 0:0 x a", strings.Repeat("x", maxLine+1)} {
		_, err := ParseMaps(strings.NewReader(bad))
		require.Error(t, err, bad[:1])
	}
}

//go:noinline
func here() (pc uintptr, file string, line int) {
	pc, file, line, _ = runtime.Caller(0)
	return pc, file, line
}

// TestSelf names functions of this very process.
func TestSelf(t *testing.T) {
	var c Cache
	p, err := OpenProcess(os.Getpid(), &c)
	require.NoError(t, err)
	defer p.Close()
	pc, file, line := here()
	f := p.Frames([]uint64{uint64(pc)}, false)[0]
	require.Equal(t, "github.com/lastuse/lastuse/cmd/memwatch/internal/symbols.here", f.Func)
	require.Equal(t, file, f.File)
	require.Equal(t, line, f.Line)
	entry := uint64(reflect.ValueOf(here).Pointer())
	require.Equal(t, f.Func, p.Frames([]uint64{entry}, true)[0].Func)
	info, bias := p.Go()
	require.NotNil(t, info)
	require.Equal(t, runtime.Version(), info.Version)
	require.True(t, entry >= info.Text+bias && entry < info.TextEnd+bias)
	require.Empty(t, p.Frames([]uint64{1}, false)[0].Func)
	require.False(t, p.Known(1))
	require.NoError(t, p.Refresh())
	require.Equal(t, f.Func, p.Frames([]uint64{entry}, true)[0].Func)
}

// program is a Go program that calls C, so that the C linker puts its own code first.
const program = `package main

// int twice(int x) { return 2 * x; }
import "C"

func main() { println(C.twice(21)) }
`

// TestGoText reads programs made by each linker, as they are and stripped: the names
// must be those of the symbol table, which is what they are linked by.
func TestGoText(t *testing.T) {
	if testing.Short() {
		t.Skip("builds four programs")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module p\ngo 1.24\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pure.go"), []byte("//go:build !cgo\n\npackage main\n\nfunc main() { println(42) }\n"), 0o600))
	_, ccErr := exec.LookPath("cc")
	for _, c := range []struct {
		name string
		cgo  string
		args []string
	}{
		{"pure", "0", nil},
		{"cgo", "1", nil},
		{"cgo, position independent", "1", []string{"-buildmode=pie"}},
		{"cgo, stripped", "1", []string{"-ldflags=-s -w"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.cgo == "1" && ccErr != nil {
				t.Skip("no C compiler")
			}
			if strings.HasSuffix(c.name, "independent") {
				tier.Skip(t, "the runtime is built once more for it")
			}
			exe := filepath.Join(t.TempDir(), "p")
			cmd := exec.Command("go", append(append([]string{"build", "-o", exe}, c.args...), ".")...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "CGO_ENABLED="+c.cgo, "GOFLAGS=", "GOWORK=off")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			b, err := os.ReadFile(exe)
			require.NoError(t, err)
			f, err := ReadFile(bytes.NewReader(b))
			require.NoError(t, err)
			require.NotNil(t, f.Go)
			require.Equal(t, runtime.Version(), f.Go.Version)
			if runtime.GOARCH == "amd64" {
				require.True(t, f.Go.TLSKnown)
				require.Equal(t, int32(-8), f.Go.TLS)
			}
			e, err := elf.NewFile(bytes.NewReader(b))
			require.NoError(t, err)
			syms, err := e.Symbols()
			if err != nil { // stripped: the function that Go's table has first is the first of its code
				require.Equal(t, f.gotab.Funcs[0].Entry, f.Go.Text)
				return
			}
			n := 0
			for _, s := range syms {
				if strings.HasPrefix(s.Name, "main.") && elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 {
					require.Equal(t, strings.TrimSuffix(s.Name, ".abi0"), f.lookup(s.Value)[0].Func)
					require.Equal(t, strings.TrimSuffix(s.Name, ".abi0"), f.lookup(s.Value + s.Size - 1)[0].Func)
					n++
				}
				if s.Name == "twice" {
					require.Equal(t, "twice", f.lookup(s.Value)[0].Func)
				}
			}
			require.NotZero(t, n)
		})
	}
}

// TestOffsets compares the table of offsets with what this toolchain's own debugging
// information says.
func TestOffsets(t *testing.T) {
	want, ok := GoOffsets(runtime.Version())
	if !ok {
		t.Skipf("the offsets of %s are not known", runtime.Version())
	}
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "main.go"), filepath.Join(dir, "p")
	require.NoError(t, os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o600))
	cmd := exec.Command("go", "build", "-o", exe, src)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	e, err := elf.Open(exe)
	require.NoError(t, err)
	defer e.Close()
	d, err := e.DWARF()
	require.NoError(t, err)
	fields := map[string]int64{}
	for r := d.Reader(); ; {
		entry, err := r.Next()
		require.NoError(t, err)
		if entry == nil {
			break
		}
		name, _ := entry.Val(dwarf.AttrName).(string)
		if entry.Tag != dwarf.TagStructType || name != "runtime.g" && name != "runtime.m" {
			continue
		}
		typ, err := d.Type(entry.Offset)
		require.NoError(t, err)
		for _, f := range typ.(*dwarf.StructType).Field {
			fields[name+"."+f.Name] = f.ByteOffset
		}
	}
	require.Equal(t, fmt.Sprint(want), fmt.Sprint(Offsets{
		M: uint16(fields["runtime.g.m"]), GoID: uint16(fields["runtime.g.goid"]),
		SyscallPC: uint16(fields["runtime.g.syscallpc"]), SyscallBP: uint16(fields["runtime.g.syscallbp"]),
		CurG: uint16(fields["runtime.m.curg"]),
	}))
	_, ok = GoOffsets("go9.9")
	require.False(t, ok, "an unknown version is declined")
}

// TestOpenMapped asks for files that are not what a mapping says.
func TestOpenMapped(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	var st unix.Stat_t
	require.NoError(t, unix.Stat(path, &st))
	m := Mapping{Start: 1, End: 2, Inode: st.Ino, Major: unix.Major(st.Dev), Minor: unix.Minor(st.Dev), Path: path}
	f, err := OpenMapped(os.Getpid(), &m)
	require.NoError(t, err)
	f.Close()
	for _, name := range []string{"a\nb", `a\012b`} { // both are written alike
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
		require.NoError(t, unix.Stat(path, &st))
		broken := Mapping{Start: 1, End: 2, Inode: st.Ino, Major: m.Major, Minor: m.Minor, Path: filepath.Join(dir, `a\012b`)}
		f, err := OpenMapped(os.Getpid(), &broken)
		require.NoError(t, err)
		f.Close()
	}
	wrong := m
	wrong.Inode++
	_, err = OpenMapped(os.Getpid(), &wrong)
	require.ErrorIs(t, err, ErrReplaced)
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	require.NoError(t, unix.Stat(fifo, &st))
	m.Inode, m.Path = st.Ino, fifo
	_, err = OpenMapped(os.Getpid(), &m)
	require.ErrorIs(t, err, ErrReplaced, "and it did not wait for a writer")
}

func FuzzReadFile(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := ReadFile(bytes.NewReader(b)); err == nil {
			for _, a := range []uint64{0, 0x400000, 1 << 63} {
				s.lookup(a)
			}
		}
	})
}
