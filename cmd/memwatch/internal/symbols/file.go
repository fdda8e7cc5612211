package symbols

import (
	"cmp"
	"debug/buildinfo"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// A File is the functions of one ELF file, by the addresses that the file was linked
// for. It may be used by several goroutines.
type File struct {
	loads []elf.ProgHeader
	funcs []function // by address
	lines *lines     // nil: there is no debugging information
	gotab *gosym.Table
	Go    *GoInfo // nil: not a Go program
}

type function struct {
	start, end uint64
	name       string
}

// GoInfo is what a walk of goroutines needs to know of a Go program. Addresses are
// those that the file was linked for.
type GoInfo struct {
	Version       string
	Text, TextEnd uint64
	TLS           int32 // bytes from the thread pointer to g
	TLSKnown      bool
}

// Bounds on what is read of a file.
const (
	maxSection   = 512 << 20 // bytes
	maxFunctions = 4 << 20
)

// ErrFile is in the chain of errors about a file whose tables cannot be.
var ErrFile = errors.New("unreadable symbols")

// ReadFile reads the functions of an ELF file.
func ReadFile(r io.ReaderAt) (f *File, err error) {
	// The standard library's readers of ELF and Go tables trust what they read here
	// and there.
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("symbols: %w: %v", ErrFile, p)
		}
	}()
	e, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("symbols: %w", err)
	}
	f = new(File)
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			f.loads = append(f.loads, p.ProgHeader)
		}
	}
	f.readELF(e)
	f.lines = readLines(e)
	if err := f.readGo(e, r); err != nil {
		return nil, err
	}
	return f, nil
}

// readELF reads the functions of the symbol tables.
func (f *File) readELF(e *elf.File) {
	for _, read := range []func() ([]elf.Symbol, error){e.Symbols, e.DynamicSymbols} {
		for _, s := range []string{".symtab", ".dynsym", ".strtab", ".dynstr"} {
			if sec := e.Section(s); sec != nil && sec.Size > maxSection {
				return
			}
		}
		syms, err := read()
		if err != nil {
			continue // a stripped file has only one of them
		}
		for _, s := range syms {
			if t := elf.ST_TYPE(s.Info); (t == elf.STT_FUNC || t == elf.STT_GNU_IFUNC) && s.Value != 0 && len(f.funcs) < maxFunctions {
				f.funcs = append(f.funcs, function{s.Value, s.Value + s.Size, s.Name})
			}
		}
	}
	slices.SortStableFunc(f.funcs, func(a, b function) int { return cmp.Compare(a.start, b.start) })
	f.funcs = slices.CompactFunc(f.funcs, func(a, b function) bool { return a.start == b.start })
}

// readGo reads Go's tables, if there are any.
func (f *File) readGo(e *elf.File, r io.ReaderAt) error {
	sec := e.Section(".gopclntab")
	if sec == nil {
		if sec = e.Section(".data.rel.ro.gopclntab"); sec == nil {
			return nil
		}
	}
	if sec.Size > maxSection || sec.Size < 64 {
		return fmt.Errorf("symbols: %w: table of %d bytes", ErrFile, sec.Size)
	}
	table, err := sec.Data()
	if err != nil {
		return fmt.Errorf("symbols: %w", err)
	}
	info := &GoInfo{}
	if b, err := buildinfo.Read(r); err == nil {
		info.Version = b.GoVersion
	}
	f.Go = info
	info.Text, info.TextEnd = goText(e, table)
	if info.Text == 0 {
		return fmt.Errorf("symbols: %w: the beginning of Go's code is not known", ErrFile)
	}
	info.TLS, info.TLSKnown = tlsOffset(e)
	f.gotab, err = gosym.NewTable(nil, gosym.NewLineTable(table, info.Text))
	if err != nil {
		return fmt.Errorf("symbols: %w: %w", ErrFile, err)
	}
	if n := len(f.gotab.Funcs); n > 0 && info.TextEnd <= info.Text {
		info.TextEnd = f.gotab.Funcs[n-1].End
	}
	return nil
}

