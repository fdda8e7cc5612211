package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// complete is the last line of a raw file whose part ran to its end.
const complete = "complete: true"

// A raw is the raw file of a part while it is written.
type raw struct {
	*bench
	ctx     context.Context
	w       io.Writer
	round   int
	missing map[string]bool // what was said of peers that did not answer
}

// slow is how long an answer may take before its question is asked in two rounds only, and three times that,
// in one.
const slow = 1500 * time.Millisecond

// runAll runs parts. The peers that they ask run from the beginning, so that all have loaded what they load.
func (b *bench) runAll(ctx context.Context, chosen []part) error {
	if err := os.MkdirAll(b.dir(), 0o777); err != nil {
		return err
	}
	var todo []part
	for _, p := range chosen {
		old, err := load(b.file(p.name))
		switch {
		case err != nil:
			return err
		case p.gpu && !b.gpu():
			log.Printf("%s: there is no GPU: what is there stays as it was", p.name)
		case old != nil && old.complete && old.config["commit"] == b.commit() && old.config["mode"] == b.mode():
			log.Printf("%s: %s is complete, of this commit: it is not run again", p.name, b.file(p.name))
		default:
			todo = append(todo, p)
		}
	}
	if err := b.startPeers(ctx, todo); err != nil {
		return err
	}
	defer b.stopPeers()
	var errs []error
	for _, p := range todo {
		if ctx.Err() != nil || time.Now().After(b.end) {
			errs = append(errs, fmt.Errorf("%s: there was no time left", p.name))
			continue
		}
		if err := b.runOne(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// runOne runs a part into a file that takes the old one's place when it is complete.
func (b *bench) runOne(ctx context.Context, p part) error {
	begin := time.Now()
	partial := b.file(p.name) + ".partial"
	f, err := os.Create(partial)
	if err != nil {
		return err
	}
	r := &raw{bench: b, ctx: ctx, w: f, missing: map[string]bool{}}
	b.describe(f)
	fmt.Fprintf(f, "part: %s\n", p.name)
	if p.run != nil {
		err = p.run(r)
	} else {
		err = r.askAll(p)
	}
	if err = errors.Join(err, ctx.Err()); err == nil {
		_, err = fmt.Fprintln(f, complete)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	log.Printf("%s: %v", p.name, time.Since(begin).Round(time.Second))
	return os.Rename(partial, b.file(p.name))
}

// askAll asks a part's questions in rounds. Each round begins with another peer.
func (r *raw) askAll(p part) error {
	begin := time.Now()
	skip := map[string]bool{}
	answers := 0
	for r.round = 0; r.round < p.rounds; r.round++ {
		fmt.Fprintf(r.w, "round: %d\n", r.round)
		for _, q := range p.asked {
			for i := range q.peers {
				name := q.peers[(i+r.round)%len(q.peers)]
				key := q.question + " " + name
				late := time.Now().After(r.end) || r.round >= 2 && time.Since(begin) > p.limit
				if r.ctx.Err() != nil || late || skip[key] || q.once && r.round > 0 {
					continue
				}
				asked := time.Now()
				ok := r.askOne(q, name)
				if ok {
					answers++
				}
				took := time.Since(asked)
				skip[key] = !ok || took > slow && r.round > 0 || took > 3*slow
			}
		}
	}
	if r.round = 0; answers == 0 {
		return errors.New("nobody answered")
	}
	if time.Now().After(r.end) {
		return errors.New("there was no time left")
	}
	return nil
}

// askOne asks one peer, writes what its answer comes to, and reports whether there was one.
func (r *raw) askOne(q asked, name string) bool {
	p := r.running[name]
	if p == nil {
		return false
	}
	a, err := p.ask(r.ctx, q.question, r.patience)
	if r.ctx.Err() != nil {
		return false
	}
	if err != nil {
		r.miss(strings.TrimSuffix(name, wide), err.Error())
		return false
	}
	for _, line := range q.lines(strings.TrimSuffix(name, wide), a) {
		fmt.Fprintln(r.w, line)
	}
	return true
}

// miss notes, once, that a peer is not there or did not answer.
func (r *raw) miss(name, why string) {
	why, _, _ = strings.Cut(strings.TrimSpace(why), "\n")
	line := name + ": " + why
	if !r.missing[line] {
		r.missing[line] = true
		fmt.Fprintln(r.w, "missing:", line)
		log.Print("missing: ", line)
	}
}

// startPeers starts those that are asked in some part, and waits until they answer.
func (b *bench) startPeers(ctx context.Context, chosen []part) (err error) {
	if b.log, err = os.Create(filepath.Join(b.dir(), "peers.log")); err != nil {
		return err
	}
	var wanted []string
	for _, p := range chosen {
		for _, q := range p.asked {
			wanted = append(wanted, q.peers...)
		}
	}
	b.running = map[string]*peer{}
	for _, p := range b.peers {
		if slices.Contains(wanted, p.name) {
			b.running[p.name] = p
			p.dead = p.start(ctx, b.processor, b.log)
		}
	}
	for _, p := range b.running {
		if p.dead == nil {
			_, err := p.answer(ctx, b.patience)
			if err == nil {
				err = p.pin(b.processor)
			}
			p.dead = err
		}
	}
	return nil
}

// stopPeers ends all peers.
func (b *bench) stopPeers() {
	for _, p := range b.running {
		p.stop()
	}
	b.log.Close()
}

// goTest returns what runs benchmarks of a test binary so many times; of a quick run once, those of quick.
func goTest(binary, pattern, quick, length string, count int, more ...string) func(*raw) error {
	return func(r *raw) error {
		if r.quick {
			pattern, count = quick, 1
		}
		args := []string{"-test.run=^$", "-test.bench=" + pattern, "-test.benchtime=" + length}
		for round := range count { // all of them in each, so that what drifts falls on all alike
			cmd := exec.CommandContext(r.ctx, filepath.Join(r.bin, binary), append(args, more...)...)
			cmd.Stderr = r.log
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("%s: %w: %s", binary, err, bytes.TrimSpace(out))
			}
			fmt.Fprintf(r.w, "round: %d\n", round)
			for line := range strings.Lines(string(out)) {
				if strings.HasPrefix(line, "Benchmark") {
					fmt.Fprint(r.w, line)
				}
			}
		}
		return nil
	}
}
