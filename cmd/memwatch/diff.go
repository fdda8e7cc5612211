package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/record"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// diff prints what grew between two recordings or snapshots, and compares it with the limit.
func (c *config) diff() (int, error) {
	var snaps [2]*heap.Snapshot
	whole := true
	for i, name := range c.args {
		snap, note, err := c.load(name)
		if err != nil {
			return exitError, fmt.Errorf("diff: %w", err)
		}
		if note != "" {
			whole = false
			fmt.Fprintf(c.wErr, "memwatch: %s\n", render.Clean(name+": "+note))
		}
		snaps[i] = snap
	}
	d := heap.Diff(snaps[0], snaps[1])
	var err error
	switch c.format {
	case "json", "jsonl":
		err = render.DiffJSON(c.w, d, c.format == "json")
	default:
		err = render.Diff(c.w, d, render.Options{Wide: c.format == "wide", Bytes: c.bytes}, c.top)
	}
	if err != nil {
		return exitError, fmt.Errorf("write: %w", err)
	}
	if c.failOver >= 0 && d.Grown > c.failOver {
		return exitLimit, fmt.Errorf("grew by %s, more than the limit of %s", c.size(d.Grown), c.size(c.failOver))
	}
	return c.judge(0, 0, whole && !d.Inexact)
}

// load reads a snapshot from a file: one that was saved, or the end of a recording, or with "@" and a time
// behind its name how it was so long after its first event. Note says why it is not all that there was.
func (c *config) load(name string) (snap *heap.Snapshot, note string, err error) {
	var at time.Duration
	path, when, ok := cutLast(name, "@")
	if _, missing := os.Stat(name); ok && missing != nil {
		if at, err = time.ParseDuration(when); err != nil || at <= 0 {
			return nil, "", fmt.Errorf("%s: %q is no time after the first event, as in session@90s", path, when)
		}
		name = path
	}
	snap, err = loadSnapshot(name)
	if !errors.Is(err, render.ErrSnapshot) {
		if err == nil && at > 0 {
			err = fmt.Errorf("%s: a snapshot is of one time", name)
		}
		return c.only(snap), "", err
	}
	notSnapshot := err
	r, err := record.Open(name)
	var format *record.FormatError
	// it does not begin like either
	if errors.As(err, &format) && (format.Reason == "" || format.Offset < 7) {
		return nil, "", notSnapshot
	}
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	h := heap.New(heap.Options{})
	var e heap.Event
	for first := int64(-1); ; {
		err := r.Read(&e)
		if first < 0 {
			first = e.Time
		}
		if err == io.EOF || err == nil && at > 0 && e.Time-first > int64(at) {
			break
		}
		if err != nil {
			return nil, "", err
		}
		h.Apply(&e)
	}
	if r.Damage != nil {
		note = "the recording breaks off: " + r.Damage.Error()
	}
	return c.only(h.Snapshot(heap.Query{})), note, nil
}

// cutLast is strings.Cut at the last sep.
func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// loadSnapshot reads a snapshot that was saved. Only regular files are opened; a FIFO does not block.
func loadSnapshot(path string) (*heap.Snapshot, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	s, err := render.ReadJSON(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("%s: neither a recording nor a snapshot: %w", path, err)
	}
	return s, nil
}

// only leaves the processes of -p.
func (c *config) only(s *heap.Snapshot) *heap.Snapshot {
	if s != nil && len(c.pids) > 0 {
		s.Processes = slices.DeleteFunc(s.Processes, func(p heap.Process) bool { return !slices.Contains(c.pids, int(p.PID)) })
	}
	return s
}
