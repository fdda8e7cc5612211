package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// window has cmd/memwatch/testdata/pairs make and free buffers for a tenth of a second, and returns the nanoseconds of a
// pair and how many there were.
func window(program *asked) (ns float64, pairs int64, err error) {
	if err := program.ask("", &ns, &pairs); err != nil {
		return 0, 0, fmt.Errorf("pairs: %w", err)
	}
	return ns, pairs, nil
}

// pool times a program that uses lastuse while memwatch reads its table, and while it counts the calls of
// its markers, one for each Make and each Free.
func (r *raw) pool(rounds int) error {
	p, err := startAsked(r.ctx, filepath.Join(r.bin, "pairs"))
	if err != nil {
		return err
	}
	defer p.end()
	for range 3 { // it warms up
		if _, _, err := window(p); err != nil {
			return err
		}
	}
	pid := fmt.Sprint(p.cmd.Process.Pid)
	for round := range rounds {
		for _, how := range []struct {
			name string
			args []string
		}{
			{"none", nil},
			{"table", []string{"-p", pid, "-d", "100ms", "-o", "jsonl"}},
			{"markers", []string{"-p", pid, "-once", "-count", "1600ms", "-o", "json"}},
		} {
			all, err := r.poolWatched(p, how.args)
			var bad *watcherError
			switch {
			case errors.As(err, &bad):
				if round == 0 {
					r.missing("memwatch, "+how.name, err.Error())
				}
			case err != nil:
				return err
			}
			for _, ns := range all {
				fmt.Fprintf(r.w, "BenchmarkWatchedPool/watched=%s 1 %.2f ns/op\n", how.name, ns)
			}
		}
	}
	return nil
}

// A watcherError says why what was measured is not of a program that was watched.
type watcherError struct{ text string }

func (e *watcherError) Error() string { return e.text }

// poolWatched returns five windows of a program that memwatch, with these arguments, watches from before the
// first until after the last; without arguments nobody does. With -count memwatch must have counted each pair.
func (r *raw) poolWatched(p *asked, args []string) (all []float64, err error) {
	var m *exec.Cmd
	var stdout, stderr bytes.Buffer
	if args != nil {
		m = exec.Command(filepath.Join(r.bin, "memwatch"), args...)
		m.Stdout, m.Stderr = &stdout, &stderr
		if err := m.Start(); err != nil {
			return nil, err
		}
		time.Sleep(600 * time.Millisecond)
	}
	pairs := int64(0)
	for range 5 {
		ns, n, windowErr := window(p)
		if windowErr != nil {
			err = windowErr
			break
		}
		all, pairs = append(all, ns), pairs+n
	}
	if m == nil {
		return all, err
	}
	counts := slices.Contains(args, "-count")
	if !counts {
		_ = m.Process.Signal(os.Interrupt) // else it ends by itself
	}
	var exit *exec.ExitError
	ended := m.Wait()
	switch {
	case err != nil:
		return nil, err
	case errors.As(ended, &exit) && exit.ExitCode() > 0:
		return nil, &watcherError{complaint(stderr.String())}
	case !counts:
		return all, nil
	}
	var doc struct {
		Processes []struct {
			Markers struct{ Alloc, Free int64 }
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil || len(doc.Processes) != 1 {
		return nil, &watcherError{fmt.Sprintf("cannot read what it printed: %v", err)}
	}
	if c := doc.Processes[0].Markers; c.Alloc < pairs || c.Free < pairs {
		return nil, &watcherError{fmt.Sprintf("it counted %d Makes and %d Frees of %d pairs", c.Alloc, c.Free, pairs)}
	}
	return all, nil
}
