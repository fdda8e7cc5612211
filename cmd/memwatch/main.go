// Memwatch shows the foreign heap of running programs from outside.
//
// Usage:
//
//	memwatch [flags]            every process on this machine that has a table
//	memwatch -p PID [flags]     accounts and call sites of one process, again and again
//	memwatch sites [flags]      call sites by live bytes
//	memwatch leaks [flags]      call sites that still hold memory; for CI with -fail-over
//
//	memwatch                    at a terminal: every process that uses a GPU (as memwatch top)
//	memwatch run -- ./app       start a program, watch it from its first call, print at its end
//	memwatch record FILE        keep what happens in a file
//	memwatch replay FILE        show such a file, at a terminal as it happened
//	memwatch serve              a page for the browser, and metrics
//	memwatch check              what is missing here, and how to mend it
//	memwatch demo               the terminal interface on a recorded session, no rights needed
//
// Programs that use lastuse keep their counters in a shared mapping, the table. Memwatch
// finds it by its name in /proc/PID/maps and reads it, which costs the program nothing:
// there is no signal, no stop, no probe. A program of one's own can be read without
// rights, others as root.
//
// Any other program is watched through its calls of the driver (CUDA, HIP, OpenCL,
// Level Zero) by probes in the kernel, unmodified: the commands of the second list do
// so, and with -driver those of the first. That needs root, or CAP_BPF and
// CAP_PERFMON (and CAP_SYS_PTRACE for processes of others).
//
// The flags are:
//
//	-p PID[,PID]       only these processes
//	-once              print once and leave (with sites and leaks always so)
//	-d DURATION        delay between two prints (default 1s)
//	-n COUNT           leave after so many prints
//	-o FORMAT          table, wide, json or jsonl (default table)
//	-top N             show at most N call sites (default 10, 0 for all)
//	-older DURATION    only call sites whose latest allocation is at least so old
//	-fail-over SIZE    with leaks: exit with status 3 if more than SIZE is live, or with
//	                   -older held by sites so old; -top does not matter
//	-bytes             sizes in bytes
//	-count DURATION    attach to the marker functions for so long and count their
//	                   calls, which takes root
//
// and where the driver's calls are watched or replayed:
//
//	-driver            watch the driver's calls rather than the table
//	-o FORMAT          also folded (for flame graphs) and pprof
//	-for DURATION      watch for so long, then print or end
//	-suspects          only call sites that may be leaks, with the reasons
//	-lib FILE          probe this library too (may be repeated)
//	-ring SIZE         room for events on their way (default 8MiB)
//	-no-stacks         take no call stacks
//	-single            use single probes although the kernel has links of many
//	-limit SIZE        with record: the largest file (default 1GiB)
//	-speed N           with replay and demo: so many times as fast (default 1)
//	-listen ADDRESS    with serve (default 127.0.0.1:8765)
//	-token-file FILE   with serve: the token that requests must know; else a random
//	                   one is printed. A program sends it as a bearer token
//	-replay FILE       with serve: show a recording
//
// Flags may follow the command. Sizes are numbers with an optional unit, as in
// 1048576, 512KiB or 2GiB.
//
// Live bytes are in use by the program. Reserved bytes were got from the device and
// contain what is live, pending and idle: they are never added to live bytes. Figures of call
// sites are estimates from samples, marked with a tilde, unless the program samples
// every allocation. A figure marked with ≥ is a lower bound: the table had no room for
// all that there is.
//
// With -older a call site is shown when its latest sampled allocation is old enough: then
// everything that it holds is. Sites that are still allocating hold memory that may be
// older too, and are not shown.
//
// The exit status is 0, 1 for an error, 2 for wrong usage and 3 if leaks found more
// than the limit.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Exit statuses.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
	exitLimit = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(memwatch(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}

// config is what the command line says.
type config struct {
	command  string // "", "sites" or "leaks"
	pids     []int
	once     bool
	delay    time.Duration
	count    int
	format   string
	top      int
	older    time.Duration
	failOver int64 // bytes, -1: no limit
	bytes    bool
	markers  time.Duration
}

// memwatch runs the command and returns its exit status.
func memwatch(ctx context.Context, w, wErr io.Writer, args []string) int {
	if isWatching(args, w == io.Writer(os.Stdout) && isTerminal(os.Stdout)) {
		return watchMain(ctx, w, wErr, args)
	}
	c, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(w, usage)
		return exitOK
	case err != nil:
		fmt.Fprintf(wErr, "memwatch: %v\nrun 'memwatch -h' for usage\n", err)
		return exitUsage
	}
	code, err := c.run(ctx, w, wErr)
	if err != nil {
		fmt.Fprintf(wErr, "memwatch: %v\n", clean(err.Error()))
	}
	if errors.Is(err, errNoTable) {
		fmt.Fprintln(wErr, "memwatch: -driver watches its calls of the driver instead")
	}
	return code
}

