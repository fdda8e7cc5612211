package books

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/internal/probe"
)

// A mapping is the shared memory of a table.
type mapping struct {
	base unsafe.Pointer
	size int64 // bytes
	fd   int
}

// maxMappings bounds how many mappings this process has at once. Each takes a
// descriptor, and dropped books give theirs back only when the collector finds them: a program that
// makes books by the thousand, as a test of pools may, must not run out of descriptors for its
// own files. Readers look at so many as well.
const maxMappings = 256

// mappings counts them. It is the process's, as descriptors are.
var mappings atomic.Int64

// errMappings is the reason why books are kept on the Go heap.
var errMappings = errors.New("books: table: there are too many in this process")

// mapTable makes a shared mapping of size bytes, all zero, that shows under
// [probe.Name] in the process's maps.
func mapTable(size int64) (m mapping, err error) {
	if mappings.Add(1) > maxMappings {
		mappings.Add(-1)
		return mapping{}, errMappings
	}
	defer func() {
		if err != nil {
			mappings.Add(-1)
		}
	}()
	fd, err := unix.MemfdCreate(probe.Name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return mapping{}, fmt.Errorf("books: table: memfd_create: %w", err)
	}
	if err := unix.Ftruncate(fd, size); err != nil {
		unix.Close(fd)
		return mapping{}, fmt.Errorf("books: table: %w", err)
	}
	base, err := unix.MmapPtr(fd, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return mapping{}, fmt.Errorf("books: table: mmap: %w", err)
	}
	// Nobody shall shrink the table under us, nor write to it: this mapping is the last
	// one that may. Kernels that do not know a seal leave the table as useful as it was.
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_FUTURE_WRITE|unix.F_SEAL_SEAL)
	// The descriptor stays open: through it another program of the same user may read
	// the table where the right to trace processes is restricted.
	return mapping{base: base, size: size, fd: fd}, nil
}

// release gives the mapping back. Nothing may refer to it any more.
func (m mapping) release() {
	_ = unix.MunmapPtr(m.base, uintptr(m.size))
	_ = unix.Close(m.fd)
	mappings.Add(-1)
}
