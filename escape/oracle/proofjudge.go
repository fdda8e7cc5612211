package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/lastuse/lastuse/escape/internal/proof"
	"github.com/lastuse/lastuse/escape/oracle/gen"
)

// This file judges the proof without the planner. A trial is a program with one change of
// its frees (gen.Trials); the proof is asked about it. Whether the change is right is known
// by construction, on every branch: the interpreter of package gen runs both programs on
// many decisions, with faults, and knows of each buffer who has it. What the proof accepts
// is compiled and run besides, in the ledger, as every program of the oracle.

// Each program gives this many trials, runs this often in the interpreter, so many of these
// runs with a fault at each operation.
const (
	trialsEach  = 6
	truthRuns   = 24
	truthFaults = 2
)

// truth is what is known of a trial.
type truth uint8

const (
	doubtful truth = iota // nothing was found, and it is not right by construction either
	right
	wrong
)

// verdict is what became of a trial.
type verdict struct {
	*gen.Trial
	id     int // of the program
	number int // of the program's trials
	truth  truth
	why    string // wrong
	answer answer
	rules  []proof.Rule // that withhold it alone, of those that were asked for
	fault  string       // of the judge: a program does not do what the interpreter predicts of it
	source [2]gen.Source
}

// trialSeed makes the trials of a program.
func trialSeed(seed uint64, id int) uint64 { return seed<<32 + uint64(id) }

// A referee judges trials.
type referee struct {
	ask   func(old, edited gen.Source, without ...proof.Rule) (answer, error)
	seed  uint64
	rules bool // find out which rule withholds
	only  string

	mu     sync.Mutex
	caught map[proof.Rule]int
}

// program judges the trials of one program.
func (r *referee) program(id, n int) ([]*verdict, error) {
	p := programs(r.seed, id, id+1)[0]
	var ref *gen.Reference
	var res []*verdict
	for i, t := range gen.Trials(p, n, trialSeed(r.seed, id)) {
		if !strings.Contains(t.How, r.only) {
			continue
		}
		v := &verdict{Trial: t, id: id, number: i}
		var err error
		if v.source[0], err = gen.Print(t.Old, trialDir); err == nil {
			v.source[1], err = gen.Print(t.New, trialDir)
		}
		if err != nil {
			return nil, fmt.Errorf("trial %d of program %d: %s: %w", i, id, t.How, err)
		}
		if v.source[0] == v.source[1] {
			continue
		}
		of := ref
		if t.Old != p || ref == nil {
			if of, err = gen.NewReference(t.Old, truthRuns, truthFaults); err != nil {
				continue // wrong in a run that the generator did not make
			}
		}
		if t.Old == p {
			ref = of
		}
		if err := r.judge(v, of); err != nil {
			return nil, fmt.Errorf("trial %d of program %d: %s: %w\n%s", i, id, t.How, err, v.source[1].Main)
		}
		res = append(res, v)
	}
	return res, nil
}

// judge finds out what is true of a trial, and asks the proof.
func (r *referee) judge(v *verdict, of *gen.Reference) (err error) {
	if v.answer, err = r.ask(v.source[0], v.source[1]); err != nil {
		return err
	}
	v.why = of.Differs(v.New)
	switch {
	case v.answer.broken != nil:
		v.truth, v.why = wrong, v.answer.broken.Error()
	case v.why != "":
		v.truth = wrong
	case v.Wrong != "":
		v.truth, v.why = wrong, v.Wrong
	case v.Right:
		v.truth = right
	}
	if r.rules && v.truth == wrong && v.answer.why != nil && v.answer.broken == nil {
		return r.which(v)
	}
	return nil
}

// enough is how many trials of each rule are found out; more cost time and show nothing.
const enough = 4

// which finds out which rules withhold v alone.
func (r *referee) which(v *verdict) error {
	for _, rule := range proof.Rules {
		r.mu.Lock()
		asked := r.caught[rule] < enough
		r.mu.Unlock()
		if !asked {
			continue
		}
		a, err := r.ask(v.source[0], v.source[1], rule)
		if err != nil {
			return err
		}
		if a.accepted() {
			v.rules = append(v.rules, rule)
			r.mu.Lock()
			r.caught[rule]++
			r.mu.Unlock()
		}
	}
	return nil
}

