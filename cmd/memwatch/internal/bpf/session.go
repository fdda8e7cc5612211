//go:build linux && (amd64 || arm64)

package bpf

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
)

// Options say how a session watches. Zero fields mean the defaults.
type Options struct {
	Ring     int  // bytes of the ring, a power of two and at least a page; 8 MiB, or with copies 32 MiB
	NoStacks bool // take no call stacks
	Copies   Copies
	Only     bool // report only processes that Watch was told of
	Single   bool // use single probes although the kernel has links of many
	NoPython bool // do not look for frames of Python
}

// A Session is the programs in the kernel. Read and Attach may run at the same time;
// otherwise it is not safe for use by several goroutines.
type Session struct {
	objs     programs
	reader   *ringbuf.Reader
	links    []link.Link // of tracepoints
	attach   []*Attachment
	delegate Attacher // nil: this process attaches
	single   bool
	noPython bool
	filters  bool // the kernel's own filter by process is right
	record   ringbuf.Record
	poll     time.Duration // how often the ring is looked at although nobody was woken
}

// programs are the programs of one form, and the maps.
type programs struct {
	Entry  *ebpf.Program
	Return *ebpf.Program
	Marker *ebpf.Program
	OnExit *ebpf.Program
	OnExec *ebpf.Program

	Descriptors, Books, Targets, Pythons, Seen, Frameless, Events, Hits *ebpf.Map

	all *ebpf.Collection // owns them
}

