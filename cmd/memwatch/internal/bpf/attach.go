//go:build linux && (amd64 || arm64)

package bpf

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
)

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
	single = single || !hasMulti()
	s := &Session{single: single, filters: !single && KernelAtLeast(6, 10)}
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
