package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/demo"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/record"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/tui"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/web"
)

// The commands that watch the driver's calls, or show what was recorded of them.
var watchCommands = []string{"top", "run", "record", "replay", "serve", "check", "demo"}

// watching is what the command line of such a command says.
type watching struct {
	command   string
	args      []string // FILE, or the program of run
	pids      []int
	once      bool
	delay     time.Duration
	count     int
	span      time.Duration
	format    string
	top       int
	older     time.Duration
	suspects  bool
	failOver  int64 // bytes, -1: no limit
	bytes     bool
	libraries []string
	ring      int
	noStacks  bool
	single    bool
	listen    string
	tokenFile string
	replay    string
	speed     float64
	limit     int64

	terminal bool // both ends are one
	in       io.Reader
	w, wErr  io.Writer
}

// isWatching reports whether a command line is one of those commands, or asks for the
// driver's calls, or for a format that only they have, or for nothing at a terminal.
func isWatching(args []string, terminal bool) bool {
	for i, a := range args {
		name, value, is := strings.Cut(strings.TrimLeft(a, "-"), "=")
		switch {
		case !strings.HasPrefix(a, "-"):
			// A flag's value comes here too, which is none of these words.
			if slices.Contains(watchCommands, a) {
				return true
			}
		case a == "--":
			return false
		case name == "driver":
			return true
		case name == "o":
			if !is && i+1 < len(args) {
				value = args[i+1]
			}
			if value == "folded" || value == "pprof" {
				return true
			}
		}
	}
	return terminal && len(args) == 0
}

// watchMain runs such a command and returns its exit status.
func watchMain(ctx context.Context, w, wErr io.Writer, args []string) int {
	c, err := parseWatching(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(w, usage)
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(wErr, "memwatch: %v\nrun 'memwatch -h' for usage\n", err)
		return exitUsage
	}
	c.w, c.wErr, c.in = w, wErr, os.Stdin
	c.terminal = w == io.Writer(os.Stdout) && isTerminal(os.Stdout) && isTerminal(os.Stdin)
	code, err := c.run(ctx)
	if err != nil {
		fmt.Fprintf(wErr, "memwatch: %s\n", render.Clean(err.Error()))
	}
	return code
}