// Open loads the programs.
func Open(o Options) (*Session, error) {
	s := &Session{single: o.Single, poll: 50 * time.Millisecond}
	s.single = s.single || !hasMulti()
	s.filters = !s.single && KernelAtLeast(6, 10)
	spec, err := loadWatch()
	if err != nil {
		return nil, fmt.Errorf("bpf: open: %w", err)
	}
	used, unused := "_multi", "_single"
	if s.single {
		used, unused = unused, used
	}
	for _, p := range []string{"entry", "return", "marker"} {
		delete(spec.Programs, p+unused)
	}
	if o.NoStacks || !hasCopies {
		o.Copies = NoCopies
	}
	s.noPython = o.NoPython || o.NoStacks || !KernelAtLeast(5, 17) // which have no loops for programs
	ring := spec.Maps[watchMapEvents]
	switch {
	case o.Ring > 0:
		ring.MaxEntries = uint32(o.Ring)
	case o.Copies != NoCopies:
		ring.MaxEntries = ringOfCopies
	}
	if err := errors.Join(
		spec.Variables[watchVarOnlyTargets].Set(bit(o.Only)),
		spec.Variables[watchVarNoStacks].Set(bit(o.NoStacks)),
		spec.Variables[watchVarWakeAt].Set(ring.MaxEntries/8),
		spec.Variables[watchVarNoPython].Set(bit(s.noPython)),
		spec.Variables[watchVarCopying].Set(uint8(o.Copies)),
		spec.Variables[watchVarCopyUntil].Set(ring.MaxEntries-min(ring.MaxEntries/2, ringOfCalls)),
	); err != nil {
		return nil, fmt.Errorf("bpf: open: %w", err)
	}
	all, err := ebpf.NewCollection(spec)
	if err != nil && !s.noPython { // it may be for what they do for Python, which is good without
		s.noPython = true
		if spec.Variables[watchVarNoPython].Set(bit(true)) == nil {
			if less, e := ebpf.NewCollection(spec); e == nil {
				all, err = less, nil
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("bpf: open: load: %w", err)
	}
	s.objs.all = all
	s.objs.Entry, s.objs.Return, s.objs.Marker = all.Programs["entry"+used], all.Programs["return"+used], all.Programs["marker"+used]
	s.objs.OnExit, s.objs.OnExec = all.Programs["on_exit"], all.Programs["on_exec"]
	s.objs.Descriptors, s.objs.Books, s.objs.Targets = all.Maps[watchMapDescriptors], all.Maps[watchMapBooks], all.Maps[watchMapTargets]
	s.objs.Pythons, s.objs.Seen, s.objs.Frameless = all.Maps[watchMapPythons], all.Maps[watchMapSeen], all.Maps[watchMapFrameless]
	s.objs.Events, s.objs.Hits = all.Maps[watchMapEvents], all.Maps[watchMapHits]
	if err := s.start(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// hasMulti reports whether the kernel has links of many probes. The first call of it comes before any program
// is loaded: the library that loads them reads the kernel's version from this program's memory then, which is
// closed to a program that has its rights from its file. While it is open, others still need the same rights
// to look into it.
var hasMulti = sync.OnceValue(func() bool {
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err == nil && n != 1 {
		if unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) == nil {
			defer unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		}
	}
	return features.HaveBPFLinkUprobeMulti() == nil
})

func bit(yes bool) uint8 {
	if yes {
		return 1
	}
	return 0
}

// start fills the table of descriptors and attaches what hears of processes.
func (s *Session) start() error {
	for _, p := range probes.All() {
		d := p.Descriptor()
		if err := s.objs.Descriptors.Put(uint32(p.ID()), &d); err != nil {
			return fmt.Errorf("bpf: open: descriptors: %w", err)
		}
	}
	if err := s.locate(); err != nil {
		return err
	}
	for _, p := range []*ebpf.Program{s.objs.OnExit, s.objs.OnExec} {
		l, err := link.AttachTracing(link.TracingOptions{Program: p})
		if err != nil {
			return fmt.Errorf("bpf: open: tracepoint: %w", err)
		}
		s.links = append(s.links, l)
	}
	var err error
	if s.reader, err = ringbuf.NewReader(s.objs.Events); err != nil {
		return fmt.Errorf("bpf: open: ring: %w", err)
	}
	return nil
}

// locate has the programs call processes by the numbers that they have here.
func (s *Session) locate() error {
	if _, err := s.objs.all.Programs["here"].Run(&ebpf.RunOptions{}); err != nil {
		return fmt.Errorf("bpf: open: PID namespace: %w", err)
	}
	return nil
}

// A Target is where a Go program keeps what a walk of its stacks needs. The zero
// Target is that of a program of which nothing is known yet.
type Target struct {
	Other         bool   // it is a program of another language
	Text, TextEnd uint64 // addresses of Go's code
	TLS           int32  // bytes from the thread pointer to g
	Known         bool   // the offsets are; else stacks are not taken from goroutines
	Offsets       Offsets
}

// Offsets are fields of the runtime's structures in bytes.
type Offsets struct {
	M, GoID, SyscallPC, SyscallBP uint16 // of g
	CurG                          uint16 // of m
}

// Watch tells of a process.
func (s *Session) Watch(pid uint32, t Target) error {
	v := watchTarget{
		Text: t.Text, Etext: t.TextEnd, Tls: t.TLS, Known: uint16(bit(t.Known)), Other: uint16(bit(t.Other)),
		G_m: t.Offsets.M, G_goid: t.Offsets.GoID, G_syscallpc: t.Offsets.SyscallPC, G_syscallbp: t.Offsets.SyscallBP,
		M_curg: t.Offsets.CurG,
	}
	if err := s.objs.Targets.Put(pid, &v); err != nil {
		return fmt.Errorf("bpf: watch: process %d: %w", pid, err)
	}
	return nil
}

// Forget drops what is kept for a process that is gone.
func (s *Session) Forget(pid uint32) {
	for _, m := range []*ebpf.Map{s.objs.Targets, s.objs.Pythons, s.objs.Books} {
		_ = m.Delete(pid) // it may not be there
	}
}

// Close detaches everything and unloads the programs. A Read on its way returns.
func (s *Session) Close() error {
	var errs []error
	for _, a := range s.attach {
		errs = append(errs, a.Close())
	}
	for _, l := range s.links {
		errs = append(errs, l.Close())
	}
	if s.reader != nil {
		errs = append(errs, s.reader.Close())
	}
	s.objs.all.Close()
	return errors.Join(errs...)
}

// NeedsNoRights reports whether a Session that is attached works on in a program that
// has given up its rights. Older kernels may refuse such a program its own maps.
func NeedsNoRights() bool { return KernelAtLeast(6, 0) }

// KernelAtLeast reports whether the running kernel is of the version or later.
func KernelAtLeast(major, minor int) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var a, b int
	if n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a > major || a == major && b >= minor
}
