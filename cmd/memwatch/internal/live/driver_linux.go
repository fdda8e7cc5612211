//go:build linux && (amd64 || arm64)

package live

import (
	"context"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/device"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// What the driver itself counts holds what no argument of a call shows: contexts, code, what kernels
// allocate, other processes. It is asked in a goroutine of its own, for it answers when it likes.
const (
	askLibrary = time.Second      // between two questions to a library
	askTool    = 10 * time.Second // to a program, which takes longer
)

// askInTurn asks what devices hold, every now and then until ctx is done.
func (w *Watcher) askInTurn(ctx context.Context) {
	source, err := w.devices()
	if err != nil {
		w.noteDevices(err.Error())
		return
	}
	defer source.Close()
	w.source.Store(&source)
	every := askTool
	if source.Name() == "NVML" {
		every = askLibrary
	}
	for {
		all, err := source.Read(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.noteDevices(err.Error())
		} else {
			w.noteDevices("")
			select {
			case w.answers <- all:
				w.nudge()
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return
		}
	}
}

// noteDevices notes why devices are not known, or that they are.
func (w *Watcher) noteDevices(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noDevices = why
}

// NoDevices says why it is not known what devices hold, "" if it is. It may be called by any goroutine.
func (w *Watcher) NoDevices() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.noDevices
}

// userOf is a process on a device.
type userOf struct {
	pid    uint32
	device int32
}

// answered hands out what devices hold, and what of that is of the processes that are watched.
func (w *Watcher) answered(all []device.Device) {
	now := Clock()
	users := make(map[userOf]bool)
	for _, d := range all {
		e := heap.Event{Op: heap.GPU, Time: now, Device: int32(d.Index), Text: d.Name, Addr: d.Total, Size: d.Used, Aux: uint64(d.Busy)}
		w.sink(&e) // a load that is not known is more than 100
		for pid, bytes := range d.Processes {
			if w.processes[pid] == nil || w.nested { // by the machine's numbers it would be another
				continue
			}
			u := userOf{pid, int32(d.Index)}
			users[u] = true
			w.sink(&heap.Event{Op: heap.Used, PID: pid, Time: now, Device: u.device, Size: bytes})
		}
	}
	for u := range w.users {
		if !users[u] && w.processes[u.pid] != nil { // it has left the device
			w.sink(&heap.Event{Op: heap.Used, PID: u.pid, Time: now, Device: u.device})
		}
	}
	w.users = users
}
