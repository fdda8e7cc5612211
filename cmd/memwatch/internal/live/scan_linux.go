//go:build linux && (amd64 || arm64)

package live

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/symbols"
)

// places probes libraries where systems keep them, and those asked for, so that
// programs that start later are seen from their first call.
func (w *Watcher) places() {
	var dirs []string
	for _, d := range []string{"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib",
		"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/local/cuda/compat", "/usr/lib/wsl/lib", "/opt/rocm/lib"} {
		dirs = append(dirs, d, filepath.Join(d, "nvidia/current"))
	}
	var paths []string
	for _, l := range probes.Libraries() {
		for _, f := range l.Files {
			for _, d := range dirs {
				more, _ := filepath.Glob(filepath.Join(d, f+".*"))
				paths = append(paths, more...)
			}
		}
	}
	for _, path := range append(paths, w.opts.Libraries...) {
		l := probes.LibraryOf(filepath.Base(path))
		if l == nil {
			continue
		}
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		f := os.NewFile(uintptr(fd), path)
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			w.attach(f, l, path)
		}
		f.Close()
	}
}

// Keep opens the tables that a process has now, so that they can be read when it has
// ended. It may be called by any goroutine.
func (w *Watcher) Keep(pid int) { w.resolver.shelf.keep(uint32(pid)) }

// Look looks for libraries in the mappings of processes, as Run does by itself.
func (w *Watcher) Look() { w.scan() }

// scan looks for libraries in the mappings of processes.
func (w *Watcher) scan() {
	pids := w.opts.PIDs
	if len(pids) == 0 {
		pids = allPIDs()
	}
	for _, pid := range pids {
		f, err := procfs.Maps(pid)
		if err != nil {
			continue
		}
		maps, err := symbols.ParseMaps(f)
		f.Close()
		if err != nil {
			continue
		}
		uses := false
		tables := false
		for i := range maps {
			m := &maps[i]
			if m.Offset == 0 && m.Base() == tableName {
				tables = true
				continue
			}
			l := probes.LibraryOf(m.Base())
			if l == nil || !m.Exec || w.session == nil {
				continue
			}
			uses = true
			if l.Name == cudaName {
				w.driven.Store(true)
			}
			if f, err := symbols.OpenMapped(pid, m); err == nil {
				w.attach(f, l, m.Path)
				f.Close()
			}
		}
		if (uses || tables) && w.processes[uint32(pid)] == nil {
			w.introduce(pid, Clock())
		}
		if p := w.processes[uint32(pid)]; tables && time.Since(p.polled) > pollTables {
			p.polled = time.Now()
			w.resolver.shelf.keep(uint32(pid))
			w.resolver.table(uint32(pid), Clock())
		}
	}
	w.bury()
}

// pollTables is the least time between two looks at a process's tables.
const pollTables = 500 * time.Millisecond

// burial is how long the report of a process's end is waited for.
const burial = 2 * time.Second

// bury ends the processes whose end no probe has reported: those that never called a
// driver, and those whose report was lost.
func (w *Watcher) bury() {
	for pid, p := range w.processes {
		if start, err := startTime(int(pid)); err == nil && start == p.start {
			p.gone = time.Time{}
			continue
		}
		if p.gone.IsZero() {
			p.gone = time.Now()
		}
		if time.Since(p.gone) < burial || w.waiting() > 0 { // the report may be on its way
			continue
		}
		w.ended(pid, Clock())
	}
}

// ended hands out the end of a process and forgets it.
func (w *Watcher) ended(pid uint32, now int64) {
	if p := w.processes[pid]; p != nil {
		if w.session != nil {
			w.auditOne(pid, w.session.LedgerOf(pid), now)
		}
		w.resolver.exit(heap.Event{Op: heap.Exit, PID: pid, TID: pid, Time: now, Size: p.start})
		delete(w.processes, pid)
	}
	if w.session != nil {
		w.session.Forget(pid)
	}
}

// attach probes a file unless it is probed already.
func (w *Watcher) attach(f *os.File, l *probes.Library, path string) {
	id, err := symbols.Identity(f)
	if _, known := w.libraries[id]; err != nil || known {
		return
	}
	lib := &Library{Name: l.Name, Path: path}
	w.mu.Lock()
	w.libraries[id] = nil // it is being attached to
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.libraries[id] = lib
		w.order = append(w.order, id)
		w.mu.Unlock()
	}()
	image, err := w.images.Read(f, l, id)
	if err != nil {
		lib.Err = err
		return
	}
	lib.Absent = len(image.Missing)
	for _, p := range image.Placements {
		if p.Cost == probes.Fast {
			lib.Fast++
		} else {
			lib.Slow++
		}
	}
	// With one process the kernel's own filter spares all others the probe.
	only := uint32(0)
	if len(w.opts.PIDs) == 1 {
		only = uint32(w.opts.PIDs[0])
	}
	begin := time.Now()
	n, err := w.session.AttachFile(f, image, only)
	if err != nil {
		lib.Err = err
		return
	}
	lib.Probes, lib.Took = n, time.Since(begin)
	w.attached = sinceBoot()
}
