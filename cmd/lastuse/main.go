package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/cmd/lastuse/internal/apply"
	"github.com/lastuse/lastuse/escape"
)

// Exit statuses, as the manual promises them.
const (
	exitClean    = 0
	exitError    = 1
	exitFindings = 3
)

func main() {
	if vetMode(os.Args[1:]) {
		vetMain() // does not return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lastuse:", err)
		os.Exit(exitError)
	}
	code := run(ctx, escape.Analyzer, dir, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(code)
}

// run is the command: it reads args, runs the analyzer over packages seen from
// the folder dir and returns the exit status. When ctx ends it stops at the next
// point at which nothing is half done.
func run(ctx context.Context, analyzer *analysis.Analyzer, dir string, stdout, stderr io.Writer, args []string) int {
	if len(args) > 0 && args[0] == "help" {
		return help(stdout, stderr, args[1:])
	}
	o, err := parseOptions(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return exitClean
	}
	if err != nil {
		fmt.Fprintln(stderr, "lastuse:", err)
		return exitError
	}
	c := &command{options: o, analyzer: analyzer, dir: dir, stdout: stdout, stderr: stderr, moved: apply.Moved{}}
	if o.specCheck {
		return c.specCheck(ctx)
	}
	return c.check(ctx)
}

// A command is one run of the tool.
type command struct {
	*options
	analyzer *analysis.Analyzer
	dir      string // current folder
	stdout   io.Writer
	stderr   io.Writer

	failed bool        // something went wrong: exit status 1
	moved  apply.Moved // what -fix did to the lines of files
}

// fail reports an error. The run goes on with what else there is to do.
func (c *command) fail(format string, args ...any) {
	c.failed = true
	fmt.Fprintf(c.stderr, "lastuse: "+format+"\n", args...)
}

// note tells something that is no error.
func (c *command) note(format string, args ...any) {
	fmt.Fprintf(c.stderr, "lastuse: "+format+"\n", args...)
}