// parse reads the command line. Flags may stand before and after the command.
func parse(args []string) (*config, error) {
	c := &config{failOver: -1}
	fs := flag.NewFlagSet("memwatch", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.Func("p", "", c.addPIDs)
	fs.BoolVar(&c.once, "once", false, "")
	fs.DurationVar(&c.delay, "d", time.Second, "")
	fs.IntVar(&c.count, "n", 0, "")
	fs.StringVar(&c.format, "o", "table", "")
	fs.IntVar(&c.top, "top", 10, "")
	fs.DurationVar(&c.older, "older", 0, "")
	fs.Func("fail-over", "", func(s string) (err error) {
		c.failOver, err = parseSize(s)
		return err
	})
	fs.BoolVar(&c.bytes, "bytes", false, "")
	fs.DurationVar(&c.markers, "count", 0, "")
	for rest := args; ; {
		if err := fs.Parse(rest); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			break
		}
		if c.command != "" {
			return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
		}
		c.command = fs.Arg(0)
		rest = fs.Args()[1:]
	}
	return c, c.check()
}

// check reports what does not go together.
func (c *config) check() error {
	switch c.command {
	case "", "sites", "leaks":
	default:
		return fmt.Errorf("unknown command %q (want sites, leaks, %s, or none)", c.command, strings.Join(watchCommands, ", "))
	}
	switch c.format {
	case "table", "wide", "json", "jsonl":
	default:
		return fmt.Errorf("unknown format %q (want table, wide, json or jsonl)", c.format)
	}
	switch {
	case c.top < 0 || c.count < 0 || c.older < 0 || c.markers < 0:
		return errors.New("-top, -n, -older and -count may not be negative")
	case c.delay < 10*time.Millisecond:
		return errors.New("-d must be at least 10ms")
	case c.failOver >= 0 && c.command != "leaks":
		return errors.New("-fail-over belongs to the command leaks")
	case c.older > 0 && c.command == "":
		return errors.New("-older belongs to the commands sites and leaks")
	case c.markers > 0 && len(c.pids) != 1:
		return errors.New("-count needs -p with one process")
	case c.markers > 0 && c.command != "":
		return fmt.Errorf("-count does not go with %s", c.command)
	}
	return nil
}

// addPIDs adds the processes of one -p.
func (c *config) addPIDs(s string) error {
	for _, f := range strings.Split(s, ",") {
		pid, err := strconv.Atoi(f)
		if err != nil || pid <= 0 {
			return fmt.Errorf("%q is not a process id", f)
		}
		c.pids = append(c.pids, pid)
	}
	return nil
}

// parseSize returns the bytes of a size such as "2GiB".
func parseSize(s string) (int64, error) {
	n, err := humanize.ParseBytes(s)
	if err != nil || n > 1<<62 {
		return 0, fmt.Errorf("%q is not a size (want for example 1048576, 512KiB or 2GiB)", s)
	}
	return int64(n), nil
}

// run prints until it has printed often enough, the processes have ended, or ctx is done.
func (c *config) run(ctx context.Context, w, wErr io.Writer) (code int, err error) {
	once := c.once || c.command != "" || len(c.pids) == 0
	for i := 1; ; i++ {
		report, err := c.look(ctx)
		if err != nil {
			if i > 1 && errors.Is(err, errGone) {
				fmt.Fprintf(wErr, "memwatch: %v\n", clean(err.Error()))
				return exitOK, nil
			}
			return exitError, err
		}
		for _, note := range report.notes {
			fmt.Fprintf(wErr, "memwatch: %s\n", clean(note))
		}
		if err := c.render(w, report); err != nil {
			return exitError, fmt.Errorf("write: %w", err)
		}
		if shown := report.leaked; c.failOver >= 0 && shown > c.failOver {
			return exitLimit, fmt.Errorf("%s live, more than the limit of %s", c.size(shown), c.size(c.failOver))
		}
		if once || i == c.count {
			return exitOK, nil
		}
		select {
		case <-ctx.Done():
			return exitOK, nil
		case <-time.After(c.delay):
		}
	}
}
