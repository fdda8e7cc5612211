package alloc

import (
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// The processor that a thread is bound to is the one it is said to run on.
func TestCPU(t *testing.T) {
	type set [128]uint64
	affinity := func(call uintptr, s *set) bool {
		_, _, errno := syscall.RawSyscall(call, 0, unsafe.Sizeof(*s), uintptr(unsafe.Pointer(s)))
		return errno == 0
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all set
	if !affinity(syscall.SYS_SCHED_GETAFFINITY, &all) {
		t.Skip("the system does not say which processors there are")
	}
	defer affinity(syscall.SYS_SCHED_SETAFFINITY, &all)
	for n := range 64 * len(all) {
		if all[n/64]>>(n%64)&1 == 0 {
			continue
		}
		var one set
		one[n/64] = 1 << (n % 64)
		if !affinity(syscall.SYS_SCHED_SETAFFINITY, &one) {
			continue
		}
		if got := cpu(); got != -1 { // some sandboxes hide the number
			assert.Equal(t, n, got)
		}
	}
}
