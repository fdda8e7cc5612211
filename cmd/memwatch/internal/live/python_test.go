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

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// pythons returns the CPythons of known versions that are installed here, by version.
func pythons(t testing.TB) map[string]string {
	found := make(map[string]string)
	names := []string{"/usr/bin/python3", "/usr/local/bin/python3"}
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	more, err := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3"))
	require.NoError(t, err)
	for _, name := range append(names, more...) {
		out, err := exec.Command(name, "-c", "import ctypes, sys; print('%d.%d' % sys.version_info[:2], sys.executable)").Output()
		if version, exe, ok := strings.Cut(strings.TrimSpace(string(out)), " "); err == nil && ok {
			if _, known := found[version]; !known {
				found[version] = exe
			}
		}
	}
	return found
}

// TestPython watches programs of every Python that is here, and knows of each allocation the line that asked
// for it.
func TestPython(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	all := pythons(t)
	tried := 0
	for _, version := range []string{"3.11", "3.12", "3.13", "3.14"} {
		if all[version] == "" {
			continue
		}
		tried++
		for _, c := range []bpf.Copies{bpf.NoCopies, bpf.NeededCopies} {
			t.Run(fmt.Sprint(version, " copies ", c), func(t *testing.T) { testPython(t, all[version], version, c) })
		}
	}
	if tried == 0 {
		t.Skip("no Python of a known version")
	}
}

func testPython(t *testing.T, exe, version string, copies bpf.Copies) {
	lib, _ := buildFrameless(t, "-fomit-frame-pointer")
	w := watch(t, Options{Libraries: []string{lib}, Copies: copies})
	w.unwinder.patience = time.Minute
	f := follow(t, w)
	script, err := filepath.Abs("testdata/python/train.py")
	require.NoError(t, err)
	r := startWith(t, exe, script, lib)
	pid := uint32(r.Process.Pid)
	ask := func(command string, allocs uint64) (p heap.Process) {
		fmt.Fprintln(r.in, command)
		r.out.Scan()
		require.Eventually(t, func() bool {
			p = f.process(pid)
			var n uint64
			named := true
			for _, s := range p.Sites {
				n += s.AllocObjects
				named = named && len(s.Frames) > 0
			}
			return n == allocs && named
		}, time.Minute, 5*time.Millisecond)
		return p
	}
	// The first call has the process known, if the scan had not.
	first := pythonFrames(&ask("1", 1).Sites[0])
	awaitPython(t, w, pid)
	require.Empty(t, f.process(pid).Notes)
	p := ask("run", 1+48)
	got := make(map[string]int) // bytes by frames of Python
	for _, s := range p.Sites {
		got[pythonFrames(&s)] += int(s.AllocBytes)
	}
	at := func(mark string) string { return fmt.Sprintf("train.py:%d", lineOf(t, script, mark)) }
	run, make := " run@%s <module>@"+at("    run()$"), "make@"+at("lib.cuMemAlloc_v2")
	want := map[string]int{
		first: 1001,
		make + " plain@" + at("make(1001)") + fmt.Sprintf(run, at("    plain()$")):                                        1001,
		make + " lines@" + at("make(1002)") + fmt.Sprintf(run, at("    lines(0)")):                                        1002,
		make + " generator@" + at("        make(size)$") + fmt.Sprintf(run, at("in generator()")):                         1003 + 1004,
		make + " back@" + at("make(1006)") + " through_c@" + at("qsort(array") + fmt.Sprintf(run, at("    through_c()$")): 1006,
		make + " späte_größe@" + at("make(1008)") + fmt.Sprintf(run, at("    späte_größe()$")):                            1008,
	}
	forward := " Model.forward@" + at("in (1005,)")
	if version == "3.11" { // later ones have no function for it
		forward = " Model.forward.<locals>.<listcomp>@" + at("in (1005,)") + forward
	}
	if first != "" {
		require.Equal(t, make+" plain@"+at("make(1001)")+" <module>@"+at("            plain()"), first)
	}
	want[make+forward+fmt.Sprintf(run, at("Model()()"))] = 1005
	for i := range 20 {
		want[fmt.Sprintf("%s <module>@step%d.py:%d dynamic@%s"+run, make, i%7, i+1, at("exec(compile"), at("        dynamic(i)"))] += 2000 + i
		want[fmt.Sprintf("%s f%d@<string>:2 named@%s"+run, make, i%5, at(`scope["f%d" % (i % 5)]()`), at("        named(i)"))] += 3000 + i
	}
	deep := make
	for range 127 {
		deep += " recurse@" + at("        make(1007)")
		if strings.Count(deep, "recurse") > 1 {
			deep = strings.TrimSuffix(deep, at("        make(1007)")) + at("recurse(n - 1)")
		}
	}
	want[deep+" …"] = 1007
	require.Equal(t, want, got)
	p = ask("thread", 1+48+1)
	threading := false
	for _, s := range p.Sites {
		threading = threading || strings.HasPrefix(pythonFrames(&s), make+" plain@"+at("make(1001)")+" Thread.run@threading.py")
	}
	require.True(t, threading)
	require.False(t, p.Inexact)
	snapshot := []heap.Site(p.Sites)
	heap.Name(snapshot)
	for i := range snapshot {
		if s := &snapshot[i]; len(s.Frames) > 0 && pythonFrames(s) != "" {
			require.NotEmpty(t, s.Frames[s.Named].Line, "%v", s.Frames[s.Named])
			require.True(t, strings.HasPrefix(s.Frames[s.Named].Module, heap.PythonModule))
		}
	}
}