// proofRun judges n trials and returns how many were accepted wrongly.
func proofRun(ctx context.Context, o options, temp string, stdout, stderr io.Writer) (int, error) {
	p, err := newProver(ctx, temp+"/prover", o.std)
	if err != nil {
		return 0, err
	}
	r := &referee{ask: p.ask, seed: o.seed, rules: o.rules, only: o.only, caught: map[proof.Rule]int{}}
	f := newTally(o)
	begin := time.Now()
	type done struct {
		list []*verdict
		err  error
	}
	results := make(chan done)
	ids := make(chan int)
	stop := make(chan struct{})
	var workers sync.WaitGroup
	go func() {
		defer close(ids)
		for id := o.from; ; id += o.batch {
			select {
			case ids <- id:
			case <-stop:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	for w := range o.jobs {
		dir := fmt.Sprintf("%s/worker%d", temp, w)
		workers.Go(func() {
			for id := range ids {
				list, err := r.batch(ctx, id, dir, o)
				results <- done{list, err}
			}
		})
	}
	go func() { workers.Wait(); close(results) }()
	stopped := false
	for d := range results {
		if d.err != nil && ctx.Err() == nil {
			fmt.Fprintf(stderr, "oracle: %v\n", d.err)
			err = errors.Join(err, d.err)
		}
		for _, v := range d.list {
			if f.trials < o.n {
				f.add(v)
			}
		}
		took := time.Since(begin)
		fmt.Fprintf(stderr, "%s: %d of %d trials, %.1f a second; accepted %d, wrongly %d\n", took.Round(time.Second),
			f.trials, o.n, float64(f.trials)/took.Seconds(), f.all.accepted, f.all.wrongly)
		if (f.trials >= o.n || err != nil) && !stopped {
			stopped = true
			close(stop)
		}
	}
	text := f.String()
	fmt.Fprint(stdout, text)
	if o.out != "" {
		if err := os.WriteFile(o.out, []byte(config("", o, begin)+text), 0o644); err != nil {
			return 0, err
		}
	}
	if n := len(f.faults); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d faults of the judge", n))
	}
	return f.all.wrongly, errors.Join(err, f.save(o, stderr))
}

// batch judges the trials of programs that are compiled, and run, together.
func (r *referee) batch(ctx context.Context, id int, dir string, o options) ([]*verdict, error) {
	var res []*verdict
	for i := range o.batch {
		list, err := r.program(id+i, trialsEach)
		if err != nil {
			return nil, err
		}
		res = append(res, list...)
	}
	return res, confirm(ctx, dir, res, o)
}

// confirm compiles and runs what was accepted, and one of sixteen of what is wrong: there
// the interpreter and the compiled program must agree.
func confirm(ctx context.Context, dir string, list []*verdict, o options) error {
	defer os.RemoveAll(dir)
	var chosen []*verdict
	var olds, news []*gen.Program
	edited := map[int]*gen.Program{}
	for i, v := range list {
		if v.answer.broken != nil || !v.answer.accepted() && (v.truth != wrong || i%16 > 0) {
			continue
		}
		q := gen.Clone(v.New, len(chosen))
		q.Like = v.Old
		edited[q.ID] = q
		olds, news = append(olds, gen.Clone(v.Old, len(chosen))), append(news, q)
		chosen = append(chosen, v)
	}
	if len(chosen) == 0 {
		return nil
	}
	b, err := newBatch(dir, Pool{})
	if err != nil {
		return err
	}
	if err := b.put("orig", olds); err != nil {
		return err
	}
	if err := b.put("fixed", news); err != nil {
		return err
	}
	b.Edited = edited
	or := &Oracle{Options: RunOptions{o.runs, o.faults}}
	res, err := or.judge(ctx, b, olds)
	if err != nil {
		return err
	}
	for i, oc := range res {
		v := chosen[i]
		for _, f := range oc.Wrong() {
			switch {
			case f.Kind == Model:
				v.fault = f.String()
			case f.Kind == Twice && f.Site >= 0 && v.Old.Sites[f.Site].Res == gen.RBuffer: // harmless
			case v.truth != wrong:
				v.truth, v.why = wrong, "when it ran: "+f.String()
			}
		}
	}
	return nil
}
