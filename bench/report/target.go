package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A target is a running bench/peers/probe_target.c.
type target struct {
	*asked
	n int64 // pairs it has made
}

func (r *raw) startTarget(library, calls string) (*target, error) {
	a, err := startAsked(r.ctx, filepath.Join(r.bin, "probe", "probe_target"), library, calls)
	if err != nil {
		return nil, err
	}
	if line, err := a.out.ReadString('\n'); err != nil || line != "ready\n" {
		a.end()
		return nil, errors.New(complaint(string(a.stderr.bytes())))
	}
	return &target{asked: a}, nil
}

// do makes pairs with so many steps of work between them, and returns the nanoseconds of one, and
// those of processor time.
func (t *target) do(steps, pairs int64) (wall, cpu float64, err error) {
	t.n += pairs
	if err := t.ask(fmt.Sprint(steps, " ", pairs), &wall, &cpu); err != nil {
		return 0, 0, fmt.Errorf("probe_target: %w", err)
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
