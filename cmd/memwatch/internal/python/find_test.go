package python

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// words returns what _Py_DebugOffsets of a version says of a layout.
func words(minor uint32, l *Layout) []uint64 {
	d := debug[minor]
	w := make([]uint64, d.size)
	w[0], w[1] = binary.LittleEndian.Uint64([]byte("xdebugpy")), uint64(minor)<<16|0xf0
	for i, v := range map[int]uint64{
		d.interpretersHead: uint64(l.Interpreters), d.interpreterNext: uint64(l.InterpreterNext), d.threadsHead: uint64(l.Threads),
		d.threadNext: uint64(l.ThreadNext), d.currentFrame: uint64(l.Frame), d.threadID: uint64(l.ThreadID),
		d.previous: uint64(l.Previous), d.executable: uint64(l.Code), d.instruction: uint64(l.Instruction), d.owner: uint64(l.Owner),
		d.fileName: uint64(l.File), d.qualName: uint64(l.Name), d.lineTable: uint64(l.Table), d.firstLine: uint64(l.FirstLine),
		d.bytecode: uint64(l.Bytecode), d.variables: uint64(l.Version) + 4, d.objectSize: objectSize, d.bytesSize: bytesSize, d.bytesValue: bytesValue,
		d.textSize: uint64(l.Compact) + 8, d.textState: textState, d.textLength: textLength, d.textHead: uint64(l.ASCII),
	} {
		w[i] = v
	}
	return w
}

// build builds a library that has what a CPython has of it, or skips the test.
func build(t *testing.T, source string) []byte {
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no C compiler")
	}
	lib := filepath.Join(t.TempDir(), "libpython.so")
	cmd := exec.Command(cc, "-x", "c", "-w", "-shared", "-fPIC", "-o", lib, "-")
	cmd.Stdin = strings.NewReader(source)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	b, err := os.ReadFile(lib)
	require.NoError(t, err)
	return b
}

func library(version uint64, words []uint64) string {
	s := fmt.Sprintf("const unsigned long Py_Version = %#x;\nunsigned long _PyRuntime[100] = {", version)
	for _, w := range words {
		s += fmt.Sprintf("%#x,", w)
	}
	return s + "};\n"
}

// TestFind finds CPythons, and says why the frames of some are left out.
func TestFind(t *testing.T) {
	good := Layout{
		Interpreters: 632, InterpreterNext: 7264, Threads: 7344, ThreadNext: 8, ThreadID: 152, Frame: 72,
		Code: 0, Previous: 8, Instruction: 56, Owner: 70, FirstLine: 68, File: 112, Name: 128, Table: 136, Bytecode: 200, Version: 92, ASCII: 40, Compact: 56,
	}
	changed := func(minor uint32, at int, to uint64) []uint64 {
		w := words(minor, &good)
		w[at] = to
		return w
	}
	const v12, v13, v14 = 0x030c01f0, 0x030d00f0, 0x030e00f0
	tagged := good
	tagged.Tag = 3
	for _, c := range []struct {
		name, source    string
		version, reason string
		layout          Layout
	}{
		{"3.13", library(v13, words(0x030d, &good)), "3.13", "", good},
		{"3.14", library(v14, words(0x030e, &good)), "3.14", "", tagged},
		{"3.12", library(v12, nil), "3.12", "", tables[0x030c]},
		{"3.12 debug", library(v12, nil) + "void _Py_NegativeRefcount() {}", "3.12", "debug builds", tables[0x030c]},
		{"3.13 debug", library(v13, words(0x030d, &good)) + "void _Py_NegativeRefcount() {}", "3.13", "", good},
		{"3.10", "long _PyRuntime[100] = {1};", "before 3.11", "not known", Layout{}},
		{"3.10 and a version without a value", "long _PyRuntime[100] = {1}; long Py_Version;", "", "not known", Layout{}},
		{"3.15", library(0x030f00a1, words(0x030e, &good)), "3.15", "not known", Layout{}},
		{"free-threaded", library(v13, changed(0x030d, 2, 1)), "3.13", "free-threaded", Layout{}},
		{"no cookie", library(v13, changed(0x030d, 0, 1)), "3.13", "does not say", Layout{}},
		{"of another version", library(v13, words(0x030e, &good)), "3.13", "does not say", Layout{}},
		{"nothing", library(v14, nil), "3.14", "does not say", Layout{}},
		{"only in memory", "const unsigned long Py_Version = 0x030e00f0; unsigned long _PyRuntime[100];", "3.14", "does not say", Layout{}},
		{"too far", library(v14, changed(0x030e, 8, 1<<40)), "3.14", "unusual", Layout{}},
		{"far frames", library(v14, changed(0x030e, 32, 4096)), "3.14", "unusual", Layout{}},
		{"far codes", library(v14, changed(0x030e, 40, 1<<14)), "3.14", "unusual", Layout{}},
		{"a version elsewhere", library(v14, changed(0x030e, 46, 1000)), "3.14", "unusual", Layout{}},
		{"crooked", library(v14, changed(0x030e, 40, 113)), "3.14", "unusual", Layout{}},
		{"other strings", library(v14, changed(0x030e, 78, 40)), "3.14", "unusual", Layout{}},
		{"strings without an end", library(v14, changed(0x030e, 77, 1<<14)), "3.14", "unusual", Layout{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, err := Find(bytes.NewReader(build(t, c.source)))
			require.NoError(t, err)
			if c.version != "" {
				require.Equal(t, c.version, in.Version)
			}
			if c.reason != "" {
				require.Contains(t, in.Reason, c.reason)
				return
			}
			require.Empty(t, in.Reason)
			require.Equal(t, c.layout, in.Layout)
			require.NotZero(t, in.Runtime)
		})
	}
	_, err := Find(bytes.NewReader(build(t, "int main;")))
	require.ErrorIs(t, err, ErrNone)
	_, err = Find(strings.NewReader("#!/bin/sh"))
	require.Error(t, err)
}

