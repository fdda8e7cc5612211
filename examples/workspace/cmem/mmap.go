//go:build !cgo

package cmem

import (
	"syscall"
	"unsafe"
)

// Without a C compiler the memory comes from a mapping: still outside the Go
// heap, still unseen by the collector.
func allocate(size int) unsafe.Pointer {
	p, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return unsafe.Pointer(unsafe.SliceData(p))
}

func release(p unsafe.Pointer, size int) {
	if err := syscall.Munmap(unsafe.Slice((*byte)(p), size)); err != nil {
		panic("cmem: munmap: " + err.Error()) // the block did not come from allocate
	}
}
