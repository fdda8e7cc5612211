//go:build linux && (amd64 || arm64)

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/live"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/record"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// watch watches processes as they run.
func (c *config) watch(ctx context.Context) (int, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var child *child
	pids := c.pids
	if c.command == "run" {
		var err error
		if child, err = startStopped(c.args); err != nil {
			return exitError, err
		}
		defer child.end()
		pids = []int{child.pid}
	}
	scan := time.Second
	if child != nil {
		scan = 20 * time.Millisecond // it loads its library any moment
	}
	o := live.Options{PIDs: pids, Libraries: c.libraries, Ring: c.ring, NoStacks: c.noStacks, NoBlocks: c.noBlocks, Copies: copiesOf[c.stacks], Single: c.single, Scan: scan, Tables: min(c.delay, 500*time.Millisecond), Fresh: child != nil}
	if err := c.prepare(); err != nil {
		return exitError, err
	}
	giving := mayGiveUp && hasRights() && bpf.NeedsNoRights()
	if giving && c.command != "run" && len(pids) > 0 {
		o.Settled = func() { c.giveUpAll(pids) }
	}
	w, limits, err := c.watcher(o)
	if err != nil {
		return exitError, c.explain(err)
	}
	defer w.Close()
	if child != nil {
		child.ending = func() { w.Keep(child.pid) }
	}
	s := newSession("live", heap.Options{Blank: len(pids) > 0})
	s.limits = limits
	s.clock = live.Clock
	s.wall = time.Now().UnixNano() - live.Clock()
	s.hits = func() map[string]uint64 { return hitsByName(w) }
	s.noDevices = w.NoDevices
	if child != nil {
		s.missed = w.Missed
	}
	if c.command == "record" {
		if s.writer, err = record.Create(c.args[0], c.limit, record.Header{Wall: s.wall, Tool: "memwatch"}); err != nil {
			return exitError, err
		}
	}
	// A program that root runs as root is signalled and waited for as root.
	asRoot := child != nil && os.Geteuid() == 0 && os.Getenv("SUDO_UID") == ""
	if giving && o.Settled == nil && !asRoot {
		stop, err := startHelper(w)
		if err == nil {
			defer stop()
			err = giveUp()
		}
		if err != nil {
			fmt.Fprintf(c.wErr, "memwatch: %s\n", render.Clean(err.Error()))
		}
	}
	if c.span > 0 && (c.command == "record" || c.command == "serve") {
		timeout, stop := context.WithTimeout(ctx, c.span)
		defer stop()
		ctx = timeout
	}
	over := make(chan error, 1)
	running, halt := context.WithCancel(ctx)
	defer halt()
	go func() {
		err := w.Run(running, s.apply, s.flush)
		s.finish("all processes have ended")
		over <- err
	}()
	code, err := c.follow(ctx, s, child, w.Ready(), over)
	halt()
	if e := <-over; err == nil && e != nil {
		code, err = exitError, e
	}
	for _, l := range w.Libraries() {
		if l.Err != nil {
			fmt.Fprintf(c.wErr, "memwatch: %s\n", render.Clean(fmt.Sprintf("%s: not probed: %v", l.Path, l.Err)))
		}
	}
	c.sayNotes(s.snapshot(heap.Query{NoSites: true}))
	if s.writer != nil {
		if e := s.writer.Close(); e != nil {
			return exitError, e
		}
		fmt.Fprintf(c.wErr, "memwatch: %d events in %s\n", s.writer.Count(), render.Clean(c.args[0]))
	}
	return code, err
}

// sayNotes says what of processes was not shown as it might be, and why.
func (c *config) sayNotes(s *heap.Snapshot) {
	for i := range s.Processes {
		for _, note := range s.Processes[i].Notes {
			fmt.Fprintf(c.wErr, "memwatch: %s\n", render.Clean(fmt.Sprintf("process %d: %s", s.Processes[i].PID, note)))
		}
	}
}

// copiesOf are the copies of stacks that each way of walking them takes.
var copiesOf = map[string]bpf.Copies{stacksAuto: bpf.NeededCopies, stacksFP: bpf.NoCopies, stacksDWARF: bpf.AllCopies}

// ownTables says what is seen without rights, and what they would add, in a line of 80 columns.
const ownTables = "tables of your programs only; rights add driver calls and other users' programs"