// awaitPython waits until the frames of a process are looked for.
func awaitPython(t *testing.T, w *Watcher, pid uint32) {
	require.Eventually(t, func() bool {
		_, in := w.pythonOf(pid)
		return in != nil && w.resolver.waiting.Load() == 0
	}, time.Minute, time.Millisecond)
}

// pythonFrames returns the frames of Python of a site, innermost first.
func pythonFrames(s *heap.Site) string {
	var all []string
	for _, f := range s.Frames {
		switch {
		case !strings.HasPrefix(f.Module, heap.PythonModule):
		case f.File == "":
			all = append(all, f.Func)
		default:
			all = append(all, fmt.Sprintf("%s@%s:%d", f.Func, filepath.Base(f.File), f.Line))
		}
	}
	return strings.Join(all, " ")
}

// lineOf returns the line of a file that has a mark, at its end if that ends in a $.
func lineOf(t *testing.T, file, mark string) int {
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	mark, end := strings.CutSuffix(mark, "$")
	for i, line := range strings.Split(string(b), "\n") {
		if end && strings.HasSuffix(line, mark) || !end && strings.Contains(line, mark) {
			return i + 1
		}
	}
	require.Fail(t, "no such line", mark)
	return 0
}

// buildFake builds the program that lays out what CPython 3.14 has.
func buildFake(t *testing.T) (lib, exe string) {
	lib, _ = buildFrameless(t, "-fno-omit-frame-pointer")
	exe = filepath.Join(filepath.Dir(lib), "fake")
	out, err := exec.Command("gcc", "-std=gnu11", "-O1", "-fno-omit-frame-pointer", "-w", "-pthread", "-rdynamic", "-o", exe,
		"testdata/python/fake.c", lib, "-Wl,--disable-new-dtags,-rpath,"+filepath.Dir(lib)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return lib, exe
}

// TestPythonLaidOut watches a program that has what CPython 3.14 has, as that says it is laid out, and then
// what no program should have. All its calls are counted, and none is given a line that is not in it.
func TestPythonLaidOut(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	lib, exe := buildFake(t)
	const forward, main = "Model.forward@model.py:20", " main@train.py:11"
	for _, c := range []struct{ command, want string }{
		{"good", forward + main},
		{"another code", "Model.train@model.py:20" + main},
		{"another version", "Model.test@model.py:20" + main},
		{"another line", "Model.forward@model.py:21" + main},
		{"another file", "Model.forward@trial.py:20" + main},
		{"self", forward},
		{"circle", strings.TrimSpace(strings.Repeat(forward+main+" ", 64)) + " …"},
		{"deep", strings.TrimSpace(strings.Repeat("Model.forward@model.py:21 ", 128)) + " …"},
		{"nowhere", ""},
		{"kernel", ""},
		{"no code", ""},
		{"no texts", "?" + main},
		{"long texts", "?" + main},
		{"other kinds", "?" + main},
		{"bad table", "Model.forward@model.py:0" + main},
		{"threads in a circle", ""},
		{"interpreters in a circle", ""},
		{"too many threads", ""},
	} {
		t.Run(c.command, func(t *testing.T) {
			w := watch(t, Options{Libraries: []string{lib}})
			f := follow(t, w)
			r := start(t, exe)
			pid := uint32(r.Process.Pid)
			frames := func(calls uint64) (all []string) { // of Python, of all sites
				require.Eventually(t, func() bool {
					var n uint64
					all = nil
					for _, s := range f.process(pid).Sites {
						if len(s.Frames) > 0 {
							n += s.AllocObjects
						}
						if p := pythonFrames(&s); p != "" {
							all = append(all, p)
						}
					}
					return n == calls
				}, 20*time.Second, 5*time.Millisecond)
				return all
			}
			r.say("stranger") // a call has the process known, if it was not yet
			require.Empty(t, frames(1))
			awaitPython(t, w, pid)
			r.say(c.command)
			require.Equal(t, c.want, strings.Join(frames(2), ", "))
			require.False(t, f.process(pid).Inexact)
		})
	}
}

// say sends a command and waits until it was done.
func (r *running) say(command string) {
	fmt.Fprintln(r.in, command)
	r.out.Scan()
}

// TestPythonLeftOut watches a program whose CPython is of no known kind, and says why its frames are not
// shown.
func TestPythonLeftOut(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	lib, exe := buildFake(t)
	source, err := os.ReadFile("testdata/python/fake.c")
	require.NoError(t, err)
	other := filepath.Join(t.TempDir(), "other.c")
	require.NoError(t, os.WriteFile(other, []byte(strings.ReplaceAll(string(source), "0x030e00f0", "0x030f00f0")), 0o600))
	out, err := exec.Command("gcc", "-std=gnu11", "-w", "-pthread", "-rdynamic", "-o", exe, other, lib,
		"-Wl,--disable-new-dtags,-rpath,"+filepath.Dir(lib)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	w := watch(t, Options{Libraries: []string{lib}})
	f := follow(t, w)
	r := start(t, exe)
	pid := uint32(r.Process.Pid)
	r.say("good")
	require.Eventually(t, func() bool { return len(f.process(pid).Notes) > 0 }, time.Minute, time.Millisecond)
	require.Equal(t, []string{"frames of Python 3.15 are left out: this version is not known"}, f.process(pid).Notes)
	r.say("good")
	require.Eventually(t, func() bool { s := f.process(pid).Sites; return len(s) > 0 && s[0].AllocObjects == 2 }, time.Minute, time.Millisecond)
	require.Empty(t, pythonFrames(&f.process(pid).Sites[0]))
}
