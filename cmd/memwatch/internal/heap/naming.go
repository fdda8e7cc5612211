package heap

import (
	"fmt"
	"slices"
	"strings"
)

// What stands between a program and a driver: by the beginning of a function's name, and of its file's.
var (
	betweenFuncs = []string{
		"runtime.", "_cgo_", "github.com/lastuse/lastuse/alloc.", "github.com/lastuse/lastuse/alloc/",
		"github.com/lastuse/lastuse/internal/", "github.com/lastuse/lastuse/tracker.",
		"c10::", "at::detail::empty", "at::native::empty", "rmm::", "cudaMalloc", "cudaHostAlloc", "cudart::", "hipMalloc",
		"std::", "__gnu_cxx::", "thrust::",
	}
	betweenFiles = []string{"libcuda.so", "libcudart.so", "libc10.so", "libc10_cuda.so", "libc10_hip.so", "libc10_xpu.so", "libamdhip64.so", "libOpenCL.so", "libze_", "libc.so", "libstdc++.so"}
)

// Own reports whether a frame is of the program rather than of a driver, a runtime, an allocator on top of
// one, or the glue between Go and C.
func (f *Frame) Own() bool {
	begins := func(s string, all []string) bool {
		return slices.ContainsFunc(all, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
	}
	return f.Func != "" && (f.File != "" || f.Module != "") && !strings.Contains(f.Func, "_Cfunc_") &&
		!begins(f.Func, betweenFuncs) && !begins(f.Module, betweenFiles)
}

// Where Python keeps what is not the program's own.
var pythonLibraries = []string{"/site-packages/", "/dist-packages/", "/lib/python3."}

// PythonModule is how the module of a frame of Python begins; its version follows.
const PythonModule = "Python-"

// python reports whether a frame is of Python, and library whether it is of one of its libraries.
func (f *Frame) python() (yes, library bool) {
	return strings.HasPrefix(f.Module, PythonModule) && f.File != "", strings.HasPrefix(f.File, "<frozen ") ||
		slices.ContainsFunc(pythonLibraries, func(at string) bool { return strings.Contains(f.File, at) })
}

// own returns the frames that may name a stack: the program's own, those whose line is known if there are
// any, for what is below them is glue; else the innermost. In a program of Python they are Python's, those of
// its libraries only if there are no others.
func own(frames []Frame) (all []int) {
	for _, may := range []func(f *Frame) bool{
		func(f *Frame) bool { python, library := f.python(); return python && !library },
		func(f *Frame) bool { python, _ := f.python(); return python },
		func(f *Frame) bool { return f.Own() && f.File != "" },
		(*Frame).Own,
	} {
		for i := range frames {
			if may(&frames[i]) {
				all = append(all, i)
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	if len(frames) > 0 {
		all = []int{0}
	}
	return all
}

// maxClimb bounds how far out a name is looked for: stacks are of strangers, and may all be alike.
const maxClimb = 16

// Name chooses for each of some sites the frame that names it: the innermost that is the program's own. Where
// several have the same, as those that call a helper have, each is named by the first frame further out by
// which they differ; but not where that names others too, which came there from other lines.
func Name(sites []Site) {
	place := func(f *Frame) string { return fmt.Sprintf("%s\x00%s\x00%d", f.Func, f.File, f.Line) }
	name := func(i int) string { return place(&sites[i].Frames[sites[i].Named]) }
	ways, inner := make([][]int, len(sites)), make([]int, len(sites))
	same := make(map[string][]int)
	for i := range sites {
		if ways[i] = own(sites[i].Frames); len(ways[i]) > 0 {
			inner[i] = ways[i][0]
			sites[i].Named = inner[i]
			same[name(i)] = append(same[name(i)], i)
		}
	}
	for level := 0; len(same) > 0 && level < maxClimb; level++ {
		next := make(map[string][]int)
		for _, group := range same {
			if !differ(sites, group) {
				continue
			}
			for _, i := range group {
				if ways[i] = ways[i][1:]; len(ways[i]) > 0 { // else it is named by its outermost
					sites[i].Named = ways[i][0]
					next[name(i)] = append(next[name(i)], i)
				}
			}
		}
		same = next
	}
	lines := make(map[string]map[string]bool) // the innermost ones, by name
	for i := range sites {
		if f := sites[i].Frames; len(f) > 0 {
			if lines[name(i)] == nil {
				lines[name(i)] = make(map[string]bool)
			}
			lines[name(i)][place(&f[inner[i]])] = true
		}
	}
	for i := range sites {
		if len(sites[i].Frames) > 0 && len(lines[name(i)]) > 1 {
			sites[i].Named = inner[i]
		}
	}
}

// nameSites returns the frames that name all sites of a process, which are chosen anew when there are more
// sites or stacks.
func (p *process) nameSites() map[siteKey]int {
	if p.names != nil {
		return p.names
	}
	p.names = make(map[siteKey]int, len(p.sites))
	var keys []siteKey
	var sites []Site
	for k := range p.sites {
		keys = append(keys, k)
		sites = append(sites, Site{Frames: p.stacks[k.stack]})
	}
	Name(sites)
	for i, k := range keys {
		p.names[k] = sites[i].Named
	}
	return p.names
}

// differ reports whether sites that have one name so far were called from different places.
func differ(sites []Site, group []int) bool {
	for _, i := range group[1:] {
		a, b := sites[group[0]].Frames[sites[group[0]].Named:], sites[i].Frames[sites[i].Named:]
		same := slices.EqualFunc(a, b, func(f, g Frame) bool { return f.Func == g.Func && f.File == g.File && f.Line == g.Line })
		if !same {
			return true
		}
	}
	return false
}
