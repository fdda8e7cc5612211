package cuda

import (
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

// Transfer enqueues a copy between device memory and page-locked memory.
func (b *base) Transfer(s uintptr, p alloc.Ptr, host unsafe.Pointer, n int64, in bool) error {
	var err error
	if in {
		err = b.ctx.MemcpyHtoDCaptured(uintptr(p), uintptr(host), n, s)
	} else {
		err = b.ctx.MemcpyDtoHCaptured(uintptr(host), uintptr(p), n, s)
	}
	if err != nil {
		return b.work(err)
	}
	return nil
}
