//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/device"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/live"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/mapping"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/render"
)

// A finding is one line of check.
type finding struct {
	what string
	ok   bool
	text string // what is there, or what is missing
	fix  string // what to do about it
}

// checkSystem tells what memwatch needs and what is missing, each with what to do. The
// status is 1 if the driver's calls cannot be watched.
func (c *config) checkSystem() (int, error) {
	findings := []finding{checkKernel(), checkBTF(), checkRights(), checkNamespace()}
	findings = append(findings, checkProbes(), checkMappings(), c.checkLibraries(), checkDevices())
	bad := 0
	for _, f := range findings {
		mark := "ok"
		if !f.ok {
			mark = "MISSING"
			if f.what == "libraries" && len(c.libraries) == 0 || f.what == "devices" || f.what == "mappings" {
				mark = "none"
			} else {
				bad++
			}
		}
		what := f.what
		for line := range strings.SplitSeq(f.text, "\n") {
			fmt.Fprintf(c.w, "%-10s %-8s %s\n", what, mark, render.Clean(line))
			what, mark = "", ""
		}
		if !f.ok && f.fix != "" {
			fmt.Fprintf(c.w, "%-10s %-8s %s\n", "", "", f.fix)
		}
	}
	fmt.Fprintln(c.w, "\nPrograms that use lastuse are read through their table, which needs none of this.")
	if bad > 0 {
		return exitError, nil
	}
	return exitOK, nil
}

func checkKernel() finding {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return finding{what: "kernel", text: err.Error()}
	}
	release := unix.ByteSliceToString(u.Release[:])
	f := finding{what: "kernel", ok: bpf.KernelAtLeast(5, 15), text: "Linux " + release, fix: "Linux 5.15 or later is needed; 6.6 attaches faster and without CAP_SYS_ADMIN, 6.10 filters by process"}
	switch {
	case !f.ok:
	case !bpf.KernelAtLeast(6, 6):
		f.text += ": single probes, which need CAP_SYS_ADMIN"
	case !bpf.KernelAtLeast(6, 10):
		f.text += ": links of many probes; other processes are filtered in the probe"
	default:
		f.text += ": links of many probes, filtered by process"
	}
	return f
}

func checkBTF() finding {
	const path = "/sys/kernel/btf/vmlinux"
	info, err := os.Stat(path)
	if err != nil {
		return finding{what: "types", text: path + " is not there", fix: "boot a kernel built with CONFIG_DEBUG_INFO_BTF, or make /sys visible to the container"}
	}
	return finding{what: "types", ok: true, text: fmt.Sprintf("%s, %s", path, render.Options{}.Size(info.Size()))}
}

// checkRights looks at the effective capabilities.
func checkRights() finding {
	f := finding{what: "rights", fix: "run as root"}
	multi := bpf.KernelAtLeast(6, 6)
	if exe, err := os.Executable(); err == nil && multi {
		f.fix += ", or once: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep '" + strings.ReplaceAll(exe, "'", `'\''`) + "'"
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		f.text = err.Error()
		return f
	}
	has := func(c int) bool { return data[c/32].Effective&(1<<(c%32)) != 0 }
	if has(unix.CAP_SYS_ADMIN) {
		f.ok, f.text = true, "CAP_SYS_ADMIN"
		return f
	}
	if !multi {
		f.text = "without CAP_SYS_ADMIN, which single probes need"
		return f
	}
	var missing []string
	for _, c := range []struct {
		cap  int
		name string
	}{{unix.CAP_BPF, "CAP_BPF"}, {unix.CAP_PERFMON, "CAP_PERFMON"}, {unix.CAP_SYS_PTRACE, "CAP_SYS_PTRACE (to look at other users' processes)"}} {
		if !has(c.cap) {
			missing = append(missing, c.name)
		}
	}
	f.ok, f.text = len(missing) == 0, "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE"
	if !f.ok {
		f.text = "without " + strings.Join(missing, ", ")
	}
	return f
}

// checkNamespace says which processes there are to be seen.
func checkNamespace() finding {
	f := finding{what: "processes", ok: true, text: "all of the machine", fix: "share the host's PID namespace (hostPID), or mount this one's /proc"}
	if err := procfs.CheckNamespace(); err != nil {
		f.ok, f.text = false, err.Error()
	} else if procfs.Nested() {
		f.text = "those of this PID namespace; what a device holds is not told apart by process"
	}
	return f
}

// checkProbes calls probed functions of this program and counts.
func checkProbes() finding {
	const calls = 1000
	f := finding{what: "probes", fix: "see the lines above; in a container /sys/kernel/btf must be readable, and seccomp must allow bpf and perf_event_open"}
	seen, cost, err := live.SelfTest(calls)
	switch {
	case err != nil:
		f.text = err.Error()
	case seen != 2*calls:
		f.text = fmt.Sprintf("%d of %d calls were seen", seen, 2*calls)
		f.fix = "the kernel accepts probes and does not run all of them: please report its version"
	default:
		f.ok, f.text = true, fmt.Sprintf("%d of %d calls were seen, %v each", seen, 2*calls, cost)
	}
	return f
}

// checkMappings says how it is found out that a process has mapped a library.
func checkMappings() finding {
	l, err := mapping.Open()
	if err != nil {
		return finding{what: "mappings", text: "looked for once a second, as the kernel does not tell of them: " + err.Error()}
	}
	l.Close()
	return finding{what: "mappings", ok: true, text: "told by the kernel"}
}

// checkLibraries looks for drivers where they usually are, and in running processes.
func (c *config) checkLibraries() finding {
	f := finding{what: "libraries", fix: "no driver's library was found where systems keep them; -lib FILE names one"}
	w, err := live.New(live.Options{Libraries: c.libraries, NoStacks: true})
	if err != nil {
		f.text, f.fix = "not looked for: "+err.Error(), ""
		return f
	}
	defer w.Close()
	w.Look()
	var lines []string
	for _, l := range w.Libraries() {
		if l.Err != nil {
			lines = append(lines, fmt.Sprintf("%s: %s: %v", l.Name, l.Path, l.Err))
			continue
		}
		f.ok = true
		lines = append(lines, fmt.Sprintf("%s: %s: %d functions at a cheap place, %d at a dear one, %d not exported; %d probes attached in %v",
			l.Name, l.Path, l.Fast, l.Slow, l.Absent, l.Probes, l.Took.Round(100*time.Microsecond)))
	}
	f.text = strings.Join(lines, "\n")
	return f
}

// checkDevices asks what devices hold, which no probe needs.
func checkDevices() finding {
	f := finding{what: "devices"}
	source, err := device.Open()
	if err != nil {
		f.text = err.Error()
		return f
	}
	defer source.Close()
	all, err := source.Read(context.Background())
	if err != nil {
		f.text = err.Error()
		return f
	}
	f.ok, f.text = true, source.Name()+": no device"
	var lines []string
	for _, d := range all {
		lines = append(lines, fmt.Sprintf("%s: %d %s, %s of %s used", source.Name(), d.Index, d.Name, render.Options{}.Size(int64(d.Used)), render.Options{}.Size(int64(d.Total))))
	}
	if len(lines) > 0 {
		f.text = strings.Join(lines, "\n")
	}
	return f
}
