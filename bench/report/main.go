// Report runs the benchmarks that this machine can run, keeps what they print, and makes of it the
// tables and plots of docs/benchmarks.md and the table in the README; of a quick report, of
// bench/results/quick/benchmarks.md.
//
//	go run ./bench/report [-quick] [-set NAME] [-parts LIST] [-no-peers] [-render] [-list]
//	go run ./bench/report -build DIR     build all that runs, for a machine without Go
//	report -bin DIR …                    run what was built there
//
// Each part writes one file, bench/results/SET/PART.txt: lines as go test prints them, which benchstat
// reads, under lines that say which machine, processor, GPU, driver, Go and commit they are from. A part whose
// file is complete is not run again: a report that was interrupted, with Ctrl-C too, goes on with the part it was in. With -quick
// all parts are shorter, about a minute in all; what is left out the command says, and -help. With an empty build cache it
// first compiles for some minutes. -render only makes tables and plots of the set that is there. A peer that is missing on this
// machine is named as missing, with the reason, in the raw file and under its table.
//
// What the machine of a set cannot run, another one may: -set SET/PLACE writes bench/results/SET/PLACE/PART.txt, which the set's
// document shows with the machine that it is from.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A bench is one run of the report.
type bench struct {
	root  string // the module's folder
	set   string // name of the set of results
	place string // of a machine that is not the set's: a folder in it; may be empty
	bin   string // folder of what was built
	quick bool
	alone bool // leave other allocators out
	bar   *bar
	ctx   context.Context // ends at Ctrl-C

	patience time.Duration // that a peer may take
	blocks   int           // of the part byhand; 0 is as many as a full or a quick run has
}

// dir returns the folder of the raw files.
func (b *bench) dir() string { return filepath.Join(b.root, "bench", "results", b.set, b.place) }

func main() {
	log.SetFlags(0)
	log.SetPrefix("report: ")
	b := &bench{}
	flag.BoolVar(&b.quick, "quick", false, "about a minute: see below")
	flag.BoolVar(&b.alone, "no-peers", false, "leave other allocators out")
	flag.StringVar(&b.set, "set", "", "`name` of the set of results (default quick or full); NAME/PLACE for parts from another machine than the set's")
	flag.StringVar(&b.bin, "bin", "", "run what -build has built in this `folder`")
	flag.DurationVar(&b.patience, "patience", 10*time.Minute, "how long a peer may take")
	flag.IntVar(&b.blocks, "blocks", 0, "how many blocks of four runs the part byhand has, instead of 400, or 7 with -quick")
	names := flag.String("parts", "", "run these parts only, a comma between")
	build := flag.String("build", "", "build into this `folder` and do nothing else")
	render := flag.Bool("render", false, "run nothing: make tables and plots of what is there")
	list := flag.Bool("list", false, "list the parts")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "usage: report [flags]\n\nIt runs the benchmarks that this machine can run and makes tables and plots of what they print.\n\n")
		flag.PrintDefaults()
		fmt.Fprint(flag.CommandLine.Output(), "\n", quickRule, "\n")
	}
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument %q", flag.Arg(0))
	}
	if b.set == "" {
		b.set = "full"
		if b.quick {
			b.set = "quick"
		}
	}
	if err := errors.Join(b.name(b.set), b.sane()); err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	b.ctx = ctx
	err := b.main(*names, *build, *render, *list)
	interrupted := ctx.Err() != nil
	stop()
	if interrupted {
		log.Print("interrupted: parts that are complete are kept, the same command goes on with the others")
		os.Exit(130)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// name takes the set's name, and the place's if there is one behind it.
func (b *bench) name(set string) error {
	name, place, placed := strings.Cut(set, "/")
	if !setName.MatchString(name) || placed && !setName.MatchString(place) {
		return fmt.Errorf("set %q: want NAME or NAME/PLACE, each of letters, digits, - and _", set)
	}
	b.set, b.place = name, place
	return nil
}

// sane returns what is wrong with the flags, if anything is.
func (b *bench) sane() error {
	if b.blocks < 0 {
		return fmt.Errorf("-blocks %d: want 1 or more, or 0 for as many as there are by default", b.blocks)
	}
	if b.patience <= 0 {
		return fmt.Errorf("-patience %v: want a time above 0", b.patience)
	}
	if b.bin == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(b.bin, commitFile)); err != nil {
		return fmt.Errorf("-bin %s: nothing that -build has built is there: %w", b.bin, err)
	}
	return nil
}

// setName is what the name of a set, which is that of a folder, may be.
var setName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (b *bench) main(names, build string, render, list bool) error {
	if list {
		for _, p := range parts {
			fmt.Printf("%-10s %s\n", p.name, p.title)
		}
		return nil
	}
	root, err := findRoot()
	if err != nil {
		return err
	}
	b.root = root
	if build != "" {
		return b.build(build)
	}
	chosen := parts
	if names != "" {
		chosen = nil
		for name := range strings.SplitSeq(names, ",") {
			i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
			if i < 0 {
				return fmt.Errorf("there is no part %q: see -list", name)
			}
			chosen = append(chosen, parts[i])
		}
	}
	var failed []error
	if !render {
		if b.bin == "" {
			dir, err := os.MkdirTemp("", "lastuse-report-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			if err := b.build(dir); err != nil {
				return err
			}
			b.bin = dir
		}
		if b.bin, err = filepath.Abs(b.bin); err != nil {
			return err
		}
		if b.quick {
			log.Print(quickRule)
		}
		b.bar = newBar(os.Stderr, len(chosen))
		for _, p := range chosen {
			if b.ctx.Err() != nil {
				break
			}
			if err := b.run(p); err != nil && b.ctx.Err() == nil {
				failed = append(failed, fmt.Errorf("%s: %w", p.name, err))
			}
		}
		b.bar.done()
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
	}
	return errors.Join(append(failed, b.render())...)
}

// findRoot returns the folder of the module, which is this one or above.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "bench", "report")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("run it inside the module")
		}
		dir = filepath.Dir(dir)
	}
}
