//go:build linux && (amd64 || arm64)

package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
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
	Ring     int  // bytes of the ring, a power of two and at least a page; 8 MiB
	NoStacks bool // take no call stacks
	Only     bool // report only processes that Watch was told of
	Single   bool // use single probes although the kernel has links of many
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

	Descriptors, Books, Targets, Events, Hits *ebpf.Map

	all *ebpf.Collection // owns them
}

// Open loads the programs.
func Open(o Options) (*Session, error) {
	s := &Session{single: o.Single, poll: 50 * time.Millisecond}
	if !s.single && features.HaveBPFLinkUprobeMulti() != nil {
		s.single = true
	}
	s.filters = !s.single && kernelAtLeast(6, 10)
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
	if o.Ring > 0 {
		spec.Maps[watchMapEvents].MaxEntries = uint32(o.Ring)
	}
	if err := errors.Join(
		spec.Variables[watchVarOnlyTargets].Set(bit(o.Only)),
		spec.Variables[watchVarNoStacks].Set(bit(o.NoStacks)),
		spec.Variables[watchVarWakeAt].Set(spec.Maps[watchMapEvents].MaxEntries/8),
	); err != nil {
		return nil, fmt.Errorf("bpf: open: %w", err)
	}
	all, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, fmt.Errorf("bpf: open: load: %w", err)
	}
	s.objs.all = all
	s.objs.Entry, s.objs.Return, s.objs.Marker = all.Programs["entry"+used], all.Programs["return"+used], all.Programs["marker"+used]
	s.objs.OnExit, s.objs.OnExec = all.Programs["on_exit"], all.Programs["on_exec"]
	s.objs.Descriptors, s.objs.Books, s.objs.Targets = all.Maps[watchMapDescriptors], all.Maps[watchMapBooks], all.Maps[watchMapTargets]
	s.objs.Events, s.objs.Hits = all.Maps[watchMapEvents], all.Maps[watchMapHits]
	if err := s.start(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

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

// Single reports whether single probes are used.
func (s *Session) Single() bool { return s.single }

// An Attachment is the probes of one file. Close detaches them.
type Attachment struct {
	links []link.Link
	Count int // probes, entries and returns
}

// Close detaches the probes. The kernel waits a while for each single probe, so they
// are detached at the same time.
func (a *Attachment) Close() error {
	errs := make([]error, len(a.links))
	var wg sync.WaitGroup
	for i, l := range a.links {
		wg.Go(func() { errs[i] = l.Close() })
	}
	wg.Wait()
	a.links = nil
	return errors.Join(errs...)
}

// Attach attaches the probes of m to the file at path, which m was read from. pid
// is the only process that they are for, 0 for all. A path like /proc/self/fd/N names
// the very file that was examined. Returns are attached before entries, so that no
// call is seen whose return will not be.
func (s *Session) Attach(path string, m *probes.Image, pid uint32) (*Attachment, error) {
	entries, returns := places(m)
	return s.attachAll(path, pid, func(ex *link.Executable, a *Attachment) error {
		if err := s.probe(ex, a, s.objs.Return, returns, pid, true); err != nil {
			return err
		}
		return s.probe(ex, a, s.objs.Entry, entries, pid, false)
	})
}

// An Attacher attaches probes to a file in place of a Session that may not any more.
// Returns says that they are of returns, pid is the only process that they are for, 0
// for all.
type Attacher func(f *os.File, at []Place, returns bool, pid uint32) error

// Delegate has a attach from now on what AttachFile is asked to. What it attaches ends
// with it, not with the Session.
func (s *Session) Delegate(a Attacher) { s.delegate = a }

// AttachFile is Attach to an open file.
func (s *Session) AttachFile(f *os.File, m *probes.Image, pid uint32) (count int, err error) {
	if s.delegate == nil {
		a, err := s.Attach(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), m, pid)
		if err != nil {
			return 0, err
		}
		return a.Count, nil
	}
	entries, returns := places(m)
	if len(returns) > 0 {
		if err := s.delegate(f, returns, true, pid); err != nil {
			return 0, fmt.Errorf("bpf: attach: %w", err)
		}
	}
	if len(entries) > 0 {
		if err := s.delegate(f, entries, false, pid); err != nil {
			return 0, fmt.Errorf("bpf: attach: %w", err)
		}
	}
	return len(entries) + len(returns), nil
}

// Programs returns the programs of entries and returns for another process, which gives
// them to NewAttacher. The caller closes them.
func (s *Session) Programs() (entry, ret *os.File, err error) {
	var files [2]*os.File
	for i, p := range []*ebpf.Program{s.objs.Entry, s.objs.Return} {
		fd, err := unix.FcntlInt(uintptr(p.FD()), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, nil, fmt.Errorf("bpf: programs: %w", err)
		}
		files[i] = os.NewFile(uintptr(fd), "program")
	}
	return files[0], files[1], nil
}

