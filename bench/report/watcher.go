package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A watcher is somebody who watches a program's allocations.
type watcher struct {
	name, stacks string
	calls        string // of the target's ways to call, the one that it can watch
	start        func(r *raw, pid int, library string) (*exec.Cmd, error)
	seen         func(out []byte) (int64, bool) // the allocations that it says it saw, if it does
}

var watchers = []watcher{
	{"memwatch", "true", "cuda", func(r *raw, pid int, _ string) (*exec.Cmd, error) { return r.memwatch(pid), nil }, seenByMemwatch},
	{"memwatch", "false", "cuda", func(r *raw, pid int, _ string) (*exec.Cmd, error) { return r.memwatch(pid, "-no-stacks"), nil }, seenByMemwatch},
	{"bpftrace", "true", "cuda", func(_ *raw, pid int, library string) (*exec.Cmd, error) { return bpftrace(pid, library, true), nil }, seenByBpftrace},
	{"bpftrace", "false", "cuda", func(_ *raw, pid int, library string) (*exec.Cmd, error) { return bpftrace(pid, library, false), nil }, seenByBpftrace},
	{"memleak-bcc", "true", "malloc", func(_ *raw, pid int, library string) (*exec.Cmd, error) {
		name, err := exec.LookPath("memleak-bpfcc")
		if err != nil {
			return nil, errors.New("memleak-bpfcc is not installed")
		}
		return exec.Command(name, "-p", fmt.Sprint(pid), "-O", library, "1000"), nil
	}, nil},
}

func (r *raw) memwatch(pid int, more ...string) *exec.Cmd {
	args := append([]string{"-p", fmt.Sprint(pid), "-driver", "-o", "jsonl", "-d", "250ms"}, more...)
	return exec.Command(filepath.Join(r.bin, "memwatch"), args...)
}

// seenByMemwatch reads the last document that memwatch printed.
func seenByMemwatch(out []byte) (int64, bool) {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	for _, line := range slices.Backward(lines) {
		var doc struct {
			Lost      int64
			Processes []struct {
				Classes []struct{ AllocObjects int64 }
			}
		}
		if json.Unmarshal(line, &doc) != nil || len(doc.Processes) == 0 {
			continue
		}
		n := doc.Lost
		for _, c := range doc.Processes[0].Classes {
			n += c.AllocObjects
		}
		return n, true
	}
	return 0, true
}

// bpftrace does with bpftrace what memwatch does for these two functions: live bytes, in all and by
// call site. It does not see whether a call failed.
func bpftrace(pid int, library string, stacks bool) *exec.Cmd {
	site := "0"
	if stacks {
		site = "ustack()"
	}
	program := strings.NewReplacer("LIB", library, "SITE", site).Replace(`
uprobe:LIB:cuMemAlloc_v2 { @out[tid] = arg0; @size[tid] = arg1; }
uretprobe:LIB:cuMemAlloc_v2 /@out[tid]/ {
	$p = *(uint64*)uptr(@out[tid]);
	@live[$p] = @size[tid]; @at[$p] = SITE; @bytes[@at[$p]] += @size[tid]; @seen = count();
	delete(@out[tid]); delete(@size[tid]);
}
uprobe:LIB:cuMemFree_v2 { @bytes[@at[arg0]] -= @live[arg0]; delete(@live[arg0]); delete(@at[arg0]); }
`)
	return exec.Command("bpftrace", "-p", fmt.Sprint(pid), "-e", program)
}

func seenByBpftrace(out []byte) (int64, bool) {
	_, rest, _ := bytes.Cut(out, []byte("@seen: "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ := strconv.ParseInt(string(line), 10, 64) // nothing printed is nothing seen
	return n, true
}
