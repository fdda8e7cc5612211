// Report asks allocators in turn, each in a process of its own, keeps what they answer, and makes of it
// docs/benchmarks.md and the figures in the README; of a quick run, bench/results/quick/benchmarks.md.
//
//	go run ./bench/report [-quick] [-set NAME] [-parts LIST] [-limit TIME]
//	go run ./bench/report -build DIR            build all that runs, for a machine without Go
//	DIR/report -bin DIR -set NAME               run what was built there
//	go run ./bench/report -set NAME -render     run nothing: tables and plots of what is there
//
// All peers run from the beginning, pinned to one processor but for those that are asked what takes several,
// and wait for a question on their standard input, so that only one is at work at any time. A question is
// asked of every peer before the next round asks it again, and each round begins with another peer.
//
// Each part has one raw file, bench/results/SET/PART.txt, which benchstat reads. It takes the old one's
// place when the part is complete: a run that was interrupted goes on, with the same command, behind what
// is complete, and a part that needs a GPU keeps its file, with the commit that it is of, where there is
// none. A peer that cannot start, ends, or gives no answer for a while is named as missing, in the raw file
// and under its table, and the others go on.
//
// questions.go and early.go have what is asked, turns.go how, peer.go whom; memwatch.go and analyzer.go are
// parts with peers of another kind. results.go reads raw files, goals.go holds them against what they are to
// reach, document.go and pictures.go show them.
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
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lastuse/lastuse/bench/trace"
)

// A bench is one run of the report.
type bench struct {
	root      string // the module's folder
	set       string // name of the set of results
	bin       string // folder of what was built
	quick     bool
	processor int           // that peers are pinned to; -1 pins none
	patience  time.Duration // that a peer may take
	end       time.Time     // nothing begins after it

	peers   []*peer
	running map[string]*peer // those that are asked, by name
	log     *os.File         // what they complain of
}

// dir returns the folder of the raw files.
func (b *bench) dir() string { return filepath.Join(b.root, "bench", "results", b.set) }

// file returns the name of a part's raw file.
func (b *bench) file(part string) string { return filepath.Join(b.dir(), part+".txt") }

func main() {
	log.SetFlags(0)
	log.SetPrefix("report: ")
	b := &bench{}
	flag.BoolVar(&b.quick, "quick", false, "two rounds, shorter ones: about a minute")
	flag.StringVar(&b.set, "set", "", "`name` of the set of results (default quick or full)")
	flag.StringVar(&b.bin, "bin", "", "run what -build has built in this `folder`")
	flag.IntVar(&b.processor, "processor", runtime.NumCPU()-1, "the peers' `number`; -1 pins none")
	flag.DurationVar(&b.patience, "patience", time.Minute, "how long a peer may take for an answer")
	limit := flag.Duration("limit", 9*time.Minute, "of the whole: what is not done by then is left as it was")
	names := flag.String("parts", "", "run these parts only, a comma between")
	build := flag.String("build", "", "build into this `folder` and do nothing else")
	render := flag.Bool("render", false, "run nothing: make tables and plots of what is there")
	flag.Parse()
	if b.set == "" {
		b.set = b.mode()
	}
	if err := b.sane(*limit); err != nil {
		log.Fatal(err)
	}
	b.end = time.Now().Add(*limit)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.main(ctx, *names, *build, *render); ctx.Err() != nil {
		log.Print("interrupted: what is complete is kept, the same command goes on with the rest")
		os.Exit(130)
	} else if err != nil {
		log.Fatal(err)
	}
}

// setName is what the name of a set, which is that of a folder, may be.
var setName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// sane returns what is wrong with the flags, if anything is.
func (b *bench) sane(limit time.Duration) error {
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case !setName.MatchString(b.set):
		return fmt.Errorf("set %q: want letters, digits, - and _", b.set)
	case b.patience <= 0 || limit <= 0:
		return errors.New("-patience and -limit: want a time above 0")
	case b.bin != "" && !exists(filepath.Join(b.bin, commitFile)):
		return fmt.Errorf("-bin %s: nothing that -build has built is there", b.bin)
	}
	return nil
}

func (b *bench) main(ctx context.Context, names, build string, render bool) (err error) {
	if b.root, err = filepath.Abs("."); err != nil || !exists(filepath.Join("bench", "report")) {
		return errors.Join(err, errors.New("run it in the module's root"))
	}
	if build != "" {
		return b.build(build, true)
	}
	if render {
		return b.render()
	}
	tmp, err := os.MkdirTemp("", "lastuse-report-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if b.bin == "" {
		b.bin = tmp
		if err := b.build(tmp, false); err != nil {
			return err
		}
	}
	if b.bin, err = filepath.Abs(b.bin); err != nil {
		return err
	}
	all, err := b.parts(tmp)
	if err != nil {
		return err
	}
	var chosen []part
	for _, p := range all {
		if names == "" || slices.Contains(strings.Split(names, ","), p.name) {
			chosen = append(chosen, p)
		}
	}
	if names != "" && len(chosen) != 1+strings.Count(names, ",") {
		return fmt.Errorf("-parts %s: some of these is no part", names)
	}
	b.peers = peers(b.bin, filepath.Join(b.root, "bench", "peers"))
	return errors.Join(b.runAll(ctx, chosen), b.render())
}

// parts returns all parts, with the traces that they replay written into a folder.
func (b *bench) parts(dir string) ([]part, error) {
	files, err := filepath.Glob(filepath.Join(b.root, "bench", "data", "traces", "*.trace.gz"))
	if err != nil {
		return nil, err
	}
	programs, err := trace.Recorded(files)
	if err != nil {
		return nil, err
	}
	var random []*trace.Steps
	for _, n := range []int{1000, 10_000} {
		for _, most := range []int64{1, 64, 256, 1024} {
			random = append(random, trace.Random(n, most))
		}
	}
	for _, s := range slices.Concat(random, programs) {
		if err := s.Write(dir); err != nil {
			return nil, err
		}
	}
	return parts(random, programs, b.quick), nil
}
