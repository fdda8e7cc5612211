// Oracle tests the analyzer on random programs whose every buffer's death is
// known by construction.
//
//	go run ./escape/oracle -n 100000 -seed 7
//
// Package gen makes the programs and predicts each of their runs: what they
// print, and which buffers the variables reach that liveness calls live at each
// probe. A batch of programs becomes one module. Lastuse rewrites a copy of it;
// original and copy are compiled into one command, run with the collector off,
// then again with a fault at each operation: an error, and a panic. Compared are
// output, uses after free, double frees, live buffers at every probe and at the
// exit. With -pool alloc the pool is the real one in Check mode, otherwise a
// ledger that knows each buffer by name.
//
// With -proof it judges the proof instead, without the rewriter: on changes of frees
// of which gen knows whether they are right (proofjudge.go).
//
// Never trust one side: a run in which the original does not do what was
// predicted is a failure of the oracle, and stops it from judging; tests apply
// wrong rewrites on purpose and demand that they are found.
//
// The programs of a run depend on -seed alone, so -from resumes where an earlier
// run stopped. Interrupted, it prints the figures of the batches that are done.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

type options struct {
	n, from, batch, jobs int
	seed                 uint64
	pool                 string
	tool                 string
	out                  string
	fails, commit        string
	shrink, examples     int
	like                 string
	runs, faults         int
	stable               int
	quiet                bool
	write                string
	without              string
	proof, rules, std    bool
	readable             bool
	only                 string
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 1000, "programs")
	flag.IntVar(&o.from, "from", 0, "number of the first program, to resume")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of all programs")
	flag.IntVar(&o.batch, "batch", 100, "programs in one build")
	flag.IntVar(&o.jobs, "j", 2, "batches at once")
	flag.StringVar(&o.pool, "pool", "ledger", "what stands behind package alloc: ledger, or alloc in Check mode")
	flag.StringVar(&o.tool, "lastuse", "", "lastuse command (default: built from this module)")
	flag.StringVar(&o.out, "o", "", "write the figures to this file, for bench/results")
	flag.StringVar(&o.fails, "fails", "", "write shrunk failures to this folder, as txtar files")
	flag.StringVar(&o.commit, "commit", "", "what the figures are of, for the file of -o (default: asks git)")
	flag.IntVar(&o.shrink, "shrink", 5, "wrong edits to shrink")
	flag.IntVar(&o.examples, "examples", 0, "shrink an example of this many of the most frequent reasons for buffers left alone")
	flag.StringVar(&o.like, "like", "", "of these, only those that have this text")
	flag.IntVar(&o.runs, "runs", 8, "runs of a program without faults")
	flag.IntVar(&o.faults, "faults", 1, "of these, how many are repeated with a fault at each operation")
	flag.IntVar(&o.stable, "stable", 4, "check in every so many batches that a second rewrite changes nothing; 0: never")
	flag.StringVar(&o.write, "write", "", "only write the programs and what becomes of them, as one module, to this new folder")
	flag.StringVar(&o.without, "without", "", "leave out the programs that have one of these constructs, separated by commas")
	flag.StringVar(&o.only, "only", "", "with -proof: of the trials, only those whose name has this text")
	flag.BoolVar(&o.readable, "readable", true, "an inserted free in front of a read of the buffer's name is a wrong edit")
	flag.BoolVar(&o.proof, "proof", false, "judge the proof instead of the rewriter: -n changes of frees, most of them wrong")
	flag.BoolVar(&o.std, "std", false, "with -proof: summarize the standard library, too, which takes half a minute")
	flag.BoolVar(&o.rules, "rules", false, "with -proof: which rule withholds what")
	flag.BoolVar(&o.quiet, "q", false, "no progress")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	wrong, err := run(ctx, o, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
	if wrong > 0 {
		os.Exit(3)
	}
}

// leftOut returns the constructs that no program has.
func (o options) leftOut() []string {
	return strings.FieldsFunc(o.without, func(r rune) bool { return r == ',' })
}

