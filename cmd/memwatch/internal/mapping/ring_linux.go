package mapping

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

var order = binary.NativeEndian

// A ring is the kernel's event of one processor and the memory into which it writes.
type ring struct {
	fd   int
	all  []byte
	head *uint64 // how much was written since the beginning; the kernel's
	tail *uint64 // how much was read; ours
	data []byte  // a power of two
	buf  []byte  // of a record that goes over the end of data
}

func openRing(cpu int) (*ring, error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Bits:   unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitWatermark | unix.PerfBitExcludeKernel,
		Wakeup: 1,
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open: %w", err)
	}
	page := os.Getpagesize()
	all, err := unix.Mmap(fd, 0, (1+pages)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("perf ring: %w", err)
	}
	first := (*unix.PerfEventMmapPage)(unsafe.Pointer(&all[0]))
	return &ring{fd: fd, all: all, head: &first.Data_head, tail: &first.Data_tail, data: all[page:]}, nil
}

// read hands out what was written, and reports whether something found no room.
func (r *ring) read(record func(kind uint32, misc uint16, body []byte)) (lost bool) {
	const header = 8
	head, tail := atomic.LoadUint64(r.head), *r.tail
	defer func() { atomic.StoreUint64(r.tail, tail) }()
	for head-tail >= header {
		at := r.at(tail, header)
		kind, misc, size := order.Uint32(at), order.Uint16(at[4:]), uint64(order.Uint16(at[6:]))
		if size < header || size > head-tail {
			tail = head // which the kernel does not write
			return true
		}
		if kind == unix.PERF_RECORD_LOST {
			lost = true
		} else {
			record(kind, misc, r.at(tail, size)[header:])
		}
		tail += size
	}
	return lost
}

// at returns n bytes that were written at an offset, good until the next call.
func (r *ring) at(offset, n uint64) []byte {
	begin := offset % uint64(len(r.data))
	if begin+n <= uint64(len(r.data)) {
		return r.data[begin : begin+n]
	}
	r.buf = append(r.buf[:0], r.data[begin:]...)
	r.buf = append(r.buf, r.data[:n-uint64(len(r.buf))]...)
	return r.buf
}

func (r *ring) close() {
	_ = unix.Munmap(r.all)
	unix.Close(r.fd)
}

// text returns what stands before the first zero byte.
func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}
