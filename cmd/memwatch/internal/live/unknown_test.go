//go:build linux && amd64

package live

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/symbols"
)

// TestUnknownProgram has a Go program call the driver before the probes were told what it is, as its first
// calls are made: its stacks lead from the thread's own into the goroutine's all the same.
func TestUnknownProgram(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	exe, lib := app(t)
	f, err := os.Open(lib)
	require.NoError(t, err)
	defer f.Close()
	m, err := probes.ReadImage(f, probes.LibraryOf("libcuda.so"))
	require.NoError(t, err)
	s, err := bpf.Open(bpf.Options{})
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Attach(lib, m, 0)
	require.NoError(t, err)
	prog := start(t, exe)
	prog.step(t)
	p, err := symbols.OpenProcess(prog.Process.Pid, new(symbols.Cache))
	require.NoError(t, err)
	info, bias := p.Go()
	require.NotNil(t, info)
	stacks, through := 0, 0
	for r := (bpf.Report{}); ; {
		ok, err := s.Read(&r)
		require.NoError(t, err)
		if !ok && s.Waiting() == 0 {
			break
		}
		if !ok || r.Kind != bpf.Stack || int(r.Raw.PID) != prog.Process.Pid {
			continue
		}
		stacks++
		goes := 0
		for _, pc := range r.Frames {
			if pc >= info.Text+bias && pc < info.TextEnd+bias {
				goes++
			}
		}
		if goes > 2 { // behind the one that leaves for C
			through++
		}
	}
	require.NotZero(t, through, "of %d stacks", stacks)
}