// run runs the batches and returns the number of wrong edits.
func run(ctx context.Context, o options, stdout, stderr io.Writer) (wrong int, err error) {
	temp, err := os.MkdirTemp("", "oracle")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temp)
	if o.quiet {
		stderr = io.Discard
	}
	if o.proof {
		return proofRun(ctx, o, temp, stdout, stderr)
	}
	repo, missing := repository()
	if missing != nil && (o.tool == "" || o.pool != "ledger") {
		return 0, missing // otherwise the module's source is not needed
	}
	if o.tool == "" {
		if o.tool, err = buildTool(ctx, repo, temp); err != nil {
			return 0, err
		}
	}
	or := &Oracle{Rewriter: tool{path: o.tool}, Options: RunOptions{o.runs, o.faults}, Temp: temp, Readable: o.readable}
	switch o.pool {
	case "ledger":
	case "alloc":
		or.Pool.Repo = repo
	default:
		return 0, fmt.Errorf("-pool %s: want ledger or alloc", o.pool)
	}
	if o.write != "" {
		return 0, or.write(ctx, o.write, programs(o.seed, o.from, o.from+o.n, o.leftOut()...))
	}
	f := newFigures(o)
	begin := time.Now()
	type done struct {
		res []*Outcome
		err error
	}
	results := make(chan done)
	starts := make(chan int)
	go func() {
		defer close(starts)
		for at := o.from; at < o.from+o.n; at += o.batch {
			select {
			case starts <- at:
			case <-ctx.Done():
				return
			}
		}
	}()
	for range o.jobs {
		go func() {
			for at := range starts {
				b := *or
				b.Stable = o.stable > 0 && at/o.batch%o.stable == 0
				res, err := b.Run(ctx, programs(o.seed, at, min(at+o.batch, o.from+o.n), o.leftOut()...))
				results <- done{res, err}
			}
			results <- done{}
		}()
	}
	for working := o.jobs; working > 0; {
		d := <-results
		switch {
		case d.res == nil && d.err == nil:
			working--
			continue
		case d.err != nil && ctx.Err() == nil:
			fmt.Fprintf(stderr, "oracle: %v\n", d.err)
			err = errors.Join(err, d.err)
		}
		for _, oc := range d.res {
			f.add(oc)
		}
		if len(d.res) > 0 {
			took := time.Since(begin)
			fmt.Fprintf(stderr, "%s: %d of %d programs, %.1f a second; %s\n", took.Round(time.Second), f.programs, o.n,
				float64(f.programs)/took.Seconds(), f.short())
		}
	}
	if ctx.Err() != nil {
		fmt.Fprintf(stdout, "interrupted after %d programs\n", f.programs)
	}
	text := f.String()
	fmt.Fprint(stdout, text)
	if o.out != "" {
		if err := os.MkdirAll(filepath.Dir(o.out), 0o755); err != nil {
			return 0, err
		}
		if err := os.WriteFile(o.out, []byte(config(repo, o, begin)+text), 0o644); err != nil {
			return 0, err
		}
	}
	return f.wrong, errors.Join(err, examples(ctx, or, f, o, stderr))
}

// config is the head of a results file: lines that benchstat reads.
func config(repo string, o options, begin time.Time) string {
	commit := o.commit
	if commit == "" {
		commit = "unknown"
		if out, err := exec.Command("git", "-C", repo, "rev-parse", "--short", "HEAD").Output(); err == nil {
			commit = strings.TrimSpace(string(out))
		}
	}
	what := "-pool " + o.pool
	if o.proof {
		what = "-proof"
	}
	return fmt.Sprintf("go: %s\ngoos: %s\ngoarch: %s\ncpus: %d\ncommit: %s\ncommand: go run ./escape/oracle %s -n %d -from %d -seed %d\ntook: %s\n\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), commit, what, o.n, o.from, o.seed, time.Since(begin).Round(time.Second))
}

// repository returns the root of the module the command is run in.
func repository() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/lastuse/lastuse").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func buildTool(ctx context.Context, repo, dir string) (string, error) {
	bin := filepath.Join(dir, "lastuse")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/lastuse")
	cmd.Dir = repo
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build lastuse: %w: %s", err, out)
	}
	return bin, nil
}
