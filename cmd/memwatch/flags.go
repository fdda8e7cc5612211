package main

import (
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

	"github.com/dustin/go-humanize"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/web"
)

// The commands.
var commands = []string{"sites", "leaks", "top", "run", "record", "replay", "diff", "serve", "check", "demo", "version", "help"}

// The output formats.
var formats = []string{"table", "wide", "json", "jsonl", "folded", "pprof"}

// How stacks are walked.
const (
	stacksAuto  = "auto"  // by frame pointers, and where they do not find all of a stack by unwind tables
	stacksFP    = "fp"    // by frame pointers alone
	stacksDWARF = "dwarf" // by unwind tables
)

// config is what the command line says.
type config struct {
	command   string   // "" or one of commands
	args      []string // FILE, or the program of run, or what help is wanted for
	pids      []int
	once      bool
	delay     time.Duration
	count     int
	span      time.Duration
	format    string // "": a table, or the terminal interface
	top       int
	older     time.Duration
	suspects  bool
	failOver  int64 // bytes, -1: no limit
	bytes     bool
	markers   time.Duration
	driver    bool
	libraries []string
	ring      int
	noStacks  bool
	noBlocks  bool
	stacks    string // stacksAuto, stacksFP or stacksDWARF
	single    bool
	listen    string
	hosts     []string
	tokenFile string
	history   string
	replay    string
	speed     float64
	limit     int64
	given     map[string]bool // flags that were given, by name

	token    string       // what the token file said
	store    *web.Store   // of serve's history, once it is open
	listener net.Listener // of serve, once it listens

	terminal bool // both ends are one
	in       io.Reader
	w, wErr  io.Writer
}

