package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// A peer is an allocator in a process of its own.
type peer struct {
	name string
	args []string // its command
	wide bool     // it may use all processors, and not one only
	late bool     // it is pinned once it has started: what it loads takes long on one processor

	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan string // closed when there are no more
	dead    error       // why it is asked no more
}

// start starts the peer's process, on one processor unless it is wide or that is below 0. What it complains
// of goes to log.
func (p *peer) start(processor int, log io.Writer) error {
	args := p.args
	if !p.wide && !p.late && processor >= 0 {
		args = append([]string{"taskset", "-c", fmt.Sprint(processor)}, args...)
	}
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Stderr = log
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
		lines.Buffer(nil, 1<<20)
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

// pin pins a peer that has started.
func (p *peer) pin(processor int) error {
	if p.wide || !p.late || processor < 0 {
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
func (p *peer) answer(ctx context.Context, limit time.Duration) (question, error) {
	if p.dead != nil {
		return question{}, p.dead
	}
	select {
	case line, ok := <-p.answers:
		if !ok {
			p.cmd.Wait()
			p.dead = fmt.Errorf("it has ended: %v", p.cmd.ProcessState)
			return question{}, p.dead
		}
		if why, failed := strings.CutPrefix(line, "error "); failed {
			return question{}, fmt.Errorf("%w: %s", errUnanswered, why)
		}
		return parse(line), nil
	case <-ctx.Done():
		p.dead = ctx.Err()
		p.cmd.Process.Kill()
		return question{}, p.dead
	case <-time.After(limit):
		p.dead = fmt.Errorf("it gave no answer for %v", limit)
		p.cmd.Process.Kill()
		return question{}, p.dead
	}
}

// ask asks a question.
func (p *peer) ask(ctx context.Context, line string, limit time.Duration) (question, error) {
	if p.dead != nil {
		return question{}, p.dead
	}
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		p.dead = err
		return question{}, err
	}
	return p.answer(ctx, limit)
}

// stop ends the peer's process.
func (p *peer) stop() {
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	p.in.Close()
	kill := time.AfterFunc(10*time.Second, func() { p.cmd.Process.Kill() })
	for range p.answers {
	}
	p.cmd.Wait()
	kill.Stop()
}