// NewAttacher returns an Attacher of the programs of a Session of another process, whose
// files it closes. Probes end with this process.
func NewAttacher(entry, ret *os.File, single bool) (Attacher, error) {
	s := &Session{single: single, filters: !single && kernelAtLeast(6, 10)}
	for f, to := range map[*os.File]**ebpf.Program{entry: &s.objs.Entry, ret: &s.objs.Return} {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0) // the program owns it
		if err == nil {
			*to, err = ebpf.NewProgramFromFD(fd)
		}
		if err != nil {
			return nil, fmt.Errorf("bpf: programs: %w", err)
		}
		f.Close()
	}
	var mu sync.Mutex
	return func(f *os.File, at []Place, returns bool, pid uint32) error {
		mu.Lock()
		defer mu.Unlock()
		prog := s.objs.Entry
		if returns {
			prog = s.objs.Return
		}
		_, err := s.attachAll(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), pid, func(ex *link.Executable, a *Attachment) error {
			return s.probe(ex, a, prog, at, pid, returns)
		})
		return err
	}, nil
}

// Markers are the offsets, in bytes from the start of its file, of the two marker
// functions of a Go program.
type Markers struct {
	Alloc, Free uint64
}

// AttachMarkers attaches entry probes to the markers of the Go program at path.
func (s *Session) AttachMarkers(path string, m Markers, pid uint32) (*Attachment, error) {
	return s.attachAll(path, pid, func(ex *link.Executable, a *Attachment) error {
		return s.probe(ex, a, s.objs.Marker, []Place{{m.Alloc, 0}, {m.Free, 1}}, pid, false)
	})
}

func (s *Session) attachAll(path string, pid uint32, do func(*link.Executable, *Attachment) error) (*Attachment, error) {
	ex, err := link.OpenExecutable(path)
	if err != nil {
		return nil, fmt.Errorf("bpf: attach: %w", err)
	}
	a := new(Attachment)
	if err := do(ex, a); err != nil {
		a.Close()
		return nil, fmt.Errorf("bpf: attach: %w", err)
	}
	s.attach = append(s.attach, a)
	return a, nil
}

// A Place is where a probe goes, and its cookie.
type Place struct{ Offset, Cookie uint64 }

// places returns where the probes of a library go.
func places(m *probes.Image) (entries, returns []Place) {
	for _, p := range m.Placements {
		at := Place{p.Offset, uint64(p.Probe.ID())}
		entries = append(entries, at)
		if p.Probe.NeedsReturn() {
			returns = append(returns, at)
		}
	}
	return entries, returns
}

// probe attaches prog at all places.
func (s *Session) probe(ex *link.Executable, a *Attachment, prog *ebpf.Program, at []Place, pid uint32, returns bool) error {
	if len(at) == 0 {
		return nil
	}
	if s.single {
		for _, p := range at {
			o := &link.UprobeOptions{Address: p.Offset, Cookie: p.Cookie, PID: int(pid)}
			attach := ex.Uprobe
			if returns {
				attach = ex.Uretprobe
			}
			l, err := attach("", prog, o)
			if err != nil {
				return err
			}
			a.links = append(a.links, l)
			a.Count++
		}
		return nil
	}
	o := &link.UprobeMultiOptions{}
	for _, p := range at {
		o.Addresses = append(o.Addresses, p.Offset)
		o.Cookies = append(o.Cookies, p.Cookie)
	}
	if s.filters {
		o.PID = pid // older kernels drop the events of other threads
	}
	attach := ex.UprobeMulti
	if returns {
		attach = ex.UretprobeMulti
	}
	l, err := attach(nil, prog, o)
	if err != nil {
		return err
	}
	a.links = append(a.links, l)
	a.Count += len(at)
	return nil
}

// A Target is where a Go program keeps what a walk of its stacks needs. The zero
// Target is that of a program of another language.
type Target struct {
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
		Text: t.Text, Etext: t.TextEnd, Tls: t.TLS, Known: uint16(bit(t.Known)),
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
	for _, m := range []*ebpf.Map{s.objs.Targets, s.objs.Books} {
		_ = m.Delete(pid) // it may not be there
	}
}

// Kind says what a Report is about.
type Kind uint8

const (
	Call   Kind = iota // Report.Raw
	Stack              // Raw.Stack is the number of Frames
	Exit               // the process is gone
	Exec               // the process is another program
	Marker             // Raw.Words are the arguments; Raw.Probe is 0 for Alloc, 1 for Free
)

// A Report is one thing that the programs saw.
type Report struct {
	Kind   Kind
	Raw    probes.Raw
	Frames []uint64 // valid until the next Read
	Walked bool     // the frames were taken from the goroutine
}

// ErrReport is in the chain of errors about a report that is not as it should be.
var ErrReport = errors.New("malformed report")

