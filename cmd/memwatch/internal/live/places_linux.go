//go:build linux && (amd64 || arm64)

package live

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
)

// systemDirs are where systems keep drivers.
var systemDirs = []string{"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib",
	"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/local/cuda/compat", "/usr/lib/wsl/lib", "/opt/rocm/lib"}

// places probes the libraries asked for, those where systems keep them, and for a program that has not run
// yet those that it would find, so that programs are seen from their first call. What was asked for must be
// there.
func (w *Watcher) places() error {
	for _, path := range w.opts.Libraries {
		lib, err := w.place(path)
		if err == nil && lib == nil {
			err = fmt.Errorf("%s: no library that is known is called so (%v are)", path, fileNames())
		}
		if err == nil {
			err = lib.Err
		}
		if err != nil {
			return fmt.Errorf("live: %w: %w", ErrLibrary, err)
		}
	}
	found := &loader{}
	if w.opts.Fresh && len(w.opts.PIDs) > 0 {
		found = newLoader(w.opts.PIDs[0])
	}
	dirs := found.dirs
	for _, d := range systemDirs {
		dirs = append(dirs, d, filepath.Join(d, "nvidia/current"))
	}
	for _, paths := range found.cached {
		for _, path := range paths {
			_, _ = w.place(path) // as with those below, what is not there is not found by a program either
		}
	}
	for _, d := range dirs {
		f, err := os.Open(d)
		if err != nil {
			continue
		}
		names, _ := f.Readdirnames(-1)
		f.Close()
		slices.Sort(names)
		for _, name := range names {
			_, _ = w.place(filepath.Join(d, name))
		}
	}
	return nil
}

func fileNames() (all []string) {
	for _, l := range probes.Libraries() {
		all = append(all, l.Files...)
	}
	return all
}

// place probes the file at path if it is called like a library that is known, else it returns nil.
func (w *Watcher) place(path string) (*Library, error) {
	l := probes.LibraryOf(filepath.Base(path))
	if l == nil || l.Above && w.opts.NoBlocks {
		return nil, nil
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	return w.attach(f, l, path), nil
}
