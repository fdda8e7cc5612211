package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/demo"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/record"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/tui"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/web"
)

// query is what the flags ask of a snapshot.
func (c *config) query() heap.Query {
	q := heap.Query{Top: c.top, Older: c.older, Suspects: c.suspects || c.command == "leaks" && c.failOver < 0}
	for _, pid := range c.pids {
		q.PIDs = append(q.PIDs, uint32(pid))
	}
	return q
}

// runSession watches the driver's calls, or shows what was recorded of them.
func (c *config) runSession(ctx context.Context) (int, error) {
	switch c.command {
	case "check":
		return c.checkSystem()
	case "demo":
		r, err := demo.Open()
		if err != nil {
			return exitError, err
		}
		return c.show(ctx, "demo", r)
	case "diff":
		return c.diff()
	case "replay":
		open := record.Open
		if c.interactive() {
			open = func(path string) (*record.Reader, error) { return record.Follow(path, ctx.Done()) }
		}
		r, err := open(c.args[0])
		if err != nil {
			return exitError, fmt.Errorf("replay: %w", err)
		}
		defer r.Close()
		return c.show(ctx, "replay", r)
	case "serve":
		if c.replay != "" {
			r, err := record.Follow(c.replay, ctx.Done())
			if err != nil {
				return exitError, fmt.Errorf("serve: %w", err)
			}
			defer r.Close()
			s := replaying("replay", r)
			go s.play(r, c.pace(r), ctx.Done())
			return c.serve(ctx, s)
		}
	}
	return c.watch(ctx)
}

