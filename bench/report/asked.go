package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// An asked is a program that does something each time it gets a line, and answers when it has.
type asked struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr lateOutput
}

// startAsked starts a program that is asked. It is ended with ctx.
func startAsked(ctx context.Context, name string, args ...string) (*asked, error) {
	a := &asked{cmd: exec.CommandContext(ctx, name, args...)}
	var err error
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	a.out = bufio.NewReader(out)
	a.cmd.Stderr = &a.stderr
	return a, a.cmd.Start()
}

// ask sends a line and reads what the program answers.
func (a *asked) ask(line string, answer ...any) error {
	if _, err := fmt.Fprintln(a.in, line); err != nil {
		return err
	}
	if _, err := fmt.Fscan(a.out, answer...); err != nil {
		return fmt.Errorf("%w: %s", err, complaint(string(a.stderr.bytes())))
	}
	return nil
}

// end waits until the program, which nobody asks any more, has left.
func (a *asked) end() {
	a.in.Close()
	_ = a.cmd.Wait() // what went wrong has been read
}

// lateOutput is where a command writes until somebody looks.
type lateOutput struct {
	mu sync.Mutex
	b  bytes.Buffer // protected by mu
}

func (o *lateOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *lateOutput) bytes() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Clone(o.b.Bytes())
}
