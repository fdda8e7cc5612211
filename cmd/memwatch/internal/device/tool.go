package device

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	toolAnswer = 5 * time.Second // how long an answer may take
	maxAnswer  = 1 << 20         // bytes
)

// toolPlaces are where nvidia-smi is. What is on somebody's PATH is not run.
var toolPlaces = []string{"/usr/bin/nvidia-smi", "/usr/local/nvidia/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"}

type tool struct {
	path  string
	child atomic.Int64
}

func openTool() (Source, bool) {
	for _, path := range toolPlaces {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return &tool{path: path}, true
		}
	}
	return nil, false
}

func (t *tool) Name() string { return "nvidia-smi" }
func (t *tool) Child() int   { return int(t.child.Load()) }
func (t *tool) Close()       {}

// Read asks for the devices, and then for what their processes use.
func (t *tool) Read(ctx context.Context) ([]Device, error) {
	ctx, stop := context.WithTimeout(ctx, toolAnswer)
	defer stop()
	devices, err := t.ask(ctx, "--query-gpu=index,uuid,memory.total,memory.used,utilization.gpu,name")
	if err != nil {
		return nil, err
	}
	processes, err := t.ask(ctx, "--query-compute-apps=gpu_uuid,pid,used_gpu_memory")
	if err != nil {
		return nil, err
	}
	return parseTool(devices, processes), nil
}

func (t *tool) ask(ctx context.Context, query string) (string, error) {
	cmd := exec.CommandContext(ctx, t.path, query, "--format=csv,noheader,nounits")
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &limited{&out}
	err := cmd.Start()
	if err == nil {
		t.child.Store(int64(cmd.Process.Pid))
		err = cmd.Wait()
		t.child.Store(0)
	}
	if err != nil {
		return "", fmt.Errorf("device: nvidia-smi: %w", err)
	}
	return out.String(), nil
}

// parseTool reads lines of devices and of processes, with memory in MiB. Other lines are passed over.
func parseTool(devices, processes string) (all []Device) {
	byUUID := make(map[string]int)
	for line := range strings.Lines(devices) {
		f := strings.SplitN(strings.TrimSpace(line), ", ", 6)
		if len(f) != 6 || len(all) == maxDevices {
			continue
		}
		index, err1 := strconv.ParseUint(f[0], 10, 16)
		total, err2 := strconv.ParseUint(f[2], 10, 32)
		used, err3 := strconv.ParseUint(f[3], 10, 32)
		if err1 != nil || err2 != nil || err3 != nil {
			continue
		}
		d := Device{Index: int(index), Name: f[5][:min(len(f[5]), maxName)], Total: total << 20, Used: used << 20, Busy: -1, Processes: map[uint32]uint64{}}
		if n, err := strconv.ParseUint(f[4], 10, 7); err == nil {
			d.Busy = int(n)
		}
		byUUID[f[1]] = len(all)
		all = append(all, d)
	}
	for line := range strings.Lines(processes) {
		f := strings.SplitN(strings.TrimSpace(line), ", ", 3)
		if len(f) != 3 {
			continue
		}
		i, ok := byUUID[f[0]]
		pid, err1 := strconv.ParseUint(f[1], 10, 32)
		used, err2 := strconv.ParseUint(f[2], 10, 24)
		if ok && err1 == nil && err2 == nil && len(all[i].Processes) < maxProcesses {
			all[i].Processes[uint32(pid)] += used << 20
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
