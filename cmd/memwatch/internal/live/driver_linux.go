//go:build linux && (amd64 || arm64)

package live

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// What the driver itself counts for a process holds what no argument of a call shows:
// contexts, code, what kernels allocate. NVIDIA's tool tells it; its library is one of C,
// for which memwatch would have to be, too.
const (
	askDriver    = 10 * time.Second // between two questions
	driverAnswer = 5 * time.Second  // how long an answer may take
	maxAnswer    = 1 << 20          // bytes
)

// driverTools are the places of the tool. What is on somebody's PATH is not run.
var driverTools = []string{"/usr/bin/nvidia-smi", "/usr/local/nvidia/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"}

// driverTool returns where the tool is, "" if it is not.
func driverTool() string {
	for _, path := range driverTools {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// used asks the tool for the bytes of each process on all devices.
func used(ctx context.Context, tool string) (map[uint32]uint64, error) {
	ctx, stop := context.WithTimeout(ctx, driverAnswer)
	defer stop()
	cmd := exec.CommandContext(ctx, tool, "--query-compute-apps=pid,used_gpu_memory", "--format=csv,noheader,nounits")
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &limited{&out}
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return parseUsed(out.String()), nil
}

// parseUsed reads lines of a process's number and MiB. Other lines are passed over.
func parseUsed(text string) map[uint32]uint64 {
	all := make(map[uint32]uint64)
	for line := range strings.Lines(text) {
		a, b, _ := strings.Cut(line, ",")
		pid, err1 := strconv.ParseUint(strings.TrimSpace(a), 10, 32)
		mib, err2 := strconv.ParseUint(strings.TrimSpace(b), 10, 24)
		if err1 == nil && err2 == nil {
			all[uint32(pid)] += mib << 20
		}
	}
	return all
}

// A limited writer takes what fits and forgets the rest.
type limited struct{ b *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	l.b.Write(p[:min(len(p), maxAnswer-l.b.Len())])
	return len(p), nil
}

// askInTurn asks what the driver counts, every now and then until ctx is done, while some
// process uses its library.
func (w *Watcher) askInTurn(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if w.driven.Load() {
			if all, err := used(ctx, w.tool); err == nil { // else the figure stays away
				select {
				case w.answers <- all:
				case <-ctx.Done():
				}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// takeAnswer hands out what the driver counts, if that is known anew.
func (w *Watcher) takeAnswer() {
	select {
	case all := <-w.answers:
		now := Clock()
		for pid, bytes := range all {
			if w.processes[pid] != nil {
				w.sink(&heap.Event{Op: heap.Used, PID: pid, Time: now, Size: bytes})
			}
		}
	default:
	}
}