// parse reads the command line. Flags may stand before and after the command; what
// follows the program of run, or --, is the program's.
func parse(args []string) (*config, error) {
	c := &config{failOver: -1, given: make(map[string]bool), in: os.Stdin, w: io.Discard, wErr: io.Discard}
	size := func(to *int64) func(string) error {
		return func(s string) (err error) {
			*to, err = parseSize(s)
			return err
		}
	}
	fs := flag.NewFlagSet("memwatch", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.Func("p", "", c.addPIDs)
	fs.BoolVar(&c.driver, "driver", false, "")
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
	fs.DurationVar(&c.markers, "count", 0, "")
	fs.Func("lib", "", func(s string) error { c.libraries = append(c.libraries, s); return nil })
	var ring int64
	fs.Func("ring", "", size(&ring))
	fs.BoolVar(&c.noStacks, "no-stacks", false, "")
	fs.BoolVar(&c.noBlocks, "no-blocks", false, "")
	fs.StringVar(&c.stacks, "stacks", stacksAuto, "")
	fs.BoolVar(&c.single, "single", false, "")
	fs.StringVar(&c.listen, "listen", "127.0.0.1:8765", "")
	fs.Func("host", "", func(s string) error { c.hosts = append(c.hosts, s); return nil })
	fs.StringVar(&c.tokenFile, "token-file", "", "")
	fs.StringVar(&c.history, "history", "", "")
	fs.StringVar(&c.replay, "replay", "", "")
	fs.Float64Var(&c.speed, "speed", 1, "")
	fs.Func("limit", "", size(&c.limit))
	for rest := args; ; {
		if err := fs.Parse(rest); err != nil {
			return c, err
		}
		ended := len(rest) > fs.NArg() && rest[len(rest)-fs.NArg()-1] == "--"
		rest = fs.Args()
		if len(rest) == 0 {
			break
		}
		if c.command == "" {
			if c.command, rest = rest[0], rest[1:]; c.command != "run" {
				continue
			}
			// Flags of memwatch may still come, and end at the program.
			if err := fs.Parse(rest); err != nil {
				return c, err
			}
			c.args = fs.Args()
			break
		}
		if ended {
			c.args = append(c.args, rest...)
			break
		}
		c.args, rest = append(c.args, rest[0]), rest[1:]
		if most := c.files(); len(c.args) > most {
			return nil, fmt.Errorf("unexpected argument %q", c.args[most])
		}
		// What follows may be flags again.
	}
	fs.Visit(func(f *flag.Flag) { c.given[f.Name] = true })
	if (c.format == "folded" || c.format == "pprof") && !c.given["top"] {
		c.top = 0
	}
	c.ring = int(ring)
	return c, c.check()
}

// files returns how many files, or other words, may follow the command.
func (c *config) files() int {
	if c.command == "diff" {
		return 2
	}
	return 1
}

// check reports what does not go together, and fills in what follows.
func (c *config) check() error {
	switch c.command {
	case "", "top", "sites", "serve", "check", "demo", "version":
		if len(c.args) > 0 {
			return fmt.Errorf("unexpected argument %q", c.args[0])
		}
	case "leaks":
		if len(c.args) > 0 {
			return fmt.Errorf("unexpected argument %q", c.args[0])
		}
	case "help":
		if len(c.args) > 0 && !slices.Contains(commands, c.args[0]) {
			return fmt.Errorf("no command %q (there are %s)", c.args[0], strings.Join(commands, ", "))
		}
	case "run":
		if len(c.args) == 0 {
			return errors.New("run needs a program: memwatch run -- ./app")
		}
	case "record", "replay":
		if len(c.args) != 1 {
			return fmt.Errorf("%s needs a file", c.command)
		}
	case "diff":
		if len(c.args) != 2 {
			return errors.New("diff needs two files: memwatch diff before after")
		}
		if c.format == "folded" || c.format == "pprof" {
			return fmt.Errorf("-o %s does not go with diff (go tool pprof -diff_base compares profiles)", c.format)
		}
	default:
		return fmt.Errorf("unknown command %q (want %s, or none)", c.command, strings.Join(commands, ", "))
	}
	if c.format != "" && !slices.Contains(formats, c.format) {
		return fmt.Errorf("unknown format %q (want %s)", c.format, strings.Join(formats, ", "))
	}
	switch {
	case c.top < 0 || c.count < 0 || c.older < 0 || c.span < 0 || c.speed < 0 || c.markers < 0:
		return errors.New("-top, -n, -older, -for, -speed and -count may not be negative")
	case c.delay < 10*time.Millisecond:
		return errors.New("-d must be at least 10ms")
	case c.ring != 0 && (c.ring < os.Getpagesize() || c.ring&(c.ring-1) != 0 || c.ring > 1<<30):
		return errors.New("-ring must be a power of two between a page and 1 GiB")
	case !slices.Contains([]string{stacksAuto, stacksFP, stacksDWARF}, c.stacks):
		return fmt.Errorf("-stacks must be %s, %s or %s", stacksAuto, stacksFP, stacksDWARF)
	case c.noStacks && c.given["stacks"]:
		return errors.New("-stacks does not go with -no-stacks")
	case c.limit != 0 && c.limit < 1<<20:
		return errors.New("-limit must be at least 1 MiB")
	case c.command == "run" && len(c.pids) > 0:
		return errors.New("-p does not go with run")
	case c.replay != "" && c.command != "serve":
		return errors.New("-replay belongs to the command serve")
	case (c.tokenFile != "" || len(c.hosts) > 0) && c.command != "serve":
		return errors.New("-token-file and -host belong to the command serve")
	case c.history != "" && (c.command != "serve" || c.replay != ""):
		return errors.New("-history belongs to the command serve, without -replay")
	case c.failOver >= 0 && slices.Contains([]string{"top", "serve", "record", "check", "version", "help"}, c.command):
		return fmt.Errorf("-fail-over does not go with %s", c.command)
	case c.markers > 0 && len(c.pids) != 1:
		return errors.New("-count needs -p with one process")
	case c.markers > 0 && (c.command != "" || c.watches()):
		return errors.New("-count goes with -p and a table alone")
	}
	return nil
}

// watches reports whether the command line is about a session, live or recorded,
// rather than about what tables say now.
func (c *config) watches() bool {
	switch c.command {
	case "", "sites", "leaks":
	default:
		return true
	}
	for _, flag := range []string{"driver", "for", "lib", "ring", "no-stacks", "no-blocks", "stacks", "single", "suspects"} {
		if c.given[flag] {
			return true
		}
	}
	return c.interactive()
}

// interactive reports whether the terminal interface is wanted.
func (c *config) interactive() bool {
	if !c.terminal || c.once || c.format != "" || c.count > 0 || c.span > 0 || c.failOver >= 0 || c.markers > 0 {
		return false
	}
	return slices.Contains([]string{"", "top", "replay", "demo"}, c.command)
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
