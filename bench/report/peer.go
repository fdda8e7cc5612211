package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lastuse/lastuse/bench/ask"
)

// A peer is an allocator in a process of its own.
type peer struct {
	name string
	args []string // its command
	env  []string // more of its environment
	late bool     // it is pinned once it has started: what it loads takes long on one processor

	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan string // closed when there are no more
	dead    error       // why it is asked no more
}

// wide ends the name of a peer that may use all processors, among those that are asked.
const wide = "/wide"

// peers returns all peers. bin is the folder of what was built, scripts that of the others.
func peers(bin, scripts string) (all []*peer) {
	add := func(name string, args ...string) *peer {
		p := &peer{name: name, args: args, late: args[0] == "python3"}
		all = append(all, p)
		return p
	}
	for _, device := range []string{"lastuse-cuda", "lastuse-host"} {
		for _, kind := range []string{"", "-nosites", "-tight", "-fast"} {
			add(device+kind, filepath.Join(bin, "peer"), device+kind)
		}
		add(device+wide, filepath.Join(bin, "peer"), device)
	}
	add("lastuse-host-bare", filepath.Join(bin, "peer-bare"), "lastuse-host-bare")
	for _, kind := range []string{"pool", "preset", "arena", "async", "async-grown"} {
		add("rmm-"+kind, filepath.Join(bin, "rmm_peer"), kind)
	}
	torch := filepath.Join(scripts, "torch_peer.py")
	for _, kind := range []string{"native", "expandable", "async"} {
		add("torch-"+kind, "python3", torch, kind, bin)
	}
	add("torch-native"+wide, "python3", torch, "native", bin)
	add("cupy-memory", "python3", filepath.Join(scripts, "cupy_peer.py"))
	for _, kind := range []string{"async", "plain", "vmm"} {
		add("driver-"+kind, filepath.Join(bin, "driver_peer"), kind)
	}
	add("driver-plain"+wide, filepath.Join(bin, "driver_peer"), "plain")
	for _, c := range []struct{ name, library string }{
		{"glibc", ""}, {"mimalloc", "libmimalloc.so.2"}, {"jemalloc", "libjemalloc.so.2"},
	} {
		p := add(c.name, filepath.Join(bin, "host_peer"), c.name)
		if c.library != "" {
			p.env = []string{"LD_PRELOAD=" + c.library}
		}
	}
	return all
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// start starts the peer's process, on one processor unless it is wide or that is below 0. What it complains
// of goes to log.
func (p *peer) start(ctx context.Context, processor int, log io.Writer) error {
	args := p.args
	if !p.wide() && !p.late && processor >= 0 {
		args = append([]string{"taskset", "-c", fmt.Sprint(processor)}, args...)
	}
	if strings.Contains(p.args[0], "/") && !exists(p.args[0]) {
		return fmt.Errorf("%s was not built", filepath.Base(p.args[0]))
	}
	p.cmd = exec.CommandContext(ctx, args[0], args[1:]...)
	p.cmd.Stderr, p.cmd.Env = log, slices.Concat(os.Environ(), p.env)
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.answers = make(chan string)
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			// What is no answer is what a library has to say.
			if word, _, _ := strings.Cut(lines.Text(), " "); word == "ok" || word == "error" {
				p.answers <- lines.Text()
			}
		}
		close(p.answers)
	}()
	return nil
}

// wide reports whether the peer may use all processors.
func (p *peer) wide() bool { return strings.HasSuffix(p.name, wide) }

// pin pins a peer that has started.
func (p *peer) pin(processor int) error {
	if p.wide() || !p.late || processor < 0 {
		return nil
	}
	pid := fmt.Sprint(p.cmd.Process.Pid)
	out, err := exec.Command("taskset", "-a", "-p", "-c", fmt.Sprint(processor), pid).CombinedOutput()
	if err != nil {
		return fmt.Errorf("it could not be pinned: %w: %s", err, out)
	}
	return nil
}

// errUnanswered is a question that a peer is alive after and has no answer to.
var errUnanswered = errors.New("no answer")

// answer returns the next answer. A peer that has none within the time, or ends, is asked no more.
func (p *peer) answer(ctx context.Context, limit time.Duration) (ask.Line, error) {
	if p.dead != nil {
		return ask.Line{}, p.dead
	}
	select {
	case line, ok := <-p.answers:
		if !ok {
			_ = p.cmd.Wait() // the state says how it ended
			p.dead = fmt.Errorf("it has ended: %v", p.cmd.ProcessState)
			return ask.Line{}, p.dead
		}
		if why, failed := strings.CutPrefix(line, "error "); failed {
			return ask.Line{}, fmt.Errorf("%w: %s", errUnanswered, why)
		}
		return ask.Parse(line), nil
	case <-ctx.Done():
		p.dead = ctx.Err()
	case <-time.After(limit):
		p.dead = fmt.Errorf("it gave no answer for %v", limit)
	}
	_ = p.cmd.Process.Kill() // it may have ended
	return ask.Line{}, p.dead
}

// ask asks a question.
func (p *peer) ask(ctx context.Context, line string, limit time.Duration) (ask.Line, error) {
	if p.dead != nil {
		return ask.Line{}, p.dead
	}
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		p.dead = fmt.Errorf("it has ended: %w", err)
		return ask.Line{}, p.dead
	}
	return p.answer(ctx, limit)
}

// stop ends the peer's process.
func (p *peer) stop() {
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	p.in.Close()
	kill := time.AfterFunc(10*time.Second, func() { _ = p.cmd.Process.Kill() })
	for range p.answers {
	}
	_ = p.cmd.Wait() // what went wrong was said
	kill.Stop()
}
