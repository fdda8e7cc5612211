package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
	"github.com/lastuse/lastuse/internal/probe"
)

// pushRBP is what a marker's first byte must be on amd64. The kernel does not check
// where a probe goes: a wrong address would silently break the program there.
const pushRBP = 0x55

// errProbe is the reason when the kernel does not let us probe.
var errProbe = errors.New("not permitted to attach probes: run memwatch as root")

// countMarkers counts how often a process calls its marker functions in d.
//
// The addresses come from the process's table, so that stripped programs work, but they
// are believed only if a function begins there in a file that the process has
// mapped as code. Probes are at entry only, where they do no harm to Go code. Once they
// count, counting is called.
func countMarkers(ctx context.Context, pid int, tables []*probe.Snapshot, d time.Duration, counting func()) (m *markerRow, err error) {
	_ = rlimit.RemoveMemlock() // needed before Linux 5.11 only, and loading reports the failure
	p, err := openProcess(pid)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	counts, err := ebpf.NewMap(&ebpf.MapSpec{
		Name: "lastuse_counts", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8, MaxEntries: uint32(len(markers)),
	})
	if err != nil {
		return nil, probeError(err)
	}
	defer counts.Close()
	var links []link.Link
	detach := func() error {
		var errs []error
		for _, l := range links {
			errs = append(errs, l.Close())
		}
		links = nil
		return errors.Join(errs...)
	}
	defer func() { err = errors.Join(err, detach()) }()
	for i, marker := range markers {
		l, err := p.attach(counts, uint32(i), marker.address(tables[0]))
		if err != nil {
			return nil, fmt.Errorf("%s marker: %w", marker.name, err)
		}
		links = append(links, l)
	}
	counting()
	start := time.Now()
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	m = &markerRow{Seconds: time.Since(start).Seconds()}
	// A probe may still be running while its link closes: detach first, then read.
	if err := detach(); err != nil {
		return nil, err
	}
	for i, marker := range markers {
		var perCPU []uint64
		if err := counts.Lookup(uint32(i), &perCPU); err != nil {
			return nil, err
		}
		for _, n := range perCPU {
			*marker.field(m) += n
		}
	}
	return m, nil
}

// markers are the functions that are counted; the index is the key in the map.
var markers = []struct {
	name    string
	address func(*probe.Snapshot) uint64
	field   func(*markerRow) *uint64
}{
	{"alloc", func(s *probe.Snapshot) uint64 { return s.AllocMarker }, func(m *markerRow) *uint64 { return &m.Alloc }},
	{"free", func(s *probe.Snapshot) uint64 { return s.FreeMarker }, func(m *markerRow) *uint64 { return &m.Free }},
}

// attach probes the function that begins at an address in the process, and counts its
// calls under key.
func (p *process) attach(counts *ebpf.Map, key uint32, address uint64) (link.Link, error) {
	path, offset, err := p.code(address)
	if err != nil {
		return nil, err
	}
	prog, err := ebpf.NewProgram(countProgram(counts, key))
	if err != nil {
		return nil, probeError(err)
	}
	defer prog.Close() // the link keeps it
	exe, err := link.OpenExecutable(path)
	if err != nil {
		return nil, probeError(err)
	}
	// A perf uprobe, not uprobe_multi: it exists on every kernel that has uprobes, and its
	// filter by process has always covered all threads.
	l, err := exe.Uprobe("", prog, &link.UprobeOptions{Address: offset, PID: p.PID})
	if err != nil {
		return nil, probeError(err)
	}
	return l, nil
}

// countProgram is a program that adds one to counts[key] whenever it runs. It has
// no more to it, which is why it is written here in assembly and not in C:
// nothing needs a C compiler yet.
func countProgram(counts *ebpf.Map, key uint32) *ebpf.ProgramSpec {
	return &ebpf.ProgramSpec{
		Name:    "lastuse_count",
		Type:    ebpf.Kprobe, // the type of uprobes too
		License: "MIT",
		Instructions: asm.Instructions{
			// r0 = bpf_map_lookup_elem(counts, &key), the key lying on the stack
			asm.StoreImm(asm.RFP, -4, int64(key), asm.Word),
			asm.LoadMapPtr(asm.R1, counts.FD()),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, -4),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "out"),
			// *r0 += 1; nobody else adds to this CPU's element meanwhile, except a
			// probe hit that interrupted this one: hence atomically
			asm.Mov.Imm(asm.R1, 1),
			asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
			asm.Return(),
		},
	}
}

// code returns the file that the process has mapped as code at an address, and the
// address's offset in it. It is an error if no function begins there.
func (p *process) code(address uint64) (path string, offset uint64, err error) {
	maps, err := p.Find(func(m *procfs.Mapped) bool {
		return m.Executable && m.Inode != 0 && m.Start <= address && address < m.End
	})
	if err != nil {
		return "", 0, err
	}
	if len(maps) == 0 {
		return "", 0, fmt.Errorf("the table says %#x, where no code is mapped", address)
	}
	m := maps[0]
	offset = address - m.Start + m.Offset
	name := fmt.Sprintf("map_files/%x-%x", m.Start, m.End)
	f, err := p.OpenFile(name)
	if err != nil {
		return "", 0, probeError(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", 0, err
	}
	if !st.Mode().IsRegular() {
		return "", 0, fmt.Errorf("the table says %#x, where no program is mapped", address)
	}
	var head [1]byte
	if _, err := f.ReadAt(head[:], int64(offset)); err != nil {
		return "", 0, err
	}
	if runtime.GOARCH == "amd64" && head[0] != pushRBP {
		return "", 0, fmt.Errorf("the table says %#x, where no marker begins (first byte %#x)", address, head[0])
	}
	return fmt.Sprintf("/proc/%d/%s", p.PID, name), offset, nil
}

// probeError gives the kernel's refusals the words that a user needs.
func probeError(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, procfs.ErrRights) {
		return fmt.Errorf("%w (%v)", errProbe, err)
	}
	return err
}
