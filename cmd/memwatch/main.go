// Memwatch shows the foreign heap of running programs from outside.
//
// Usage:
//
//	memwatch                    at a terminal: every process that uses a GPU, live
//	memwatch -p PID             these processes, live; not at a terminal: printed again and again
//	memwatch sites              call sites by live bytes
//	memwatch leaks              call sites that still hold memory; for CI with -fail-over
//	memwatch top                the same as memwatch alone; not at a terminal: printed once
//	memwatch run -- ./app       start a program, watch it from its first call, print at its end
//	memwatch record FILE        keep what happens in a file
//	memwatch replay FILE        show such a file, at a terminal as it happened
//	memwatch diff A B           what grew between two recordings, or two snapshots
//	memwatch serve              a page for the browser, and metrics
//	memwatch check              what is missing here, and how to mend it
//	memwatch demo               the terminal interface on a recorded session, no rights needed
//	memwatch version            of memwatch, and of what it was built with
//	memwatch help COMMAND       more on one of them
//
// Programs that use lastuse keep their counters in a shared mapping, the table. Memwatch
// finds it by its name in /proc/PID/maps and reads it, which costs the program nothing:
// there is no signal, no stop, no probe. A program of one's own can be read without
// rights, others as root.
//
// Any other program is watched through its calls of the driver (CUDA, HIP, OpenCL,
// Level Zero) by probes in the kernel, unmodified. That needs root, or from
// Linux 6.6 CAP_BPF and CAP_PERFMON (and CAP_SYS_PTRACE for processes of others). What
// was allocated before memwatch came is unknown then, and said to be: such a process is
// called joined.
//
// With -once and a table, and for sites and leaks, memwatch prints what the table says. For
// a process that has none and uses a driver, with -driver, and for the other commands, it
// attaches probes, reads tables too, and prints what it has seen after the delay.
//
// What -o json and jsonl print has one form, memwatch/1, whatever it comes from. Where only tables are read a
// process has them too, as "table": its accounts, and what the samples of its sites are.
//
// The flags are:
//
//	-p PID[,PID]       only these processes
//	-once              print once and leave (with sites and leaks always so)
//	-d DURATION        delay between two prints (default 1s)
//	-n COUNT           leave after so many prints
//	-o FORMAT          table, wide, json, jsonl, folded (for flame graphs) or pprof
//	-top N             show at most N call sites (default 10, for folded and pprof all; 0 for all)
//	-older DURATION    only call sites that hold memory at least so old
//	-fail-over SIZE    exit with status 3 if more than SIZE is live, or was when the program
//	                   ended; with -older held by sites so old, with diff if it grew by more. -top
//	                   does not matter
//	-bytes             sizes in bytes
//	-count DURATION    attach to the marker functions for so long and count their
//	                   calls, which takes root
//
// and where the driver's calls are watched or replayed:
//
//	-driver            watch the driver's calls, also of programs that have a table
//	-for DURATION      watch for so long, then print or end
//	-suspects          only call sites that may be leaks, with the reasons
//	-lib FILE          probe this library too (may be repeated)
//	-ring SIZE         room for events on their way (default 32MiB, with -stacks fp 8MiB)
//	-no-stacks         take no call stacks
//	-no-blocks         leave out the blocks that PyTorch's allocator hands out
//	-stacks WAY        how call stacks are walked: fp by frame pointers; dwarf by unwind tables
//	                   (.eh_frame), for which stacks are copied; auto (default) by frame pointers
//	                   where all functions on a stack keep them, else by tables. x86-64 alone
//	                   has tables read, and Go's own functions need none. Frames of Python (CPython
//	                   3.11 to 3.14) stand in the place of its interpreter's, whichever the way
//	-single            use single probes although the kernel has links of many
//	-limit SIZE        with record: the largest file (default 1GiB)
//	-speed N           with replay and demo: so many times as fast (default 1)
//	-listen ADDRESS    with serve (default 127.0.0.1:8765; without a host, as in :8765, this
//	                   machine's own address, 0.0.0.0 means every one)
//	-host NAME         with serve: a name that requests may call it by (may be repeated)
//	-token-file FILE   with serve: the token that requests must know; else a random
//	                   one is printed. A program sends it as a bearer token. Not everybody
//	                   may be able to read the file
//	-history FILE      with serve: keep what processes have live in a file too, six hours of
//	                   it, so that a later serve, until the machine is started anew, knows it
//	-replay FILE       with serve: show a recording
//
// Flags may follow the command, and may have two dashes. Sizes are numbers with an optional
// unit, as in 1048576, 512KiB or 2GiB.
//
// Live bytes are in use by the program. Reserved bytes were got from the device and
// contain what is live, pending and idle: they are never added to live bytes. Figures of call
// sites are estimates from samples, marked with a tilde, unless the program samples
// every allocation. A figure marked with ≥ is a lower bound: the table had no room for
// all that there is. One marked with ≈ may be too low or too high: events were lost, and a free that was lost
// leaves its memory live.
//
// With -older a call site of a table holds what is old enough if its latest allocation is, and nothing if
// the program is younger. Of a site that still allocates one look cannot tell: it is shown, marked with ≤,
// and a limit that depends on it is judged by a second look, so much later.
//
// The exit status is 0, 1 for an error, 2 for wrong usage, 3 if more was live than the limit, and 4
// if what was seen is within the limit and not all was seen: events were lost, the program of run
// loaded a driver's library before its probes were there, or two looks at a table do not tell how old
// what it holds is. The library is looked for where the loader
// finds it; -lib names one that a program loads by its path.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// Exit statuses.
const (
	exitOK     = 0
	exitError  = 1
	exitUsage  = 2
	exitLimit  = 3
	exitUnseen = 4
)