// TestBias finds where a file was loaded from where its code is.
func TestBias(t *testing.T) {
	in := &Interpreter{loads: []elf.ProgHeader{
		{Flags: elf.PF_R, Off: 0, Vaddr: 0, Filesz: 0x5000},
		{Flags: elf.PF_R | elf.PF_X, Off: 0x5a00, Vaddr: 0x406a00, Filesz: 0x3000},
	}}
	bias, ok := in.Bias(0x7f0000001000, 0x5000)
	require.True(t, ok)
	require.Equal(t, uint64(0x7f0000001000-0x406000), bias)
	_, ok = in.Bias(0x7f0000001000, 0x9000)
	require.False(t, ok)
	_, ok = in.Bias(0x7f0000001000, 0)
	require.False(t, ok, "no code is there")
}

// FuzzFind looks into any file.
func FuzzFind(f *testing.F) {
	if lib, err := exec.LookPath("python3"); err == nil {
		if b, err := os.ReadFile(lib); err == nil && len(b) < 64<<10 {
			f.Add(b)
		}
	}
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if in, err := Find(bytes.NewReader(b)); err == nil && in.Reason == "" {
			require.True(t, in.Layout.fits())
		}
	})
}

// fields returns where the structures of a file with debugging information have their fields, by structure
// and field, and how large they are, by structure.
func fields(t *testing.T, path string) map[string]int64 {
	e, err := elf.Open(path)
	require.NoError(t, err)
	defer e.Close()
	d, err := e.DWARF()
	if err != nil || e.Section(".debug_info") == nil {
		return nil
	}
	names := map[string]bool{"_ts": true, "_PyCFrame": true, "_PyInterpreterFrame": true, "PyCodeObject": true, "pyruntimestate": true, "_is": true}
	found := make(map[string]int64)
	for r := d.Reader(); len(names) > 0; {
		entry, err := r.Next()
		if err != nil || entry == nil {
			break
		}
		name, _ := entry.Val(dwarf.AttrName).(string)
		if entry.Tag != dwarf.TagStructType || !names[name] || entry.Val(dwarf.AttrDeclaration) != nil {
			continue
		}
		s, err := d.Type(entry.Offset)
		require.NoError(t, err)
		delete(names, name)
		for _, f := range s.(*dwarf.StructType).Field {
			found[name+"."+f.Name] = f.ByteOffset
			if in, ok := f.Type.(*dwarf.StructType); ok {
				for _, g := range in.Field {
					found[name+"."+f.Name+"."+g.Name] = f.ByteOffset + g.ByteOffset
				}
			}
		}
	}
	return found
}

// TestTables compares the layouts with the debugging information of the Pythons of ~/.pyenv, if there are
// any.
func TestTables(t *testing.T) {
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	libs, err := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/lib/libpython3.*.so.1.0"))
	require.NoError(t, err)
	tried := 0
	for _, path := range libs {
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		in, err := Find(f)
		if errors.Is(err, ErrNone) || err == nil && in.Reason != "" {
			continue
		}
		require.NoError(t, err)
		at := fields(t, path)
		if at == nil {
			continue
		}
		tried++
		first := func(names ...string) int64 {
			for _, n := range names {
				if v, ok := at[n]; ok {
					return v
				}
			}
			require.Fail(t, "no field", "%s: %v", path, names)
			return 0
		}
		inner, hasInner := at["_PyCFrame.current_frame"]
		require.Equal(t, Layout{
			Interpreters: uint32(first("pyruntimestate.interpreters.head")), InterpreterNext: uint32(first("_is.next")),
			Threads: uint32(first("_is.threads.head")), ThreadNext: uint32(first("_ts.next")), ThreadID: uint16(first("_ts.thread_id")),
			Frame: uint16(first("_ts.current_frame", "_ts.cframe")), Inner: uint16(inner), HasInner: hasInner,
			Code: uint16(first("_PyInterpreterFrame.f_executable", "_PyInterpreterFrame.f_code")), Previous: uint16(first("_PyInterpreterFrame.previous")),
			Instruction: uint16(first("_PyInterpreterFrame.instr_ptr", "_PyInterpreterFrame.prev_instr")), Owner: uint16(first("_PyInterpreterFrame.owner")),
			FirstLine: uint16(first("PyCodeObject.co_firstlineno")), File: uint16(first("PyCodeObject.co_filename")), Name: uint16(first("PyCodeObject.co_qualname")),
			Table: uint16(first("PyCodeObject.co_linetable")), Bytecode: uint16(first("PyCodeObject.co_code_adaptive")),
			Version: uint16(at["PyCodeObject.co_version"]), ASCII: in.Layout.ASCII, Compact: in.Layout.Compact, Tag: in.Layout.Tag,
		}, in.Layout, path)
	}
	if tried == 0 {
		t.Skip("no Python with debugging information")
	}
	t.Logf("%d Pythons", tried)
}
