package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// A target is a running bench/peers/probe_target.c.
type target struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr lateOutput
	n      int64 // pairs it has made
}

func (r *raw) startTarget(library, calls string) (*target, error) {
	t := &target{cmd: exec.Command(filepath.Join(r.bin, "probe", "probe_target"), library, calls)}
	var err error
	if t.in, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	t.cmd.Stderr = &t.stderr
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	t.out = bufio.NewReader(out)
	if line, err := t.out.ReadString('\n'); err != nil || line != "ready\n" {
		t.end()
		return nil, errors.New(complaint(string(t.stderr.bytes())))
	}
	return t, nil
}

// do makes pairs with so many steps of work between them, and returns the nanoseconds of one, and
// those of processor time.
func (t *target) do(steps, pairs int64) (wall, cpu float64, err error) {
	if _, err := fmt.Fprintln(t.in, steps, pairs); err != nil {
		return 0, 0, err
	}
	t.n += pairs
	if _, err := fmt.Fscan(t.out, &wall, &cpu); err != nil {
		return 0, 0, fmt.Errorf("probe_target: %w: %s", err, complaint(string(t.stderr.bytes())))
	}
	return wall / float64(pairs), cpu / float64(pairs), nil
}

// least returns the least processor time of a pair in several rounds.
func (t *target) least(pairs int64, rounds int) (least float64, err error) {
	for i := range rounds {
		_, x, err := t.do(0, pairs)
		if err != nil {
			return 0, err
		}
		if i == 0 || x < least {
			least = x
		}
	}
	return least, nil
}

func (t *target) end() {
	t.in.Close()
	_ = t.cmd.Wait() // what went wrong has been read
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

// processorTime returns the processor time of a process so far, in nanoseconds.
func processorTime(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64) // the kernel writes numbers
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) * 1e7 // ticks of a hundredth of a second
}