// parseWatching reads the command line. Flags may stand before and after the command;
// what follows the program of run, or --, is the program's.
func parseWatching(args []string) (*watching, error) {
	c := &watching{failOver: -1}
	size := func(to *int64) func(string) error {
		return func(s string) (err error) {
			*to, err = parseSize(s)
			return err
		}
	}
	fs := flag.NewFlagSet("memwatch", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.Func("p", "", func(s string) error {
		for _, f := range strings.Split(s, ",") {
			pid, err := strconv.Atoi(f)
			if err != nil || pid <= 0 {
				return fmt.Errorf("%q is not a process id", f)
			}
			c.pids = append(c.pids, pid)
		}
		return nil
	})
	fs.Bool("driver", false, "")
	fs.BoolVar(&c.once, "once", false, "")
	fs.DurationVar(&c.delay, "d", time.Second, "")
	fs.IntVar(&c.count, "n", 0, "")
	fs.DurationVar(&c.span, "for", 0, "")
	fs.StringVar(&c.format, "o", "", "")
	fs.IntVar(&c.top, "top", 10, "")
	fs.DurationVar(&c.older, "older", 0, "")
	fs.BoolVar(&c.suspects, "suspects", false, "")
	fs.Func("fail-over", "", size(&c.failOver))
	fs.BoolVar(&c.bytes, "bytes", false, "")
	fs.Func("lib", "", func(s string) error { c.libraries = append(c.libraries, s); return nil })
	var ring int64
	fs.Func("ring", "", size(&ring))
	fs.BoolVar(&c.noStacks, "no-stacks", false, "")
	fs.BoolVar(&c.single, "single", false, "")
	fs.StringVar(&c.listen, "listen", "127.0.0.1:8765", "")
	fs.StringVar(&c.tokenFile, "token-file", "", "")
	fs.StringVar(&c.replay, "replay", "", "")
	fs.Float64Var(&c.speed, "speed", 1, "")
	fs.Func("limit", "", size(&c.limit))
	for rest := args; ; {
		if err := fs.Parse(rest); err != nil {
			return nil, err
		}
		rest = fs.Args()
		if len(rest) == 0 {
			break
		}
		if c.command == "" {
			c.command, rest = rest[0], rest[1:]
			if c.command == "run" { // flags of memwatch may still come, and end at the program
				if err := fs.Parse(rest); err != nil {
					return nil, err
				}
				c.args = fs.Args()
				break
			}
			continue
		}
		c.args, rest = append(c.args, rest[0]), rest[1:]
		if err := fs.Parse(rest); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			break
		}
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	c.ring = int(ring)
	return c, c.check()
}

// check reports what does not go together, and fills in what follows.
func (c *watching) check() error {
	switch c.command {
	case "", "top", "sites", "serve", "check", "demo":
		if len(c.args) > 0 {
			return fmt.Errorf("unexpected argument %q", c.args[0])
		}
	case "leaks":
		c.suspects = c.failOver < 0
	case "run":
		if len(c.args) == 0 {
			return errors.New("run needs a program: memwatch run -- ./app")
		}
	case "record", "replay":
		if len(c.args) != 1 {
			return fmt.Errorf("%s needs a file", c.command)
		}
	default:
		return fmt.Errorf("unknown command %q (want %s, sites or leaks)", c.command, strings.Join(watchCommands, ", "))
	}
	switch c.format {
	case "", "table", "wide", "json", "jsonl", "folded", "pprof":
	default:
		return fmt.Errorf("unknown format %q (want table, wide, json, jsonl, folded or pprof)", c.format)
	}
	switch {
	case c.top < 0 || c.count < 0 || c.older < 0 || c.span < 0 || c.speed < 0:
		return errors.New("-top, -n, -older, -for and -speed may not be negative")
	case c.delay < 10*time.Millisecond:
		return errors.New("-d must be at least 10ms")
	case c.ring != 0 && (c.ring < os.Getpagesize() || c.ring&(c.ring-1) != 0 || c.ring > 1<<30):
		return errors.New("-ring must be a power of two between a page and 1 GiB")
	case c.limit != 0 && c.limit < 1<<20:
		return errors.New("-limit must be at least 1 MiB")
	case c.command == "run" && len(c.pids) > 0:
		return errors.New("-p does not go with run")
	case c.replay != "" && c.command != "serve":
		return errors.New("-replay belongs to the command serve")
	case c.tokenFile != "" && c.command != "serve":
		return errors.New("-token-file belongs to the command serve")
	}
	return nil
}

// query is what the flags ask of a snapshot.
func (c *watching) query() heap.Query {
	q := heap.Query{Top: c.top, Older: c.older, Suspects: c.suspects}
	for _, pid := range c.pids {
		q.PIDs = append(q.PIDs, uint32(pid))
	}
	return q
}

// run does what the command says.
func (c *watching) run(ctx context.Context) (int, error) {
	switch c.command {
	case "check":
		return c.checkSystem()
	case "demo":
		r, err := demo.Open()
		if err != nil {
			return exitError, err
		}
		return c.show(ctx, "demo", r)
	case "replay":
		r, err := record.Open(c.args[0])
		if err != nil {
			return exitError, err
		}
		defer r.Close()
		return c.show(ctx, "replay", r)
	case "serve":
		if c.replay != "" {
			r, err := record.Open(c.replay)
			if err != nil {
				return exitError, err
			}
			defer r.Close()
			s := newSession("replay")
			s.wall = r.Header.Wall
			go s.play(r, c.speed, ctx.Done())
			return c.serve(ctx, s)
		}
	}
	return c.watch(ctx)
}

// show shows a recording: at a terminal as it happened, else its end.
func (c *watching) show(ctx context.Context, source string, r *record.Reader) (int, error) {
	s := newSession(source)
	s.wall = r.Header.Wall
	if !c.interactive() {
		if err := s.play(r, 0, ctx.Done()); err != nil {
			return exitError, err
		}
		return c.print(s)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go s.play(r, c.speed, ctx.Done())
	return c.screen(ctx, s)
}

// interactive reports whether the terminal interface is wanted.
func (c *watching) interactive() bool {
	return c.terminal && !c.once && c.format == "" && c.count == 0 && c.span == 0 && c.failOver < 0 &&
		(c.command == "" || c.command == "top" || c.command == "replay" || c.command == "demo")
}

// screen runs the terminal interface.
func (c *watching) screen(ctx context.Context, s *session) (int, error) {
	err := tui.Run(ctx, c.in, c.w, c.delay, func() tui.Frame { return s.frame(heap.Query{PIDs: c.query().PIDs, Top: 200}) })
	if err != nil {
		return exitError, err
	}
	return exitOK, nil
}

// print prints a snapshot in the format asked for, and compares it with the limit.
func (c *watching) print(s *session) (int, error) {
	q := c.query()
	snap := s.snapshot(q)
	var err error
	switch c.format {
	case "json":
		err = render.JSON(c.w, snap)
	case "jsonl":
		err = render.JSONLine(c.w, snap)
	case "folded":
		err = render.Folded(c.w, s.snapshot(heap.Query{PIDs: q.PIDs, Older: q.Older, Suspects: q.Suspects}))
	case "pprof":
		if c.terminal {
			return exitError, errors.New("a profile is not for a terminal: memwatch -o pprof … > device.pb.gz")
		}
		err = render.Pprof(c.w, s.snapshot(heap.Query{PIDs: q.PIDs, Older: q.Older, Suspects: q.Suspects}), s.wall+snap.Time)
	default:
		err = render.Table(c.w, snap, render.Options{Wide: c.format == "wide", Bytes: c.bytes, Suspects: c.suspects})
	}
	if err != nil {
		return exitError, fmt.Errorf("write: %w", err)
	}
	if c.failOver < 0 {
		return exitOK, nil
	}
	// The limit is of what is there, not of what is shown.
	live := leaked(s.snapshot(heap.Query{PIDs: q.PIDs, Older: q.Older}), q.Older)
	if live > c.failOver {
		o := render.Options{Bytes: c.bytes}
		return exitLimit, fmt.Errorf("%s live, more than the limit of %s", o.Size(live), o.Size(c.failOver))
	}
	return exitOK, nil
}

// leaked returns the own bytes that are live, or were when their process exited. With
// a least age only those that are so old.
func leaked(s *heap.Snapshot, older time.Duration) (sum int64) {
	for i := range s.Processes {
		for j := range s.Processes[i].Sites {
			t := &s.Processes[i].Sites[j]
			switch {
			case !t.Own:
			case s.Processes[i].Exited:
				sum += t.AtExitBytes
			case older > 0:
				sum += t.OldBytes
			default:
				sum += t.Live
			}
		}
	}
	return sum
}

// serve serves the page until ctx is done.
func (c *watching) serve(ctx context.Context, s *session) (int, error) {
	var token string
	if c.tokenFile != "" {
		b, err := os.ReadFile(c.tokenFile)
		if err != nil {
			return exitError, err
		}
		if token = strings.TrimSpace(string(b)); len(token) < 16 {
			return exitError, fmt.Errorf("%s: a token has at least 16 characters", c.tokenFile)
		}
	}
	l, err := net.Listen("tcp", c.listen)
	if err != nil {
		return exitError, err
	}
	srv := web.New(web.Options{
		Token:  token,
		Source: s.snapshot,
		Hits:   s.hits,
		Wall:   func(t int64) int64 { return s.wall + t },
	}, l.Addr())
	if token == "" {
		fmt.Fprintln(c.wErr, "memwatch: "+srv.URL())
	} else {
		fmt.Fprintf(c.wErr, "memwatch: http://%s/ (token in %s)\n", l.Addr(), render.Clean(c.tokenFile))
	}
	if err := srv.Serve(ctx, l); err != nil {
		return exitError, err
	}
	return exitOK, nil
}
