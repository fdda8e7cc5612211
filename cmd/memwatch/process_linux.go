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
			if l := probes.LibraryOf(filepath.Base(m.Name)); l != nil && !l.Above {
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

// inspect reads all tables of a process, which may keep them from being opened for as long as there is
// patience.
func inspect(ctx context.Context, pid int) (*processRow, error) {
	type answer struct {
		tables  *procfs.Tables
		command string
		age     time.Duration
		err     error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() { done <- a }()
		p, err := openProcess(pid)
		if err != nil {
			a.err = err
			return
		}
		defer p.Close()
		if a.tables, a.err = p.Tables(); a.err != nil {
			return
		}
		a.command = p.Command()
		if start := procfs.StartBoot(pid); start > 0 {
			a.age = time.Duration(procfs.SinceBoot() - start)
		}
	}()
	var a answer
	select {
	case a = <-done:
	case <-time.After(patience):
		return nil, errStuck
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if a.err != nil {
		return nil, a.err
	}
	defer a.tables.Close()
	all, err := a.tables.Read()
	if err != nil {
		return nil, err
	}
	row := newProcessRow(pid, a.command, all)
	row.age = a.age
	return row, nil
}