// watcher returns a watcher with probes. Where they are not to be had, one that reads tables alone is better
// than none: of the processes asked for, or where rights are missing of all that the caller may look at, if
// they are only to be shown. Limits says then what is not seen.
func (c *config) watcher(o live.Options) (w *live.Watcher, limits string, err error) {
	w, err = live.New(o)
	if err == nil || c.driver || errors.Is(err, live.ErrLibrary) || errors.Is(err, os.ErrNotExist) ||
		errors.Is(err, os.ErrProcessDone) {
		return w, "", err
	}
	limits = fmt.Sprintf("calls of the driver are not watched, only tables are read (%s)", reason(err))
	if len(o.PIDs) == 0 {
		shown := slices.Contains([]string{"", "top", "serve"}, c.command) && c.failOver < 0
		if !shown || len(o.Libraries) > 0 || checkRights().ok {
			return nil, "", err
		}
		limits = ownTables
	}
	o.NoProbes = true
	tables, failed := live.New(o)
	if failed != nil {
		return nil, "", err
	}
	fmt.Fprintf(c.wErr, "memwatch: %s; 'memwatch check' tells what is missing\n", render.Clean(limits))
	return tables, limits, nil
}

// giveUpAll gives up all rights when the probes are there. What is read of the
// processes later is opened before.
func (c *config) giveUpAll(pids []int) {
	for _, pid := range pids {
		_ = procfs.Hold(pid) // one that is gone has no mappings to look at
	}
	if err := giveUp(); err != nil {
		fmt.Fprintf(c.wErr, "memwatch: %s\n", render.Clean(err.Error()))
	}
}

// reason returns the innermost error of a chain, which says why in a few words.
func reason(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// follow shows the session until it is over. What it takes from over it puts back.
func (c *config) follow(ctx context.Context, s *session, child *child, ready <-chan struct{}, over chan error) (int, error) {
	switch {
	case child != nil:
		<-ready
		status := child.run(ctx)
		awaitOver(over, 5*time.Second)
		code, err := c.print(s)
		if err == nil && status != nil {
			return exitError, fmt.Errorf("%s: %w", c.args[0], status)
		}
		return code, err
	case c.command == "record":
		select {
		case <-ctx.Done():
		case err := <-over:
			over <- err
		}
		return exitOK, nil
	case c.command == "serve":
		return c.serve(ctx, s)
	case c.interactive():
		return c.screen(ctx, s)
	}
	// What is printed is what was seen in the time until then. Who prints again and again begins soon.
	again := c.count != 1 && !c.once && c.span == 0 && (c.count > 0 || !slices.Contains([]string{"sites", "leaks", "top"}, c.command))
	span := cmp.Or(c.span, c.delay)
	if again {
		span = min(span, soon)
	}
	for i := 1; ; i++ {
		ended := false
		select {
		case <-ctx.Done():
			ended = true
		case err := <-over:
			over <- err
			ended = true
		case <-time.After(span):
		}
		code, err := c.print(s)
		if ended || err != nil || !again || i == c.count {
			return code, err
		}
		span = c.delay
	}
}

// soon is when the first of many prints comes.
const soon = 50 * time.Millisecond

// awaitOver waits for what comes on over and puts it back.
func awaitOver(over chan error, patience time.Duration) {
	select {
	case err := <-over:
		over <- err
	case <-time.After(patience):
	}
}

// explain adds to an error what helps.
func (c *config) explain(err error) error {
	if errors.Is(err, live.ErrLibrary) {
		return err
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("%w; probes need root, or CAP_BPF and CAP_PERFMON; 'memwatch check' tells what is missing, 'memwatch demo' needs no rights", err)
	}
	if (errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrProcessDone)) && len(c.pids) > 0 {
		return fmt.Errorf("%w: %w", procfs.ErrGone, err)
	}
	return fmt.Errorf("%w; 'memwatch check' tells what is missing, 'memwatch demo' needs nothing", err)
}

func hitsByName(w *live.Watcher) map[string]uint64 {
	hits, err := w.Hits()
	if err != nil {
		return nil
	}
	all := make(map[string]uint64)
	for i, n := range hits {
		if n > 0 {
			all[probes.All()[i].Symbol] = n
		}
	}
	return all
}

// isTerminal reports whether f is a terminal.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
