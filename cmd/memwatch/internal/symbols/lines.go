package symbols

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"io"
	"strings"
	"sync"
)

// lines finds the line of an address in what a compiler left for debuggers.
type lines struct {
	mu    sync.Mutex
	data  *dwarf.Data
	table []byte // the tables of lines, of all units
	order binary.ByteOrder
	units map[dwarf.Offset][]row // what was compiled at once, once its lines were asked for
	rows  int                    // of all units
	known map[uint64]found       // what was asked for before

	spans   map[dwarf.Offset][]span // functions of units
	entries int                     // that were read for functions
}

// A found is what is known of an address: its line, and the calls of inlined functions around it, innermost
// first.
type found struct {
	place
	calls []call
}

// A row is the line of the addresses from one on to the next row's.
type row struct {
	addr uint64
	end  bool // of a sequence: nothing is known of what follows
	place
}

type place struct {
	file string
	line int
}

// Bounds on what is read for lines, and kept.
const (
	maxDebug = 128 << 20 // bytes of debugging information of one file, when it is not compressed
	maxRows  = 4 << 20   // of all units
	maxKnown = 1 << 14
)

// readLines returns nil if a file has no debugging information, or more than is read.
func readLines(e *elf.File) *lines {
	if e.Section(".debug_line") == nil || e.Section(".gopclntab") != nil {
		return nil // Go's own table knows its lines
	}
	var sum uint64
	for _, s := range e.Sections {
		if strings.HasPrefix(s.Name, ".zdebug_") {
			return nil // an old form, of which only the file itself says how large it becomes
		}
		if strings.HasPrefix(s.Name, ".debug_") {
			sum += s.Size
		}
	}
	if sum > maxDebug {
		return nil
	}
	table, err := e.Section(".debug_line").Data()
	if err != nil {
		return nil
	}
	data, err := e.DWARF()
	if err != nil {
		return nil
	}
	return &lines{data: data, table: table, order: e.ByteOrder, units: make(map[dwarf.Offset][]row), known: make(map[uint64]found), spans: make(map[dwarf.Offset][]span)}
}

// at returns what is known of a linked address.
func (l *lines) at(addr uint64) found {
	if l == nil {
		return found{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.known[addr]
	if !ok {
		p = l.find(addr)
		if len(l.known) >= maxKnown {
			clear(l.known)
		}
		l.known[addr] = p
	}
	return p
}

func (l *lines) find(addr uint64) (f found) {
	defer func() {
		if recover() != nil { // tables that lie
			f = found{}
		}
	}()
	// The unit is looked up in the list of them: a walk from one to the next would follow what the file says.
	entry, err := l.data.Reader().SeekPC(addr)
	if err != nil || entry == nil {
		return found{}
	}
	f.place = l.lineOf(entry, addr)
	if f.line > 0 {
		f.calls = l.inlined(entry, addr)
	}
	return f
}

// lineOf returns the line of an address in a unit.
func (l *lines) lineOf(entry *dwarf.Entry, addr uint64) place {
	rows, ok := l.units[entry.Offset]
	if !ok {
		rows = l.read(entry)
		l.units[entry.Offset] = rows
	}
	for i := range rows[:max(len(rows)-1, 0)] {
		if a := &rows[i]; !a.end && a.addr <= addr && addr < rows[i+1].addr {
			return a.place
		}
	}
	return place{}
}

// read reads the lines of a unit, in the order of its sequences.
func (l *lines) read(entry *dwarf.Entry) (all []row) {
	if at, ok := entry.Val(dwarf.AttrStmtList).(int64); !ok || !honest(l.table, at, l.order) {
		return nil
	}
	r, err := l.data.LineReader(entry)
	if err != nil || r == nil {
		return nil
	}
	var e dwarf.LineEntry
	for ; l.rows < maxRows; l.rows++ {
		if err := r.Next(&e); err == io.EOF {
			return all
		} else if err != nil {
			return nil
		}
		a := row{addr: e.Address, end: e.EndSequence}
		if e.File != nil {
			a.place = place{e.File.Name, e.Line}
		}
		all = append(all, a)
	}
	return nil
}
