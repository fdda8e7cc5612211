package mapping

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An Event is a mapping of code, or with Exec set the start of another program in a process.
type Event struct {
	PID  int    // as the caller's PID namespace numbers it
	Name string // of the file, without its folder; of a program what the process is called
	Exec bool
}

// A Listener hears of all processes. Next is called by one goroutine, and not once Close has been; Interrupt
// by any.
type Listener struct {
	rings []*ring
	epoll int
	bell  int // an eventfd that ends Next
	found []Event
}

const (
	// pages are those of one processor's ring, a power of two: room for 150 events.
	pages = 4

	// pause is how long what is told is left to gather, so that many programs that start at once wake the
	// Listener no more than 100 times a second.
	pause = 10 * time.Millisecond
)

// Open begins to listen. It fails where the kernel or the caller's rights forbid it.
func Open() (*Listener, error) {
	l := &Listener{epoll: -1, bell: -1}
	if err := l.open(); err != nil {
		l.Close()
		return nil, fmt.Errorf("mapping: %w", err)
	}
	return l, nil
}

func (l *Listener) open() (err error) {
	cpus, err := online("/sys/devices/system/cpu/online")
	if err != nil {
		return err
	}
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	if l.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	fds := []int{l.bell}
	for _, cpu := range cpus {
		r, err := openRing(cpu)
		if errors.Is(err, unix.ENODEV) {
			continue // it was taken away
		}
		if err != nil {
			return err
		}
		l.rings = append(l.rings, r)
		fds = append(fds, r.fd)
	}
	for _, fd := range fds {
		if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
			return fmt.Errorf("epoll: %w", err)
		}
	}
	return nil
}

// online returns the processors that a file lists, as in 0-3,8.
func online(path string) (cpus []int, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for part := range strings.SplitSeq(strings.TrimSpace(string(b)), ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, e := strconv.Atoi(to)
		if err != nil || e != nil {
			return nil, fmt.Errorf("processors: %q is no list", b)
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// Next waits for events. Lost says that there were more than there was room for. The events are good until
// the next call. After Interrupt it returns os.ErrClosed.
func (l *Listener) Next() (events []Event, lost bool, err error) {
	var ready [16]unix.EpollEvent
	n, err := unix.EpollWait(l.epoll, ready[:], -1)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return nil, false, fmt.Errorf("mapping: epoll: %w", err)
	}
	for _, e := range ready[:max(n, 0)] {
		if int(e.Fd) == l.bell {
			return nil, false, os.ErrClosed
		}
	}
	time.Sleep(pause)
	l.found = l.found[:0]
	for _, r := range l.rings {
		lost = r.read(l.add) || lost
	}
	return l.found, lost, nil
}

// add takes one record.
func (l *Listener) add(kind uint32, misc uint16, body []byte) {
	const mmap2Name, commName = 64, 8 // where names begin
	var e Event
	switch {
	case kind == unix.PERF_RECORD_MMAP2 && len(body) > mmap2Name:
		e.Name = filepath.Base(text(body[mmap2Name:]))
	case kind == unix.PERF_RECORD_COMM && misc&unix.PERF_RECORD_MISC_COMM_EXEC != 0 && len(body) > commName:
		e.Name, e.Exec = text(body[commName:]), true
	default:
		return
	}
	if e.PID = int(int32(order.Uint32(body))); e.PID > 0 { // others are of another namespace
		l.found = append(l.found, e)
	}
}

// Interrupt has Next return. It may be called by any goroutine, until Close.
func (l *Listener) Interrupt() {
	one := uint64(1)
	_, _ = unix.Write(l.bell, (*[8]byte)(unsafe.Pointer(&one))[:]) // it is full only if it has rung already
}

// Close ends listening.
func (l *Listener) Close() {
	for _, r := range l.rings {
		r.close()
	}
	for _, fd := range []int{l.epoll, l.bell} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
