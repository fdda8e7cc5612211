//go:build linux && amd64

package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// TestOpenCL watches a program that allocates at random through OpenCL's loader on a
// real driver, which on a machine without a GPU is pocl: memwatch's figures are the
// program's own, and the driver's, at every stop.
func TestOpenCL(t *testing.T) {
	loader := ""
	for _, dir := range []string{"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"} {
		if path := filepath.Join(dir, "libOpenCL.so.1"); loader == "" {
			if _, err := os.Stat(path); err == nil {
				loader = path
			}
		}
	}
	cc, err := exec.LookPath("cc")
	switch {
	case loader == "":
		t.Skip("no OpenCL loader here: install ocl-icd-libopencl1 and pocl-opencl-icd")
	case err != nil:
		t.Skip("no C compiler")
	case os.Geteuid() != 0:
		t.Skip("probes need root")
	}
	exe := filepath.Join(t.TempDir(), "opencl")
	out, err := exec.Command(cc, "-std=gnu11", "-O2", "-w", "-o", exe, "testdata/opencl/main.c", loader).CombinedOutput()
	require.NoError(t, err, "%s", out)
	const stops, calls = 20, 2000
	r := startWith(t, exe, "7", fmt.Sprint(stops), fmt.Sprint(calls))
	if r.out.Text() == "no device" {
		t.Skip("OpenCL has no device here: install pocl-opencl-icd")
	}
	require.Equal(t, "ready", r.out.Text())
	pid := uint32(r.Process.Pid)
	w := watch(t, Options{PIDs: []int{int(pid)}, Scan: 50 * time.Millisecond})
	f := follow(t, w)
	<-w.Ready()
	require.Eventually(t, func() bool { return probed(w, loader)+probed(w, loader+".0.0") > 0 }, time.Minute, 5*time.Millisecond)
	look := func() string {
		var got [4]heap.ClassTotal
		var failed uint64
		for _, p := range f.processes() {
			for _, c := range p.Classes {
				for i, name := range []string{"device", "array", "managed", "imported"} {
					if c.Class == name {
						got[i] = c
					}
				}
			}
			for _, e := range p.Failures {
				failed += e.Count
			}
		}
		return fmt.Sprintln(got[0].Live, got[0].Objects, got[1].Live, got[1].Objects, got[2].Live, got[2].Objects, got[3].Objects, failed)
	}
	for i := range stops {
		r.step(t)
		want := r.out.Text() + "\n"
		require.Len(t, strings.Fields(want), 8)
		require.Eventually(t, func() bool { return look() == want }, time.Minute, 5*time.Millisecond, "stop %d: want %s", i, want)
	}
	want := strings.Fields(r.out.Text())
	for i, n := range want {
		require.NotEqual(t, "0", n, "column %d was never used", i)
	}
	for _, l := range w.Libraries() {
		if l.Name == "OpenCL loader" {
			t.Logf("%s: %d functions at a cheap place, %d at a dear one", l.Path, l.Fast, l.Slow)
		}
	}
}
