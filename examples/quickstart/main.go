// Quickstart shows in one command, without a GPU, what lastuse does: a program
// that runs its device memory up under the collector alone, the findings and the
// patch that lastuse writes for it, and the same program running flat.
//
//	go run ./examples/quickstart [-n elements] [-iterations k] [-variant pool|c] [-keep] [-plot file.svg]
//
// It works on a copy of examples/workspace in a temporary module, which it
// removes when it ends, also when interrupted; -keep leaves it and prints where.
// -plot draws the memory of both runs into a file; that in the README is from here.
// The exit status is 0 if the rewritten program runs flat, else 1.
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

type options struct {
	n, iterations int
	variant       string
	keep          bool
	plot          string
}

func run(ctx context.Context, w io.Writer, args []string) error {
	var o options
	fs := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	fs.IntVar(&o.n, "n", 1<<20, "elements of a workspace, 4 bytes each")
	fs.IntVar(&o.iterations, "iterations", 200, "workspaces the program makes")
	fs.StringVar(&o.variant, "variant", "pool", "pool: buffers of a device pool; c: C memory behind a finalizer")
	fs.BoolVar(&o.keep, "keep", false, "keep the temporary module")
	fs.StringVar(&o.plot, "plot", "", "draw the memory of both runs into this `file`, as SVG")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if o.variant != "pool" && o.variant != "c" {
		return fmt.Errorf("-variant %s: want pool or c", o.variant)
	}
	if o.n < 1 {
		return fmt.Errorf("-n %d: want at least 1", o.n)
	}
	if o.iterations < 1 {
		return fmt.Errorf("-iterations %d: want at least 1", o.iterations)
	}

	m, err := newModule(o.keep)
	if err != nil {
		return err
	}
	defer m.remove(w)

	fmt.Fprintln(w, "A program makes a device buffer per iteration and never frees it (examples/workspace).")
	fmt.Fprintln(w, "Building it, and lastuse ...")
	if err := m.buildTool(ctx); err != nil {
		return err
	}
	if err := m.buildProgram(ctx); err != nil {
		return err
	}

	step(w, "the program as it is: the collector is the only help")
	before, err := m.runProgram(ctx, o)
	if err != nil {
		return err
	}
	before.print(w)

	step(w, "lastuse ./...")
	if err := m.lastuse(ctx, w, "./..."); err != nil {
		return err
	}
	step(w, "lastuse -diff ./...")
	if err := m.lastuse(ctx, w, "-diff", "./..."); err != nil {
		return err
	}
	step(w, "lastuse -fix ./...")
	if err := m.lastuse(ctx, w, "-fix", "./..."); err != nil {
		return err
	}

	step(w, "the program as rewritten")
	if err := m.buildProgram(ctx); err != nil {
		return err
	}
	after, err := m.runProgram(ctx, o)
	if err != nil {
		return err
	}
	after.print(w)

	step(w, "side by side")
	table(w, before, after)
	chart(w, before, after)
	if o.plot != "" {
		if err := os.WriteFile(o.plot, []byte(picture(before, after)), 0o666); err != nil {
			return err
		}
	}
	return verdict(w, before, after)
}

// step prints a heading.
func step(w io.Writer, title string) { fmt.Fprintf(w, "\n== %s\n", title) }

// verdict says in a sentence what was seen, and fails unless the rewritten run
// is flat: never more than one workspace, nothing left, nothing found late.
func verdict(w io.Writer, before, after *figures) error {
	if after.Block == 0 {
		return errors.New("the rewritten program measured nothing")
	}
	if after.LateFrees != 0 || after.LiveAtExit != 0 || after.Peak != after.Block {
		return fmt.Errorf("the rewritten program is not flat: peak %d bytes, one workspace is %d; %d bytes live at exit; %d late frees",
			after.Peak, after.Block, after.LiveAtExit, after.LateFrees)
	}
	fmt.Fprintf(w, "\nRewritten, the program holds one workspace at a time: %s at its peak instead of %s (%.0f times less), every buffer freed at its last use.\n",
		size(after.Peak), size(before.Peak), float64(before.Peak)/float64(after.Peak))
	return nil
}