// mayGiveUp says that this is a program of its own, whose rights nobody else needs. The
// functions of a test run in the test's.
var mayGiveUp = false

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == helperName {
		os.Exit(serveHelper(os.Args[2:]))
	}
	mayGiveUp = true
	os.Exit(memwatch(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}

// memwatch runs the command and returns its exit status.
func memwatch(ctx context.Context, w, wErr io.Writer, args []string) int {
	c, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return help(w, wErr, c.command)
	case err != nil:
		fmt.Fprintf(wErr, "memwatch: %s\nrun 'memwatch help' for usage\n", render.Clean(err.Error()))
		return exitUsage
	}
	c.w, c.wErr = w, wErr
	c.terminal = w == io.Writer(os.Stdout) && isTerminal(os.Stdout) && isTerminal(os.Stdin)
	code, err := c.run(ctx)
	if err != nil {
		fmt.Fprintf(wErr, "memwatch: %s\n", render.Clean(err.Error()))
	}
	if errors.Is(err, procfs.ErrNoTable) {
		fmt.Fprintln(wErr, "memwatch: -driver watches its calls of the driver instead")
	}
	return code
}

// run does what the command line says.
func (c *config) run(ctx context.Context) (int, error) {
	if c.command == "help" {
		name := ""
		if len(c.args) > 0 {
			name = c.args[0]
		}
		return help(c.w, c.wErr, name), nil
	}
	if c.command == "version" {
		fmt.Fprintln(c.w, version())
		return exitOK, nil
	}
	if c.watches() {
		return c.runSession(ctx)
	}
	code, err := c.runTables(ctx)
	if errors.Is(err, procfs.ErrNoTable) && c.useDriver() {
		return c.runSession(ctx)
	}
	return code, err
}

// version says which memwatch this is: its module's version, or where it was built from a checkout the
// commit.
func version() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "memwatch of unknown version"
	}
	of := b.Main.Version
	for _, s := range b.Settings {
		if s.Key == "vcs.revision" && (of == "" || of == "(devel)") {
			of = s.Value
		}
	}
	if of == "" {
		of = "(devel)"
	}
	return fmt.Sprintf("memwatch %s, %s, %s/%s", of, b.GoVersion, runtime.GOOS, runtime.GOARCH)
}

// runTables prints what tables say until it has printed often enough, the processes
// have ended, or ctx is done.
func (c *config) runTables(ctx context.Context) (code int, err error) {
	once := c.once || c.command != "" || len(c.pids) == 0 && c.count == 0
	var before, newer *report // what was seen at least -older ago, and since
	for i := 1; ; i++ {
		report, err := c.look(ctx, before)
		if err != nil && i > 1 && ctx.Err() != nil {
			return exitOK, nil
		}
		if err != nil {
			if i > 1 && errors.Is(err, procfs.ErrGone) {
				fmt.Fprintf(c.wErr, "memwatch: %s\n", render.Clean(err.Error()))
				return exitOK, nil
			}
			return exitError, err
		}
		if once && before == nil && c.failOver >= 0 && report.least <= c.failOver && report.most > c.failOver {
			fmt.Fprintf(c.wErr, "memwatch: some sites still allocate: looking again in %v to see what they keep\n", c.older)
			select {
			case <-ctx.Done():
				return exitUnseen, errUnseen
			case <-time.After(c.older):
			}
			before = report
			continue
		}
		if newer == nil || report.Time.Sub(newer.Time) >= c.older {
			before, newer = newer, report
		}
		for _, note := range report.notes {
			fmt.Fprintf(c.wErr, "memwatch: %s\n", render.Clean(note))
		}
		if err := c.render(c.w, report); err != nil {
			return exitError, fmt.Errorf("write: %w", err)
		}
		code, err := c.judge(report.least, report.most, true)
		if code == exitLimit || once {
			return code, err
		}
		if i == c.count {
			return exitOK, nil
		}
		select {
		case <-ctx.Done():
			return exitOK, nil
		case <-time.After(c.delay):
		}
	}
}
