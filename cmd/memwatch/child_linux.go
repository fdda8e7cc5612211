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
	"unsafe"

	"golang.org/x/sys/unix"
)

// A child is the program of run. It is stopped before its first instruction until the
// probes are there, and once more when it is about to end, while what it has mapped is
// still there to be looked at.
type child struct {
	pid    int
	cmd    *exec.Cmd
	ending func() // called when the program is about to end, in a goroutine of its own
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
	ch := &child{cmd: cmd, ending: func() {}, resume: make(chan bool, 1), done: make(chan error, 1)}
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
		if <-ch.resume {
			ch.follow()
		} else {
			cmd.Process.Kill()
			_ = unix.PtraceDetach(cmd.Process.Pid) // it may be gone already
		}
		ch.done <- cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	ch.pid = cmd.Process.Pid
	return ch, nil
}

// ptrace is the system call, with its raw arguments.
func ptrace(request, pid int, addr, data uintptr) error {
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), addr, data, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// follow lets the stopped program go, and returns when it has ended or is about to. It
// is let go and seized: only of a seized program the kernel tells stops apart, so that
// it is stopped, continued and signalled as if nobody followed. Its threads are not
// followed, nor what it starts.
func (c *child) follow() {
	pid := c.cmd.Process.Pid
	if err := ptrace(unix.PTRACE_DETACH, pid, 0, uintptr(unix.SIGSTOP)); err != nil {
		return // it was killed
	}
	seized := ptrace(unix.PTRACE_SEIZE, pid, 0, unix.PTRACE_O_TRACEEXIT)
	if unix.Kill(pid, unix.SIGCONT) != nil || seized != nil {
		return // nothing is lost but the look at its end
	}
	for {
		event, sig, ok := awaitStop(pid)
		var err error
		switch {
		case !ok:
			return // cmd.Wait hears how it ended
		case event == unix.PTRACE_EVENT_EXIT:
			c.ending()
			_ = ptrace(unix.PTRACE_DETACH, pid, 0, 0)
			return
		case event == unix.PTRACE_EVENT_STOP && sig != unix.SIGTRAP:
			err = ptrace(unix.PTRACE_LISTEN, pid, 0, 0) // it stays stopped until it is continued
		case event != 0:
			err = ptrace(unix.PTRACE_CONT, pid, 0, 0)
		default:
			err = ptrace(unix.PTRACE_CONT, pid, 0, uintptr(sig))
		}
		if err != nil && !errors.Is(err, unix.ESRCH) {
			_ = ptrace(unix.PTRACE_DETACH, pid, 0, 0)
			return
		}
	}
}

// awaitStop waits for a stop of a traced program, and returns false if it has ended,
// without taking notice of how.
func awaitStop(pid int) (event int, sig unix.Signal, ok bool) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		const trapped, stopped = 4, 5 // CLD_TRAPPED, CLD_STOPPED
		if err != nil || info.Code != trapped && info.Code != stopped {
			return 0, 0, false
		}
		info = unix.Siginfo{}
		switch err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WALL, nil); {
		case errors.Is(err, unix.EINTR), err == nil && info.Signo == 0: // it was killed in between
			continue
		case err != nil:
			return 0, 0, false
		}
		status := *(*int32)(unsafe.Add(unsafe.Pointer(&info), 24)) // si_status
		return int(status >> 8), unix.Signal(status & 0xff), true
	}
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
