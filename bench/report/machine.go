package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// describe writes which machine and which program the results are of, in lines that benchstat reads.
func (b *bench) describe(w io.Writer) {
	line := func(key, value string) {
		if value = strings.TrimSpace(value); value != "" {
			fmt.Fprintf(w, "%s: %s\n", key, value)
		}
	}
	line("goos", runtime.GOOS)
	line("goarch", runtime.GOARCH)
	line("cpu", processor())
	line("cores", fmt.Sprint(runtime.NumCPU()))
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		line("kernel", string(release))
	}
	gpu := output("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
	name, driver, _ := strings.Cut(strings.SplitN(gpu, "\n", 2)[0], ",")
	if name == "" {
		name = "none"
	}
	line("gpu", name)
	line("driver", driver)
	line("go", runtime.Version())
	line("commit", b.commit())
	line("date", time.Now().UTC().Format(time.DateTime))
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		one, _, _ := strings.Cut(string(load), " ")
		line("load", one) // runnable threads over the last minute: above 1 the machine was busy
	}
	mode := "full"
	if b.quick {
		mode = "quick"
	}
	line("mode", mode)
}

// commit returns the commit that the program was built from, or that is checked out.
func (b *bench) commit() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		revision, modified := "", ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = "+"
			}
		}
		if len(revision) >= 12 {
			return revision[:12] + modified
		}
	}
	return output("git", "-C", b.root, "rev-parse", "--short=12", "HEAD")
}

// output returns what a command prints, or nothing.
func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return value
		}
	}
	return ""
}
