package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
		version, _, _ := strings.Cut(string(release), "-") // what follows names a build
		line("kernel", version)
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
	line("mode", b.mode())
}

// mode returns how much is run.
func (b *bench) mode() string {
	if b.quick {
		return "quick"
	}
	return "full"
}

// commitFile is where -build leaves the commit that it has built, in the folder of the binaries.
const commitFile = "commit"

// commit returns the commit that what runs was built from.
func (b *bench) commit() string {
	c, err := os.ReadFile(filepath.Join(b.bin, commitFile))
	if err != nil || len(c) == 0 { // without git nobody knows
		return "unknown"
	}
	return string(c)
}

// checkedOut returns the commit that is checked out, with a + if files differ from it.
func (b *bench) checkedOut() string {
	c := output("git", "-C", b.root, "rev-parse", "--short=12", "HEAD")
	if c != "" && output("git", "-C", b.root, "status", "--porcelain", "--untracked-files=no") != "" {
		c += "+"
	}
	return c
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