// Read waits for the next report and puts it into r. It returns false, and no error,
// when there is none for a while, so that the caller can do something else; and
// os.ErrClosed after Close.
func (s *Session) Read(r *Report) (bool, error) {
	s.reader.SetDeadline(time.Now().Add(s.poll))
	err := s.reader.ReadInto(&s.record)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return false, nil
	case errors.Is(err, ringbuf.ErrClosed):
		return false, os.ErrClosed
	case err != nil:
		return false, fmt.Errorf("bpf: read: %w", err)
	}
	return true, r.decode(s.record.RawSample)
}

// Patience sets how long Read waits for a report; 50 ms unless set. It is called by the
// goroutine that reads.
func (s *Session) Patience(d time.Duration) { s.poll = d }

// Waiting returns the bytes in the ring that were not read yet.
func (s *Session) Waiting() int { return s.reader.AvailableBytes() }

const (
	eventSize      = 56 + 8*probes.MaxWords
	stackEventSize = 32 + 8*maxFrames
	maxFrames      = 48
)

// decode takes a record of the ring apart. The layouts are those of the programs; a
// test compares them with the generated types.
func (r *Report) decode(b []byte) error {
	le := binary.LittleEndian
	if len(b) < 1 {
		return fmt.Errorf("bpf: read: %w: empty", ErrReport)
	}
	r.Kind, r.Frames = Kind(b[0]), r.Frames[:0]
	if r.Kind == Stack {
		if len(b) < stackEventSize {
			return fmt.Errorf("bpf: read: %w: %d bytes", ErrReport, len(b))
		}
		r.Walked = b[1] != 0
		n := min(int(le.Uint16(b[2:])), maxFrames)
		r.Raw = probes.Raw{PID: le.Uint32(b[4:]), TID: le.Uint32(b[8:]), Time: int64(le.Uint64(b[16:])), Stack: le.Uint64(b[24:])}
		for i := range n {
			r.Frames = append(r.Frames, le.Uint64(b[32+8*i:]))
		}
		return nil
	}
	if len(b) < eventSize || r.Kind > Marker {
		return fmt.Errorf("bpf: read: %w: kind %d of %d bytes", ErrReport, r.Kind, len(b))
	}
	r.Raw = probes.Raw{
		Phase: probes.Phase(b[1]), Probe: le.Uint16(b[2:]), PID: le.Uint32(b[4:]), TID: le.Uint32(b[8:]),
		Time: int64(le.Uint64(b[16:])), Begin: int64(le.Uint64(b[24:])), Ret: le.Uint64(b[32:]),
		Stack: le.Uint64(b[40:]), Goroutine: le.Uint64(b[48:]),
	}
	for i := range r.Raw.Words {
		r.Raw.Words[i] = le.Uint64(b[56+8*i:])
	}
	return nil
}

// A Ledger is what the programs counted of one process.
type Ledger struct {
	Bytes      uint64 // asked for in successful calls that name a size
	Allocs     uint64 // successful calls that allocate
	Frees      uint64 // calls that free, less those that failed
	Failures   uint64 // calls that failed
	Hits       uint64 // of all probes
	LostRing   uint64 // reports for which the ring had no room
	LostCalls  uint64 // calls of threads for which there was no room
	LostStacks uint64 // stacks reported later, for the ring had no room
	Walks      uint64 // stacks taken from the goroutine
	Unwalked   uint64 // Go stacks that neither way could take
}

// Ledgers returns the books of all processes, by process.
func (s *Session) Ledgers() (map[uint32]Ledger, error) {
	all := make(map[uint32]Ledger)
	var pid uint32
	var l watchLedger
	it := s.objs.Books.Iterate()
	for it.Next(&pid, &l) {
		all[pid] = ledger(&l)
	}
	if err := it.Err(); err != nil && !errors.Is(err, ebpf.ErrIterationAborted) {
		return all, fmt.Errorf("bpf: ledgers: %w", err)
	}
	return all, nil
}

// LedgerOf returns the books of one process, all zero if it has none.
func (s *Session) LedgerOf(pid uint32) Ledger {
	var l watchLedger
	if err := s.objs.Books.Lookup(pid, &l); err != nil {
		return Ledger{}
	}
	return ledger(&l)
}

func ledger(l *watchLedger) Ledger {
	return Ledger{
		Bytes: l.Bytes, Allocs: l.Allocs, Frees: l.Frees, Failures: l.Failures, Hits: l.Hits,
		LostRing: l.LostRing, LostCalls: l.LostCalls, LostStacks: l.LostStacks, Walks: l.Walks, Unwalked: l.Unwalked,
	}
}

// Hits returns how often each probe was hit, by its ID.
func (s *Session) Hits() ([]uint64, error) {
	hits := make([]uint64, len(probes.All()))
	for i := range hits {
		if err := s.objs.Hits.Lookup(uint32(i), &hits[i]); err != nil {
			return nil, fmt.Errorf("bpf: hits: %w", err)
		}
	}
	return hits, nil
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
func NeedsNoRights() bool { return kernelAtLeast(6, 0) }

// kernelAtLeast reports whether the running kernel is of the version or later.
func kernelAtLeast(major, minor int) bool {
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
