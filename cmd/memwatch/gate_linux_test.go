//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// leaker is a program that leaks 4 MiB through a driver's library that it is linked with, or that it
// loads by the name in its argument, and ends at once.
const leaker = `
#include <dlfcn.h>
#include <stddef.h>
int cuMemAlloc_v2(void **p, size_t n);
int main(int argc, char **argv) {
	void *p;
#ifdef LOADS
	void *lib = dlopen(argv[1], RTLD_NOW);
	int (*alloc)(void **, size_t) = lib ? (int (*)(void **, size_t))dlsym(lib, "cuMemAlloc_v2") : NULL;
	return alloc ? alloc(&p, 4 << 20) : 9;
#elif defined(MIDDLE)
	int middle(void **, size_t);
	return middle(&p, 4 << 20);
#else
	return cuMemAlloc_v2(&p, 4 << 20);
#endif
}`

// TestGate runs programs that leak through a library which is not where systems keep it. Where the
// loader would find it memwatch finds it too, and counts; what it cannot know of fails the gate.
func TestGate(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	build := func(name string, args ...string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		out, err := exec.Command(cc, append([]string{"-std=gnu11", "-O2", "-w", "-o", path}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return path
	}
	main := write("main.c", leaker)
	lib := build("drv/libcuda.so.1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1",
		write("lib.c", "#include <stdlib.h>\nint cuMemAlloc_v2(void **p, size_t n) { *p = malloc(64); return 0; }"))
	build("mid/libmiddle.so", "-shared", "-fPIC", "-Wl,-soname,libmiddle.so",
		write("middle.c", "#include <stddef.h>\nint cuMemAlloc_v2(void **, size_t);\nint middle(void **p, size_t n) { return cuMemAlloc_v2(p, n) + 0; }"),
		lib, "-Wl,-rpath,$ORIGIN/../drv")
	plain := build("plain", main, lib)
	loads := build("loads", "-DLOADS", main, "-ldl")
	t.Parallel()
	in := filepath.Dir(lib)
	exe := filepath.Join(dir, "memwatch")
	require.NoError(t, os.Symlink(os.Args[0], exe))
	for _, c := range []struct {
		name  string
		env   string
		limit string
		args  []string
		code  int
		says  string
	}{
		{"LD_LIBRARY_PATH", in, "0", []string{plain}, exitLimit, "4.0 MiB live"},
		{"LD_LIBRARY_PATH among others", "/nowhere::" + in, "0", []string{plain}, exitLimit, "4.0 MiB live"},
		{"loaded by name from there", in, "0", []string{loads, "libcuda.so.1"}, exitLimit, "4.0 MiB live"},
		{"rpath", "", "0", []string{build("rpath", main, lib, "-Wl,--disable-new-dtags,-rpath,"+in)}, exitLimit, "4.0 MiB live"},
		{"runpath from the origin", "", "0", []string{build("runpath", main, lib, "-Wl,--enable-new-dtags,-rpath,$ORIGIN/drv")}, exitLimit, "4.0 MiB live"},
		{"needed by what is needed", "", "0", []string{build("needs", "-DMIDDLE", main, filepath.Join(dir, "mid/libmiddle.so"),
			"-Wl,--allow-shlib-undefined,-rpath,$ORIGIN/mid")}, exitLimit, "4.0 MiB live"},
		{"nothing leaks", "", "0", []string{"true"}, exitOK, ""},
		// The limit is above what leaks: whether some of it was seen or not, not all can have been.
		{"a path that nobody knows before", "", "1GiB", []string{"-o", "json", loads, lib}, exitUnseen, "-lib " + lib},
		{"a path that is named", "", "0", []string{"-lib", lib, "--", loads, lib}, exitLimit, "4.0 MiB live"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"run", "-fail-over", c.limit}, c.args...)
			cmd := exec.Command(exe, args...)
			cmd.Args[0] = "memwatch"
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+c.env)
			var errOut strings.Builder
			cmd.Stderr = &errOut
			out, _ := cmd.Output()
			require.Equal(t, c.code, cmd.ProcessState.ExitCode(), "%s%s", out, errOut.String())
			require.Contains(t, errOut.String(), c.says)
			if c.code == exitUnseen {
				require.Contains(t, string(out), `"joined": true`)
			}
		})
	}
}

// TestNamedLibrary names libraries that are not there or none.
func TestNamedLibrary(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	dir := t.TempDir()
	wrong := filepath.Join(dir, "libcuda.so.1")
	other, err := os.ReadFile("/bin/true")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(wrong, other, 0o600))
	for path, why := range map[string]string{
		filepath.Join(dir, "libcuda.so.9"): "no such file",
		"/etc/passwd":                      "no library that is known is called so",
		wrong:                              "it exports nothing of it",
	} {
		for _, args := range [][]string{{"top", "-lib", path, "-d", "10ms"}, {"-p", fmt.Sprint(os.Getpid()), "-lib", path, "-once"}, {"run", "-lib", path, "--", "true"}} {
			code, _, errOut := call(t, args...)
			require.Equal(t, exitError, code, "%v %s", args, errOut)
			require.Contains(t, errOut, why, "%v", args)
		}
		code, out, _ := call(t, "check", "-lib", path)
		require.Contains(t, out, why)
		require.Equal(t, exitError, code, out)
	}
}
