//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/helper"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/live"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
)

// Most of memwatch deals with what strangers wrote, and needs no rights for it. What
// rights it has it gives up as soon as the probes are there: with -p all of them, and
// for good; else all but those of a small process that opens files and attaches probes.

// helperName is the argument by which memwatch starts itself as that process.
const helperName = "(helper)"

// hasRights reports whether this program has any capability.
func hasRights() bool {
	_, _, data, err := capabilities()
	return err == nil && (data[0].Permitted|data[1].Permitted) != 0
}

func capabilities() (hdr *unix.CapUserHeader, first *unix.CapUserData, data [2]unix.CapUserData, err error) {
	hdr = &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	err = unix.Capget(hdr, &data[0])
	return hdr, &data[0], data, err
}

// giveUp gives up all rights of all threads, for good. Root becomes the user who called
// sudo, else nobody.
func giveUp() error {
	if os.Geteuid() == 0 {
		uid, gid := 65534, 65534
		if c, _, err := invoker(); os.Getenv("SUDO_UID") != "" && err == nil {
			uid, gid = int(c.Uid), int(c.Gid)
		}
		err := syscall.Setgroups([]int{})
		if err == nil {
			err = syscall.Setresgid(gid, gid, gid)
		}
		if err == nil {
			err = syscall.Setresuid(uid, uid, uid)
		}
		if err != nil && !errors.Is(err, unix.EPERM) { // a container may not let root be anybody else
			return fmt.Errorf("give up rights: %w", err)
		}
	}
	if hasRights() {
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&hdr)), uintptr(unsafe.Pointer(&none[0])), 0)
		if errno == unix.ENOTSUP {
			return errors.New("give up rights: a memwatch that was built with cgo cannot unless it runs as root; build it with CGO_ENABLED=0")
		}
		if errno != 0 {
			return fmt.Errorf("give up rights: %w", errno)
		}
	}
	return withoutRights()
}

// withoutRights returns an error if any thread has a capability.
func withoutRights() error {
	all, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(all) == 0 {
		return errors.Join(errors.New("give up rights: threads cannot be looked at"), err)
	}
	for _, path := range all {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(b)) {
			name, value, _ := strings.Cut(line, ":")
			if name != "CapPrm" && name != "CapEff" && name != "CapAmb" {
				continue
			}
			if n, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64); err != nil || n != 0 {
				return fmt.Errorf("give up rights: a thread still has %s", strings.TrimSpace(line))
			}
		}
	}
	return nil
}

// startHelper starts the process that keeps the rights, and has the watcher and the
// looking at processes use it. stop ends it.
func startHelper(w *live.Watcher) (stop func(), err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("helper: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	defer theirs.Close()
	cmd := exec.Command("/proc/self/exe", helperName)
	cmd.Args[0] = "memwatch"
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	if s := w.Session(); s != nil {
		entry, ret, err := s.Programs()
		if err != nil {
			unix.Close(pair[0])
			return nil, err
		}
		defer entry.Close()
		defer ret.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, entry, ret)
		if s.Single() {
			cmd.Args = append(cmd.Args, "single")
		}
	}
	if err := cmd.Start(); err != nil {
		unix.Close(pair[0])
		return nil, fmt.Errorf("helper: %w", err)
	}
	client := helper.NewClient(pair[0])
	procfs.SetHelper(client.Open)
	if s := w.Session(); s != nil {
		s.Delegate(client.Attach)
	}
	return func() {
		client.Close()
		_ = cmd.Wait() // it ends when nobody can ask it any more
	}, nil
}

// serveHelper is the helper's main function.
func serveHelper(args []string) int {
	signal.Ignore(os.Interrupt, unix.SIGTERM, unix.SIGHUP) // it ends with memwatch
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "memwatch: helper:", clean(err.Error()))
		return exitError
	}
	// Only memwatch itself may ask: whoever else starts this file gets nothing, whatever
	// rights the file has.
	var mine, parents unix.Stat_t
	if err := errors.Join(unix.Stat("/proc/self/exe", &mine), unix.Stat(fmt.Sprintf("/proc/%d/exe", os.Getppid()), &parents)); err != nil {
		return fail(err)
	}
	if mine.Ino != parents.Ino || mine.Dev != parents.Dev {
		return fail(errors.New("it is started by memwatch alone"))
	}
	attach := bpf.Attacher(func(*os.File, []bpf.Place, bool, uint32) error { return unix.EPERM })
	var st unix.Stat_t
	if unix.Fstat(4, &st) == nil && unix.Fstat(5, &st) == nil {
		a, err := bpf.NewAttacher(os.NewFile(4, "entry"), os.NewFile(5, "return"), len(args) > 0 && args[0] == "single")
		if err != nil {
			return fail(err)
		}
		attach = a
	}
	if err := helper.Serve(3, attach); err != nil {
		return fail(err)
	}
	return exitOK
}
