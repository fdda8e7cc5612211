package python

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// An Interpreter is the CPython in an ELF file.
type Interpreter struct {
	Version string // as 3.12
	Runtime uint64 // address of _PyRuntime as the file was linked
	Layout  Layout
	Reason  string // why its frames are left out; "" if they are not

	loads []elf.ProgHeader
}

// ErrNone says that there is no CPython in a file.
var ErrNone = errors.New("python: none")

// maxSymbols bounds the tables of names that are read, in bytes.
const maxSymbols = 64 << 20

// Find looks for CPython in an ELF file. The error is ErrNone if there is none.
func Find(r io.ReaderAt) (in *Interpreter, err error) {
	// The standard library's reader of ELF trusts what it reads here and there.
	defer func() {
		if p := recover(); p != nil {
			in, err = nil, fmt.Errorf("python: %v", p)
		}
	}()
	e, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("python: %w", err)
	}
	for _, s := range []string{".dynsym", ".dynstr"} {
		if sec := e.Section(s); sec == nil || sec.Size > maxSymbols {
			return nil, ErrNone
		}
	}
	syms, err := e.DynamicSymbols()
	if err != nil {
		return nil, ErrNone
	}
	at := make(map[string]uint64)
	for i := range syms {
		switch s := &syms[i]; s.Name {
		case "_PyRuntime", "Py_Version", "_Py_NegativeRefcount":
			if s.Section != elf.SHN_UNDEF {
				at[s.Name] = s.Value
			}
		}
	}
	if at["_PyRuntime"] == 0 {
		return nil, ErrNone
	}
	in = &Interpreter{Runtime: at["_PyRuntime"]}
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD {
			in.loads = append(in.loads, p.ProgHeader)
		}
	}
	in.judge(e, r, at["Py_Version"], at["_Py_NegativeRefcount"] != 0)
	return in, nil
}

// judge finds out the version and the layout, or why it is left out.
func (in *Interpreter) judge(e *elf.File, r io.ReaderAt, version uint64, checked bool) {
	if e.Machine != elf.EM_X86_64 || e.Class != elf.ELFCLASS64 {
		in.Reason = "it is for a machine other than x86-64"
		return
	}
	b := make([]byte, 8)
	if version == 0 || !in.read(r, version, b) {
		in.Version, in.Reason = "before 3.11", "versions before 3.11 are not known"
		return
	}
	hex := binary.LittleEndian.Uint64(b)
	minor := uint32(hex >> 16)
	in.Version = fmt.Sprintf("%d.%d", hex>>24&0xff, hex>>16&0xff)
	if l, ok := tables[minor]; ok {
		in.Layout = l
		if checked {
			in.Reason = "debug builds of it are not known"
		}
		return
	}
	d, ok := debug[minor]
	if !ok {
		in.Reason = "this version is not known"
		return
	}
	b = make([]byte, 8*d.size)
	if !in.read(r, in.Runtime, b) || !bytes.Equal(b[:8], []byte("xdebugpy")) || binary.LittleEndian.Uint64(b[8:]) != hex {
		in.Reason = "it does not say how it is laid out"
		return
	}
	if binary.LittleEndian.Uint64(b[16:]) != 0 {
		in.Reason = "free-threaded builds are not known"
		return
	}
	in.Layout, in.Reason = d.layout(b)
}

// read reads what the file has for an address.
func (in *Interpreter) read(r io.ReaderAt, addr uint64, b []byte) bool {
	for _, p := range in.loads {
		if addr >= p.Vaddr && addr-p.Vaddr < p.Filesz && p.Filesz-(addr-p.Vaddr) >= uint64(len(b)) {
			_, err := r.ReadAt(b, int64(p.Off+addr-p.Vaddr))
			return err == nil
		}
	}
	return false
}

// Bias returns what is to be added to addresses of the file where its byte at offset is mapped at start.
func (in *Interpreter) Bias(start, offset uint64) (bias uint64, ok bool) {
	for _, p := range in.loads {
		if p.Flags&elf.PF_X == 0 {
			continue
		}
		// What is mapped begins and ends at pages.
		if first := p.Off &^ 4095; offset >= first && offset < p.Off+p.Filesz {
			return start - (p.Vaddr + offset - p.Off), true
		}
	}
	return 0, false
}
