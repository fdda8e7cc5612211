package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
)

var errStuck = errors.New("it does not answer")

// patience is how long a process may keep its files from being read.
const patience = 3 * time.Second

// A process is one running program, whose markers can be found.
type process struct{ *procfs.Process }

// openProcess opens a process by its number.
func openProcess(pid int) (*process, error) {
	p, err := procfs.Open(pid)
	if err != nil {
		return nil, err
	}
	return &process{p}, nil
}

// isRoot reports whether memwatch runs as root, with or without all of its rights.
func isRoot() bool { return os.Geteuid() == 0 }

// usesDriver returns the name of the first library of the kind that can be probed that
// a process has mapped, or "".
func usesDriver(pid int) string {
	p, err := procfs.Open(pid)
	if err != nil {
		return ""
	}
	defer p.Close()
	name := ""
	_, _ = p.Find(func(m *procfs.Mapped) bool { // an unreadable list holds no library
		if name == "" && m.Executable && m.Inode != 0 {
			if l := probes.LibraryOf(filepath.Base(m.Name)); l != nil {
				name = l.Name
			}
		}
		return false
	})
	return name
}

// useDriver reports whether a process asked for uses a library that can be probed.
func (c *config) useDriver() bool {
	return slices.ContainsFunc(c.pids, func(pid int) bool { return usesDriver(pid) != "" })
}

func pids() ([]int, error) { return procfs.PIDs() }

// inspect reads all tables of a process, for as long as it has patience.
func inspect(ctx context.Context, pid int) (*processRow, error) {
	type answer struct {
		row *processRow
		err error
	}
	done := make(chan answer, 1)
	go func() {
		p, err := openProcess(pid)
		if err != nil {
			done <- answer{err: err}
			return
		}
		defer p.Close()
		tables, err := p.Tables()
		if err != nil {
			done <- answer{err: err}
			return
		}
		row := newProcessRow(pid, p.Command(), tables)
		if start := procfs.StartBoot(pid); start > 0 {
			row.age = time.Duration(procfs.SinceBoot() - start)
		}
		done <- answer{row: row}
	}()
	select {
	case a := <-done:
		return a.row, a.err
	case <-time.After(patience):
		return nil, errStuck
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
