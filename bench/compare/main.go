// Compare asks allocators in turn, each in a process of its own, and prints lines that benchstat reads.
//
//	go run ./bench/compare [-bin DIR] [-device cuda|host] [-out DIR] [-quick]
//	        [-parts LIST] [-peers LIST] [-run EXPRESSION] [TRACE…]
//
// Peers are this module's pools, RMM's memory resources, PyTorch's caching allocator, CuPy's pool and the
// driver's; bench/peers has them, and -bin is the folder in which those in C++ were built
// (bench/peers/build.sh). All of them run from the beginning, pinned to one processor, and wait for a
// question on their standard input, so that only one is at work at any time: a question is asked of every
// peer before the next round asks it again, each round beginning with another peer. A question begins and
// ends without memory: what a peer keeps is never in the way of the next one.
//
// Parts: pair (a Make and its Free, warm), trace (RMM's random_allocations and recorded traces, replayed;
// memory in the same run), first (a pool's first buffer), steady (device calls with a limit), copy and
// streams (on all processors).
//
// A TRACE is a file that bench/trace reads; without any, those of bench/data/traces are replayed.
//
// Raw lines go to DIR/compare.txt at once, what peers complain of to DIR/peers.log, medians to
// DIR/summary.txt. A peer that cannot start, ends, or gives no answer for a while is named as missing, and
// the others go on. The peer's side is in own.go, and the whole of what is asked in cases.go; peer.hpp says
// what the lines between them look like.
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
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("compare: ")
	var r run
	flag.StringVar(&r.bin, "bin", ".peers", "`folder` of the peers that were built")
	flag.StringVar(&r.root, "root", ".", "the module's `folder`")
	flag.StringVar(&r.out, "out", ".", "`folder` for what is found")
	flag.StringVar(&r.device, "device", "cuda", "of this module's pools: cuda or `host`")
	flag.IntVar(&r.processor, "processor", runtime.NumCPU()-1, "the peers' `number`; -1 pins none")
	flag.BoolVar(&r.quick, "quick", false, "two rounds only")
	flag.DurationVar(&r.patience, "patience", 90*time.Second, "how long a peer may take for an answer")
	flag.DurationVar(&r.limit, "limit", 8*time.Minute, "of the whole: what is not asked by then is left out")
	partList := flag.String("parts", "", "`list` of parts, a comma between; all if empty")
	peerList := flag.String("peers", "", "`list` of peers, a comma between; all if empty")
	matching := flag.String("run", "", "ask only what has a result that matches this `expression`")
	name := flag.String("serve", "", "be the peer of this `name`")
	flag.Parse()
	r.traces = flag.Args()
	if *name != "" {
		if err := serve(*name, os.Stdin, os.Stdout); err != nil {
			log.Fatal(err)
		}
		return
	}
	match, err := regexp.Compile(*matching)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := r.main(ctx, list(*partList), list(*peerList), match); err != nil {
		log.Fatal(err)
	}
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// main starts the peers and asks what there is to ask.
func (r *run) main(ctx context.Context, partNames, peerNames []string, match *regexp.Regexp) error {
	r.end = time.Now().Add(r.limit)
	if err := os.MkdirAll(r.out, 0o777); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(r.out, "compare.txt"))
	if err != nil {
		return err
	}
	defer f.Close()
	r.w = f
	dir, err := os.MkdirTemp("", "lastuse-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r.describe()
	random := randoms([]int{1000, 10_000}, []int64{1, 64, 256, 1024})
	if len(r.traces) == 0 {
		pattern := filepath.Join(r.root, "bench", "data", "traces", "*.trace.gz")
		r.traces, _ = filepath.Glob(pattern) // which is a good one
	}
	programs, err := recorded(r.traces)
	if err != nil {
		return err
	}
	for _, s := range slices.Concat(random, programs) {
		if err := s.write(dir); err != nil {
			return err
		}
	}
	chosen, err := choose(parts(random, programs, r.quick), partNames, match)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	scripts := filepath.Join(r.root, "bench", "peers")
	if err := r.start(ctx, peers(r.bin, scripts, self, "lastuse-"+r.device), peerNames); err != nil {
		return err
	}
	defer r.stop()
	for _, p := range chosen {
		r.ask(ctx, p)
	}
	for _, why := range r.missing {
		fmt.Fprintln(r.w, "missing:", why)
	}
	if ctx.Err() == nil {
		fmt.Fprintln(r.w, "complete: true")
	}
	return errors.Join(r.summarize(f.Name()), ctx.Err())
}
