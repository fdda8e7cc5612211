//go:build !linux

package host

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"
)

// Elsewhere memory comes from the Go heap, kept alive here until it is freed, and
// addresses cannot be had without memory.

var errNoMapping = errors.New("mapping is not available on " + runtime.GOOS)

// kept holds what was allocated: the rest of the process sees only addresses.
type kept struct {
	mu  sync.Mutex
	all map[uintptr][]byte
}

func (k *kept) allocate(size int64) (uintptr, error) {
	raw := make([]byte, size+4096)
	p := (uintptr(unsafe.Pointer(&raw[0])) + 4095) &^ 4095
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = make(map[uintptr][]byte)
	}
	k.all[p] = raw
	return p, nil
}

func (k *kept) free(p uintptr, size int64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, p)
	return nil
}

const canMap = false

func reserve(size, align int64) (uintptr, error) { return 0, errNoMapping }
func back(p uintptr, size int64) error           { return errNoMapping }
func unback(p uintptr, size int64) error         { return errNoMapping }

func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// machine makes up a number: Go does not tell.
func machine() (free, total int64, err error) { return 8 << 30, 8 << 30, nil }
