package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// describe writes which machine and which program the results are of, in lines that benchstat reads.
func (b *bench) describe(w io.Writer) {
	info, _ := os.ReadFile("/proc/cpuinfo") // what cannot be read is left out
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	load, _ := os.ReadFile("/proc/loadavg")
	cpu := regexp.MustCompile(`model name\s*: (.*)`).FindSubmatch(append(info, "\nmodel name: "...))
	gpu := output("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
	name, driver, _ := strings.Cut(firstLine(gpu), ", ")
	version, _, _ := strings.Cut(string(kernel), "-") // what follows names a build
	busy, _, _ := strings.Cut(string(load), " ")      // runnable threads over the last minute
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\ncpu: %s\ncores: %d\nkernel: %s\ngpu: %s\ndriver: %s\n"+
		"go: %s\ncommit: %s\ndate: %s\nload: %s\nmode: %s\n", runtime.GOOS, runtime.GOARCH, cpu[1],
		runtime.NumCPU(), strings.TrimSpace(version), name, driver, runtime.Version(), b.commit(),
		time.Now().UTC().Format(time.DateTime), busy, b.mode())
}

// gpu reports whether there is one.
func (b *bench) gpu() bool { return output("nvidia-smi", "-L") != "" }

// machine says which machine and commit a file is from.
func machine(f *rawFile) string {
	c := f.config
	s := fmt.Sprintf("%s, %s cores", c["cpu"], c["cores"])
	if c["gpu"] != "" {
		s += ", " + c["gpu"] + " with driver " + c["driver"]
	}
	if c["kernel"] != "" {
		s += ", Linux " + c["kernel"]
	}
	return fmt.Sprintf("%s, %s, commit %s, mode %s", s, c["go"], c["commit"], c["mode"])
}

// mode returns how much is run.
func (b *bench) mode() string { return map[bool]string{true: "quick", false: "full"}[b.quick] }

// output returns what a command prints, or nothing.
func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
