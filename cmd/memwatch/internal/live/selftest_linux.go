//go:build linux && (amd64 || arm64)

package live

import (
	"fmt"
	"os"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/symbols"
	"github.com/lastuse/lastuse/internal/probe"
)

// SelfTest probes the two markers in this very program, calls each n times, and
// returns how many calls were seen and what a call cost. The kernel accepts probes
// that then never run, so that only counting tells.
func SelfTest(n int) (seen uint64, perCall time.Duration, err error) {
	s, err := bpf.Open(bpf.Options{NoStacks: true, Ring: 1 << 20})
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	self, err := symbols.OpenProcess(os.Getpid(), new(symbols.Cache))
	if err != nil {
		return 0, 0, err
	}
	defer self.Close()
	var at [2]uint64
	alloc, free := probe.Markers()
	for i, pc := range []uintptr{alloc, free} {
		var ok bool
		if at[i], ok = self.FileOffset(uint64(pc)); !ok {
			return 0, 0, fmt.Errorf("live: self-test: no mapping of %#x", pc)
		}
	}
	if _, err := s.AttachMarkers("/proc/self/exe", bpf.Markers{Alloc: at[0], Free: at[1]}, uint32(os.Getpid())); err != nil {
		return 0, 0, err
	}
	start := time.Now()
	for range n {
		probe.Alloc(0, 0, 0, 0)
		probe.Free(0, 0, 0, 0, probe.Explicit)
	}
	took := time.Since(start)
	return s.LedgerOf(uint32(os.Getpid())).Hits, took / time.Duration(2*n), nil
}