// show shows a recording: at a terminal as it happened, else its end.
func (c *config) show(ctx context.Context, source string, r *record.Reader) (int, error) {
	s := replaying(source, r)
	if !c.interactive() {
		if err := s.play(r, 0, ctx.Done()); err != nil {
			return exitError, err
		}
		return c.print(s)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go s.play(r, c.pace(r), ctx.Done())
	return c.screen(ctx, s)
}

// pace returns how many times as fast as it happened a recording is shown, 0 for at once: what is still being
// written is shown up to now, and then as it comes, unless another pace is asked for.
func (c *config) pace(r *record.Reader) float64 {
	if r.Writing && !c.given["speed"] {
		return 0
	}
	return c.speed
}

// screen runs the terminal interface.
func (c *config) screen(ctx context.Context, s *session) (int, error) {
	err := tui.Run(ctx, c.in, c.w, c.delay, func() tui.Frame { return s.frame(heap.Query{PIDs: c.query().PIDs, Top: 200, Keep: true}) }, func(snap *heap.Snapshot, profile bool) (string, error) {
		return saveSnapshot(saveDirs, snap, profile, s.wall+snap.Time)
	})
	if err != nil {
		return exitError, err
	}
	return exitOK, nil
}

// saveSnapshot writes a snapshot to a new file in the first of some folders that may be written to, readable
// by its owner alone, and returns its path.
func saveSnapshot(dirs []string, snap *heap.Snapshot, profile bool, wall int64) (string, error) {
	name := "memwatch-" + time.Now().Format("20060102-150405.000")
	write := func(w io.Writer) error { return render.JSON(w, snap) }
	if profile {
		name += ".pb.gz"
		write = func(w io.Writer) error { return render.Pprof(w, snap, wall) }
	} else {
		name += ".json"
	}
	var errs []error
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // which follows no link
		if err == nil {
			return path, errors.Join(write(f), f.Close())
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// saveDirs are where snapshots are saved: here, or where a memwatch of root that has become nobody may not
// write here, among the files that are temporary.
var saveDirs = []string{".", os.TempDir()}

// errUnseen says why a limit that is kept by what was seen is not known to be kept.
var errUnseen = errors.New("whether the limit was kept is not known: not all was seen")

// print prints a snapshot in the format asked for, and compares it with the limit.
func (c *config) print(s *session) (int, error) {
	q := c.query()
	snap := s.snapshot(q)
	var err error
	switch c.format {
	case "json":
		err = render.JSON(c.w, snap)
	case "jsonl":
		err = render.JSONLine(c.w, snap)
	case "folded", "pprof":
		err = c.profile(snap, s.wall+snap.Time)
	default:
		err = render.Table(c.w, snap, render.Options{Wide: c.format == "wide", Bytes: c.bytes, Suspects: q.Suspects})
	}
	if err != nil {
		return exitError, fmt.Errorf("write: %w", err)
	}
	whole := true
	if s.missed != nil {
		for _, what := range s.missed() {
			whole = false
			fmt.Fprintf(c.wErr, "memwatch: %s\n", render.Clean(what))
		}
	}
	if c.failOver < 0 {
		return exitOK, nil
	}
	// The limit is of what is there, not of what is shown.
	all := s.snapshot(heap.Query{PIDs: q.PIDs, Older: q.Older})
	least, most := leaked(all, q.Older)
	whole = whole && !slices.ContainsFunc(all.Processes, func(p heap.Process) bool { return p.Inexact })
	return c.judge(least, most, whole)
}

// judge compares what is live, no less than least and no more than most, with the limit. Whole says that it
// is all that there is.
func (c *config) judge(least, most int64, whole bool) (int, error) {
	switch {
	case c.failOver < 0:
	case least > c.failOver:
		return exitLimit, fmt.Errorf("%s live, more than the limit of %s", c.size(least), c.size(c.failOver))
	case !whole:
		return exitUnseen, errUnseen
	case most > c.failOver:
		return exitUnseen, fmt.Errorf("whether the limit was kept is not known: between %s and %s are %v old or older", c.size(least), c.size(most), c.older)
	}
	return exitOK, nil
}

// profile writes a snapshot as stacks. All of them, unless fewer were asked for:
// widths are to add up.
func (c *config) profile(snap *heap.Snapshot, wall int64) error {
	if c.format == "folded" {
		return render.Folded(c.w, snap)
	}
	if c.terminal {
		return errors.New("a profile is not for a terminal: memwatch -o pprof … > device.pb.gz")
	}
	return render.Pprof(c.w, snap, wall)
}

// leaked returns the own bytes that are live, or were when their process exited. With a least age only those
// that are so old: no less than least, no more than most. Of a process that has both a driver's memory and
// buffers in it, the larger counts: buffers are parts of that memory.
func leaked(s *heap.Snapshot, older time.Duration) (least, most int64) {
	for i := range s.Processes {
		p := &s.Processes[i]
		var own, buffers [2]int64
		add := func(class string, isOwn bool, least, most int64) {
			switch {
			case isOwn:
				own[0], own[1] = own[0]+least, own[1]+most
			case class == heap.Buffer.String():
				buffers[0], buffers[1] = buffers[0]+least, buffers[1]+most
			}
		}
		if older > 0 && !p.Exited {
			for j := range p.Sites {
				add(p.Sites[j].Class, p.Sites[j].Own, p.Sites[j].OldBytes, p.Sites[j].OldAtMost)
			}
		} else {
			for _, t := range p.Classes {
				n := t.Live
				if p.Exited {
					n = t.AtExit
				}
				add(t.Class, t.Own, n, n)
			}
		}
		least, most = least+max(own[0], buffers[0]), most+max(own[1], buffers[1])
	}
	return least, most
}

// prepare opens what takes rights or is nobody else's business, as long as there are any.
func (c *config) prepare() error {
	if c.command != "serve" || c.listener != nil {
		return nil
	}
	if c.tokenFile != "" {
		b, err := readSecret(c.tokenFile)
		if err != nil {
			return err
		}
		if c.token = strings.TrimSpace(string(b)); len(c.token) < 16 {
			return fmt.Errorf("%s: a token has at least 16 characters", c.tokenFile)
		}
	}
	if c.history != "" {
		boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
		if c.store, err = web.OpenStore(c.history, strings.TrimSpace(string(boot))); err != nil {
			return err
		}
	}
	listen := c.listen
	if strings.HasPrefix(listen, ":") { // others are let in by name alone
		listen = "127.0.0.1" + listen
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	c.listener = l
	return nil
}

// readSecret reads a file that its owner, and a group, alone may read.
func readSecret(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 {
		return nil, fmt.Errorf("%s: everybody may read or write it (mode %04o): chmod o= %s", path, mode, path)
	}
	return io.ReadAll(io.LimitReader(f, 64<<10))
}

// serve serves the page until ctx is done.
func (c *config) serve(ctx context.Context, s *session) (int, error) {
	if err := c.prepare(); err != nil {
		return exitError, err
	}
	if c.store != nil {
		defer c.store.Close()
	}
	srv := web.New(web.Options{
		Store:    c.store,
		Fault:    func(err error) { fmt.Fprintf(c.wErr, "memwatch: %s\n", render.Clean(err.Error())) },
		Token:    c.token,
		Hosts:    c.hosts,
		Source:   s.snapshot,
		Hits:     s.hits,
		Timeline: s.timeline,
		Wall:     func(t int64) int64 { return s.wall + t },
	}, c.listener.Addr())
	if c.token == "" {
		fmt.Fprintln(c.wErr, "memwatch: "+srv.URL())
	} else {
		fmt.Fprintf(c.wErr, "memwatch: %s (token in %s)\n", srv.Address(), render.Clean(c.tokenFile))
	}
	if a, ok := c.listener.Addr().(*net.TCPAddr); ok && a.IP.IsUnspecified() {
		fmt.Fprintf(c.wErr, "memwatch: it listens on every address of this machine, port %d\n", a.Port)
	}
	if err := srv.Serve(ctx, c.listener); err != nil {
		return exitError, err
	}
	return exitOK, nil
}
