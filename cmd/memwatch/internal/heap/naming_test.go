package heap

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestName names sites by the line by which they differ, and no further out.
func TestName(t *testing.T) {
	site := func(names string) Site { // innermost first
		s := Site{Frames: []Frame{{Func: "cuMemAlloc_v2", Module: "libcuda.so.1"}}}
		for i, n := range strings.Fields(names) {
			s.Frames = append(s.Frames, Frame{Func: n, File: n + ".cc", Line: 10, Module: "app", PC: uint64(i)})
		}
		return s
	}
	for _, c := range []struct {
		sites []string
		want  []string
	}{
		{[]string{"load main", "step main"}, []string{"load", "step"}},
		{[]string{"make load main", "make step main", "other main"}, []string{"load", "step", "other"}},
		{[]string{"make vec load main", "make vec step main", "make log main"}, []string{"load", "step", "log"}},
		{[]string{"make load main", "make load main"}, []string{"make", "make"}}, // two classes of one stack
		{[]string{"make load a main", "make load b main", "make c main"}, []string{"a", "b", "c"}},
		{[]string{"make", "make main"}, []string{"make", "main"}},
		{[]string{"f f f main", "f f main", "f main"}, []string{"f", "main", "main"}}, // recursion
		{[]string{"std::vector::push load main"}, []string{"load"}},
		// the first step and the others: their callers would name all that they do
		{[]string{"a step warm", "b step warm", "a step main", "b step main"}, []string{"a", "b", "a", "b"}},
		{[]string{""}, []string{"cuMemAlloc_v2"}},
	} {
		var sites []Site
		for _, s := range c.sites {
			sites = append(sites, site(s))
		}
		Name(sites)
		var got []string
		for _, s := range sites {
			got = append(got, s.Frames[s.Named].Func)
		}
		require.Equal(t, c.want, got, "%v", c.sites)
	}
	deep := []Site{site(strings.Repeat("f ", 40) + "a"), site(strings.Repeat("f ", 40) + "b")}
	Name(deep)
	require.Equal(t, maxClimb, deep[0].Named-1)
	Name(nil)
	none := []Site{{}, {}}
	Name(none)
	require.Zero(t, none[0].Named)
}

// TestNamePython names sites of programs of Python by their own lines, whatever of C there is.
func TestNamePython(t *testing.T) {
	const module = PythonModule + "3.12"
	driver := Frame{PC: 1, Func: "cuMemAlloc_v2", Module: "libcuda.so.1"}
	extension := Frame{PC: 2, Func: "forward", File: "/src/extension.cc", Line: 7, Module: "_C.so"}
	module1 := Frame{Func: "Module._call_impl", File: "/env/lib/python3.12/site-packages/torch/nn/modules/module.py", Line: 1500, Module: module}
	debian := Frame{Func: "full", File: "/usr/lib/python3/dist-packages/numpy/core/numeric.py", Line: 3, Module: module}
	frozen := Frame{Func: "_find_and_load", File: "<frozen importlib._bootstrap>", Line: 9, Module: module}
	typed := Frame{Func: "<module>", File: "<stdin>", Line: 1, Module: module}
	train := Frame{Func: "main", File: "/home/me/train.py", Line: 123, Module: module}
	nameless := Frame{Func: "?", Module: module}
	for _, c := range []struct {
		frames []Frame
		want   Frame
	}{
		{[]Frame{driver, extension, module1, train}, train},
		{[]Frame{driver, debian, frozen, typed}, typed},
		{[]Frame{driver, extension, module1, frozen}, module1},
		{[]Frame{driver, extension, nameless, train}, train},
		{[]Frame{driver, extension, nameless}, extension},
		{[]Frame{driver, extension}, extension},
	} {
		sites := []Site{{Frames: c.frames}}
		Name(sites)
		require.Equal(t, c.want, c.frames[sites[0].Named])
	}
}
