package host

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Memory of the process outside the Go heap. Addresses without memory are mapped
// with no rights, so that a stray access faults instead of finding something.

const (
	anonymous = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE
	readWrite = unix.PROT_READ | unix.PROT_WRITE
)

// kept is what has to be remembered of memory to keep it: nothing.
type kept struct{}

// allocate returns size bytes of zeroed memory, aligned to a page.
func (kept) allocate(size int64) (uintptr, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), readWrite, anonymous)
	return uintptr(p), err
}

// free gives a range back, addresses included.
func (kept) free(p uintptr, size int64) error { return unix.MunmapPtr(pointer(p), uintptr(size)) }

// reserve takes a range of addresses whose start is a multiple of align.
func reserve(size, align int64) (uintptr, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size+align), unix.PROT_NONE, anonymous)
	if err != nil {
		return 0, err
	}
	at := (uintptr(p) + uintptr(align) - 1) &^ uintptr(align-1)
	if skip := at - uintptr(p); skip > 0 {
		unix.MunmapPtr(p, skip)
	}
	if rest := uintptr(p) + uintptr(align) - at; rest > 0 {
		unix.MunmapPtr(pointer(at+uintptr(size)), rest)
	}
	return at, nil
}

// back puts fresh memory behind reserved addresses.
func back(p uintptr, size int64) error {
	_, err := unix.MmapPtr(-1, 0, pointer(p), uintptr(size), readWrite, anonymous|unix.MAP_FIXED)
	return err
}

// unback takes the memory from behind addresses, which stay reserved.
func unback(p uintptr, size int64) error {
	_, err := unix.MmapPtr(-1, 0, pointer(p), uintptr(size), unix.PROT_NONE, anonymous|unix.MAP_FIXED)
	return err
}

// canMap says that the four above work.
const canMap = true

// pointer makes a pointer of an address outside the Go heap.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// machine returns the bytes of memory that are free and that there are in all.
func machine() (free, total int64, err error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, 0, err
	}
	unit := int64(info.Unit)
	return int64(info.Freeram+info.Bufferram) * unit, int64(info.Totalram) * unit, nil
}