// goText returns where Go's code begins and ends; the end is 0 if it is not known.
func goText(e *elf.File, table []byte) (text, end uint64) {
	// runtime.moduledata: text and etext follow 22 words.
	const textAt = 22 * 8
	if s := e.Section(".go.module"); s != nil && s.Size >= textAt+16 {
		var b [16]byte
		if _, err := s.ReadAt(b[:], textAt); err == nil {
			if t := e.ByteOrder.Uint64(b[:]); t != 0 {
				return t, e.ByteOrder.Uint64(b[8:])
			}
		}
	}
	// The header of the table has it up to Go 1.25: magic, two zeroes, the quantum, the
	// size of a pointer, two counts, text.
	if table[7] == 8 {
		if t := binary.LittleEndian.Uint64(table[24:]); t != 0 {
			return t, 0
		}
	}
	if syms, err := e.Symbols(); err == nil {
		for _, s := range syms {
			switch s.Name {
			case "runtime.text":
				text = s.Value
			case "runtime.etext":
				end = s.Value
			}
		}
	}
	return text, end
}

// tlsOffset returns where g is in thread-local storage, in bytes from the thread
// pointer. It is known if a symbol says so, or if there is nothing else in it.
func tlsOffset(e *elf.File) (offset int32, known bool) {
	if e.Machine != elf.EM_X86_64 {
		return 0, false
	}
	var tls *elf.Prog
	for _, p := range e.Progs {
		if p.Type == elf.PT_TLS {
			tls = p
		}
	}
	if tls == nil || tls.Memsz > 1<<20 {
		// A program linked by Go alone has no such segment when it is not needed to load
		// it; the place is the same.
		return -8, tls == nil
	}
	align := max(tls.Align, 1)
	size := (tls.Memsz + align - 1) / align * align
	if syms, err := e.Symbols(); err == nil {
		for _, s := range syms {
			if s.Name == "runtime.tlsg" && elf.ST_TYPE(s.Info) == elf.STT_TLS {
				return int32(int64(s.Value) - int64(size)), true
			}
		}
	}
	return -8, tls.Memsz == 8
}

// address returns the address that the file was linked for of the byte at offset.
func (f *File) address(offset uint64) (uint64, bool) {
	for _, p := range f.loads {
		if offset >= p.Off && offset-p.Off < p.Filesz {
			return p.Vaddr + (offset - p.Off), true
		}
	}
	return 0, false
}

// Offset returns the place in the file of a linked address.
func (f *File) Offset(addr uint64) (uint64, bool) {
	for _, p := range f.loads {
		if addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			return p.Off + (addr - p.Vaddr), true
		}
	}
	return 0, false
}

// lookup names the functions at a linked address, none if there is none: the innermost first, which a
// compiler may have put into those behind it.
func (f *File) lookup(addr uint64) (all []heap.Frame) {
	defer func() {
		if recover() != nil { // a table that lies
			all = nil
		}
	}()
	if f.gotab != nil && addr >= f.Go.Text && (f.Go.TextEnd == 0 || addr < f.Go.TextEnd) {
		if file, line, fn := f.gotab.PCToLine(addr); fn != nil {
			return []heap.Frame{{Func: fn.Name, File: file, Line: line}}
		}
	}
	i := sort.Search(len(f.funcs), func(i int) bool { return f.funcs[i].start > addr }) - 1
	if i < 0 {
		return nil
	}
	fn := f.funcs[i]
	// Assembly often gives no size: then the function goes on to the next.
	if fn.end > fn.start && addr >= fn.end {
		return nil
	}
	at := f.lines.at(addr)
	line := at.place
	for _, c := range at.calls {
		all = append(all, heap.Frame{Func: readable(c.name), File: line.file, Line: line.line})
		line = c.from
	}
	return append(all, heap.Frame{Func: readable(strings.TrimSuffix(fn.name, ".abi0")), File: line.file, Line: line.line})
}

// readable returns a function's name as its program's text has it, without its parameters.
func readable(name string) string {
	return demangle.Filter(name, demangle.NoParams, demangle.NoClones, demangle.MaxLength(maxNameBits))
}

// maxNameBits bounds a name: a short one may stand for one of any length.
const maxNameBits = 9
