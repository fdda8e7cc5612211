package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// complete is the last line of a raw file whose part ran to its end.
const complete = "complete: true"

// A raw is the raw file of a part while it is written.
type raw struct {
	*bench
	w io.Writer
}

// run runs a part, unless its file is complete.
func (b *bench) run(p part) error {
	b.bar.part(p.name + ": " + p.title)
	defer b.bar.end()
	if err := os.MkdirAll(b.dir(), 0o777); err != nil {
		return err
	}
	name := filepath.Join(b.dir(), p.name+".txt")
	if old, err := load(name); err == nil && old != nil && old.complete {
		if was := old.config["mode"]; was != b.mode() {
			return fmt.Errorf("%s is of a %s run, and this is a %s one: name another set, or take the file away", name, was, b.mode())
		}
		b.bar.say(fmt.Sprintf("%s is complete, at commit %s: it is not run again", name, old.config["commit"]))
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	// Each line at once: a report that is killed leaves what it has found.
	b.describe(f)
	fmt.Fprintf(f, "part: %s\n", p.name)
	runErr := p.run(&raw{bench: b, w: f})
	if b.ctx.Err() != nil {
		runErr = errors.New("interrupted") // whatever a command that was ended made of it
	}
	end := complete
	if runErr != nil {
		end = fmt.Sprintf("failed: %v", runErr)
	}
	_, err = fmt.Fprintln(f, end)
	return errors.Join(runErr, err, f.Close())
}

// missing notes that a peer is not here.
func (r *raw) missing(peer, reason string) {
	reason, _, _ = strings.Cut(strings.TrimSpace(reason), "\n")
	fmt.Fprintf(r.w, "missing: %s: %s\n", peer, reason)
}

// command runs a command in bench/ and returns what it printed, and how much memory and processor it
// took. Its error says what it printed last.
func (r *raw) command(limit time.Duration, env []string, name string, args ...string) (out []byte, use *syscall.Rusage, err error) {
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = filepath.Join(r.root, "bench")
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second // for a killed command's own children
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err = cmd.Output()
	if s := cmd.ProcessState; s != nil {
		use, _ = s.SysUsage().(*syscall.Rusage)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", filepath.Base(name), err)
		if why := complaint(string(out) + "\n" + stderr.String()); why != "" {
			err = fmt.Errorf("%w: %s", err, why)
		}
	}
	return out, use, err
}

// complaint returns what a command said before it failed: the line that says what was wrong, if there
// is one that looks so, else the last.
func complaint(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i, line := range lines {
		if strings.Contains(line, "Error:") || strings.HasPrefix(line, "panic:") {
			return strings.Join(strings.Fields(strings.Join(lines[i:min(i+4, len(lines))], " ")), " ")
		}
	}
	return lines[len(lines)-1]
}

// lines writes those lines that are results, with prefix put before each name's first variable.
func (r *raw) lines(out []byte, prefix string) {
	for line := range strings.Lines(string(out)) {
		// A benchmark that was ended has printed its name, and no end of its line.
		if !strings.HasPrefix(line, "Benchmark") || !strings.HasSuffix(line, "\n") || !strings.Contains(line, " ") && !strings.Contains(line, "\t") {
			continue
		}
		if prefix != "" {
			name, rest, _ := strings.Cut(line, "/")
			line = name + "/" + prefix + "/" + rest
		}
		io.WriteString(r.w, line)
	}
}

// test runs benchmarks of a test binary.
func (r *raw) test(binary, prefix, pattern, time string, count int, more ...string) error {
	args := append([]string{"-test.run=^$", "-test.bench=" + pattern, "-test.benchtime=" + time, fmt.Sprintf("-test.count=%d", count)}, more...)
	out, _, err := r.command(20*60*1e9, nil, filepath.Join(r.bin, binary), args...)
	r.lines(out, prefix)
	return err
}

// peer runs a command of somebody else's allocator. If it fails, or takes too long, the peer is missing, which is no
// error of the part. What it has printed until then counts.
func (r *raw) peer(peer string, env []string, name string, args ...string) {
	if r.alone {
		r.missing(peer, "left out with -no-peers")
		return
	}
	if _, err := exec.LookPath(name); err != nil {
		r.missing(peer, "it was not built, or is not installed: "+filepath.Base(name))
		return
	}
	out, _, err := r.command(r.peerPatience(), env, name, args...)
	r.lines(out, "")
	if err != nil {
		r.missing(peer, err.Error())
	}
}

// compare asks the peers of bench/compare what has a result that matches, in its parts, on a device. Who does not answer is
// missing, and so are all of a GPU where there is none.
func (r *raw) compare(device, match, parts string) error {
	ours := "lastuse-" + device
	args := []string{"-device", device, "-bin", r.bin, "-root", r.root, "-run", match, "-parts", parts, "-patience", r.peerPatience().String()}
	if device == "host" || r.alone {
		args = append(args, "-peers", ours+","+ours+"-nosites")
	} else if output("nvidia-smi", "-L") == "" {
		r.missing(ours+" and its peers", "there is no GPU")
		return nil
	}
	if r.quick {
		args = append(args, "-quick")
	}
	dir, err := os.MkdirTemp("", "lastuse-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	_, _, runErr := r.command(20*time.Minute, nil, filepath.Join(r.bin, "compare"), append(args, "-out", dir)...)
	found, err := os.ReadFile(filepath.Join(dir, "compare.txt"))
	if err != nil {
		return errors.Join(runErr, err)
	}
	r.lines(found, "")
	for line := range strings.Lines(string(found)) {
		if why, ok := strings.CutPrefix(line, "missing: "); ok {
			peer, reason, _ := strings.Cut(why, ": ")
			r.missing(peer, reason)
		}
	}
	return runErr
}

// cuda runs benchmarks of the CUDA device, if there is one.
func (r *raw) cuda(pattern, time string, count int) {
	const device = "CUDA device"
	if output("nvidia-smi", "-L") == "" {
		r.missing(device, "there is no GPU")
		return
	}
	if err := r.test("cuda.test", "", pattern, time, count, "-driver=real"); err != nil {
		r.missing(device, err.Error())
	}
}
