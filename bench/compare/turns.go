package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// A run asks parts of peers.
type run struct {
	bin, root, out, device string
	processor              int
	traces                 []string // files
	quick                  bool
	patience, limit        time.Duration

	w       io.Writer
	end     time.Time
	peers   map[string]*peer
	log     *os.File
	missing []string
}

// slow is how long an answer may take before its question is asked in two rounds only, and three times
// that, in one.
const slow = 1500 * time.Millisecond

// describe writes what the results are of.
func (r *run) describe() {
	fmt.Fprintf(r.w, "goos: %s\ngoarch: %s\ngo: %s\n", runtime.GOOS, runtime.GOARCH, runtime.Version())
	fmt.Fprintln(r.w, "cores:", runtime.NumCPU())
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
				fmt.Fprintf(r.w, "%s: %s\n", strings.TrimPrefix(s.Key, "vcs."), s.Value)
			}
		}
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		_, after, _ := strings.Cut(string(text), "model name")
		model, _, _ := strings.Cut(strings.TrimLeft(after, "\t :"), "\n")
		fmt.Fprintln(r.w, "cpu:", model)
	}
	query := []string{"--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"}
	if gpu, err := exec.Command("nvidia-smi", query...).Output(); err == nil {
		fmt.Fprintln(r.w, "gpu:", strings.TrimSpace(string(gpu)))
	}
	fmt.Fprintln(r.w, "date:", time.Now().UTC().Format(time.RFC3339))
}

// start starts those peers that have names, all if there are no names, and waits until they answer.
func (r *run) start(ctx context.Context, all []*peer, names []string) (err error) {
	if r.log, err = os.Create(filepath.Join(r.out, "peers.log")); err != nil {
		return err
	}
	r.peers = map[string]*peer{}
	for _, p := range all {
		if names != nil && !slices.Contains(names, strings.TrimSuffix(p.name, wideMark)) {
			continue
		}
		if err := p.start(r.processor, r.log); err != nil {
			r.miss(p.name, err)
			continue
		}
		r.peers[p.name] = p
	}
	for _, p := range r.peers {
		_, err := p.answer(ctx, r.patience)
		if err == nil {
			err = p.pin(r.processor)
		}
		if err != nil {
			r.miss(p.name, err)
			p.dead = err
		}
	}
	return nil
}

// stop ends all peers.
func (r *run) stop() {
	for _, p := range r.peers {
		p.stop()
	}
	r.log.Close()
}

// miss notes that a peer is not there, or did not answer.
func (r *run) miss(name string, why error) {
	line := fmt.Sprintf("%s: %v", name, why)
	if !slices.Contains(r.missing, line) {
		r.missing = append(r.missing, line)
		log.Print("missing: ", line)
	}
}

// ask asks a part's questions in rounds. Each round begins with another peer.
func (r *run) ask(ctx context.Context, p part) {
	begin := time.Now()
	counts := map[string]int{}
	skip := map[string]bool{}
	round := 0
	for ; round < p.rounds; round++ {
		fmt.Fprintf(r.w, "# round %d of %s\n", round, p.name)
		for _, c := range p.cases {
			for i := range c.peers {
				if ctx.Err() != nil || time.Now().After(r.end) || round >= 2 && time.Since(begin) > p.limit {
					break
				}
				name := c.peers[(i+round)%len(c.peers)]
				if rest, ok := strings.CutPrefix(name, "lastuse"); ok {
					name = "lastuse-" + r.device + rest
				}
				at := name
				if c.wide {
					at += wideMark
				}
				key := c.name + " " + at
				who := r.peers[at]
				if who == nil || who.dead != nil || skip[key] {
					continue
				}
				asked := time.Now()
				q, err := who.ask(ctx, c.question, r.patience)
				if ctx.Err() != nil {
					continue
				}
				if err != nil {
					r.miss(at, fmt.Errorf("%s: %w", c.name, err))
					skip[key] = true
					continue
				}
				counts[key]++
				if took := time.Since(asked); took > slow && round > 0 || took > 3*slow {
					skip[key] = true
				}
				fmt.Fprintf(r.w, "Benchmark%s/pool=%s %s\n", c.name, name, c.write(q))
			}
		}
	}
	times := slices.Sorted(maps.Values(counts))
	if len(times) > 0 {
		log.Printf("%s: %d questions answered %d to %d times in %v", p.name, len(times),
			times[0], times[len(times)-1], time.Since(begin).Round(time.Second))
	}
}
