//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/live"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/record"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// watch watches processes as they run.
func (c *watching) watch(ctx context.Context) (int, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var child *child
	pids := c.pids
	if c.command == "run" {
		var err error
		if child, err = startStopped(c.args); err != nil {
			return exitError, err
		}
		defer child.end()
		pids = []int{child.pid}
	}
	scan := time.Second
	if child != nil {
		scan = 10 * time.Millisecond // it loads its library any moment
	}
	w, err := live.New(live.Options{PIDs: pids, Libraries: c.libraries, Ring: c.ring, NoStacks: c.noStacks, Single: c.single, Scan: scan, Fresh: child != nil})
	if err != nil {
		return exitError, c.explain(err)
	}
	defer w.Close()
	s := newSession("live")
	s.clock = live.Clock
	s.wall = time.Now().UnixNano() - live.Clock()
	s.hits = func() map[string]uint64 { return hitsByName(w) }
	if c.command == "record" {
		if s.writer, err = record.Create(c.args[0], c.limit, record.Header{Wall: s.wall, Tool: "memwatch"}); err != nil {
			return exitError, err
		}
	}
	if c.span > 0 && (c.command == "record" || c.command == "serve") {
		timeout, stop := context.WithTimeout(ctx, c.span)
		defer stop()
		ctx = timeout
	}
	over := make(chan error, 1)
	running, halt := context.WithCancel(ctx)
	defer halt()
	go func() {
		err := w.Run(running, s.apply, nil)
		s.finish("all processes have ended")
		over <- err
	}()
	code, err := c.look(ctx, s, child, w.Ready(), over)
	halt()
	if e := <-over; err == nil && e != nil {
		code, err = exitError, e
	}
	for _, l := range w.Libraries() {
		if l.Err != nil {
			fmt.Fprintf(c.wErr, "memwatch: %s\n", render.Clean(fmt.Sprintf("%s: not probed: %v", l.Path, l.Err)))
		}
	}
	if s.writer != nil {
		if e := s.writer.Close(); e != nil {
			return exitError, e
		}
		fmt.Fprintf(c.wErr, "memwatch: %d events in %s\n", s.writer.Count(), render.Clean(c.args[0]))
	}
	return code, err
}

// look shows the session until it is over. What it takes from over it puts back.
func (c *watching) look(ctx context.Context, s *session, child *child, ready <-chan struct{}, over chan error) (int, error) {
	switch {
	case child != nil:
		<-ready
		status := child.run(ctx)
		again(over, 5*time.Second)
		code, err := c.print(s)
		if err == nil && status != nil {
			return exitError, fmt.Errorf("%s: %w", c.args[0], status)
		}
		return code, err
	case c.command == "record":
		select {
		case <-ctx.Done():
		case err := <-over:
			over <- err
		}
		return exitOK, nil
	case c.command == "serve":
		return c.serve(ctx, s)
	case c.interactive():
		return c.screen(ctx, s)
	}
	// What is printed is what was seen in the time until then.
	span := c.span
	if span == 0 {
		span = c.delay
	}
	for i := 1; ; i++ {
		ended := false
		select {
		case <-ctx.Done():
			ended = true
		case err := <-over:
			over <- err
			ended = true
		case <-time.After(span):
		}
		code, err := c.print(s)
		if ended || err != nil || c.once || c.span > 0 || c.command == "leaks" || c.command == "sites" || i == c.count {
			return code, err
		}
		span = c.delay
	}
}

// again waits for what comes on over and puts it back.
func again(over chan error, patience time.Duration) {
	select {
	case err := <-over:
		over <- err
	case <-time.After(patience):
	}
}

// explain adds to an error what helps.
func (c *watching) explain(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("%w; probes need root, or CAP_BPF and CAP_PERFMON; 'memwatch check' tells what is missing, 'memwatch demo' needs no rights", err)
	}
	if errors.Is(err, os.ErrNotExist) && len(c.pids) > 0 {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return err
}

func hitsByName(w *live.Watcher) map[string]uint64 {
	hits, err := w.Hits()
	if err != nil {
		return nil
	}
	all := make(map[string]uint64)
	for i, n := range hits {
		if n > 0 {
			all[probes.All()[i].Symbol] = n
		}
	}
	return all
}

// A child is the program of run. It is stopped before its first instruction until the
// probes are there.
type child struct {
	pid    int
	cmd    *exec.Cmd
	resume chan bool
	done   chan error
}

// startStopped starts a program and stops it. Under sudo it runs as the user who
// called, who has no rights on what memwatch does.
func startStopped(args []string) (*child, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if os.Geteuid() == 0 && os.Getenv("SUDO_UID") != "" {
		credential, env, err := invoker()
		if err != nil {
			return nil, err
		}
		cmd.SysProcAttr.Credential = credential
		cmd.Env = append(os.Environ(), env...)
	}
	ch := &child{cmd: cmd, resume: make(chan bool, 1), done: make(chan error, 1)}
	started := make(chan error, 1)
	go func() {
		// The kernel takes the calls for a stopped program from one thread only.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		var status unix.WaitStatus
		if err == nil {
			_, err = unix.Wait4(cmd.Process.Pid, &status, 0, nil)
		}
		if err == nil && !status.Stopped() {
			err = fmt.Errorf("run: %s did not stop", args[0])
		}
		started <- err
		if err != nil {
			return
		}
		if !<-ch.resume {
			cmd.Process.Kill()
		}
		if err := unix.PtraceDetach(cmd.Process.Pid); err != nil {
			cmd.Process.Kill()
		}
		ch.done <- cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	ch.pid = cmd.Process.Pid
	return ch, nil
}

// invoker returns the user who called sudo.
func invoker() (*syscall.Credential, []string, error) {
	uid, err1 := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32)
	gid, err2 := strconv.ParseUint(os.Getenv("SUDO_GID"), 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, fmt.Errorf("run: SUDO_UID and SUDO_GID: %w", err)
	}
	c := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	u, err := user.LookupId(fmt.Sprint(uid))
	if err != nil {
		return c, nil, nil // a user without a name has only that group
	}
	if ids, err := u.GroupIds(); err == nil {
		for _, id := range ids {
			if g, err := strconv.ParseUint(id, 10, 32); err == nil {
				c.Groups = append(c.Groups, uint32(g))
			}
		}
	}
	return c, []string{"HOME=" + u.HomeDir, "USER=" + u.Username, "LOGNAME=" + u.Username}, nil
}

// run lets the program go and waits for its end. When ctx is done first, it is asked
// to end; the terminal has asked it already if the key was pressed there.
func (c *child) run(ctx context.Context) error {
	c.resume <- true
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, unix.SIGTERM)
	defer signal.Stop(quit)
	for {
		select {
		case err := <-c.done:
			c.done <- err
			return err
		case <-quit:
			c.cmd.Process.Signal(unix.SIGTERM)
		case <-ctx.Done():
			c.cmd.Process.Signal(os.Interrupt)
			ctx = context.Background()
		}
	}
}

// end ends the program if it was never let go.
func (c *child) end() {
	select {
	case c.resume <- false:
		<-c.done
	default:
	}
}

// isTerminal reports whether f is a terminal.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
