// Package drvtest is what tests open in place of the CUDA driver and its libraries on a machine without a
// GPU: stand-ins with the same symbols, built from C by the system's compiler when a test asks for them. It
// also holds the C loops that wrappers are measured against.
//
// [Build] makes a library; any program can then load it by its path, one in C too. [Load] opens the
// stand-in's side door (standin.h) in this process: settings, failures on cue, and its books. Each library
// that Build returns is a driver of its own. [Program] runs the program under test on one.
package drvtest

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

//go:embed standin/*.c standin/*.h standin/*.inc
var source embed.FS

// Options say which driver to stand in for. The zero Options is a recent one.
type Options struct {
	// Heads selects the first instructions of the exported functions: those of driver 580, those of 550 and
	// 535, or for 0 what the compiler makes.
	Heads int
	// Compiler asks for the stand-in of NVRTC in place of the driver's, Ranges for that of NVTX, BLAS for
	// that of cuBLAS.
	Compiler, Ranges, BLAS bool
	// NCCL asks for that of NCCL, which says that it is of this version, such as 22809.
	NCCL int
	// CUDAC has the compiler's stand-in compile CUDA C by the system's C++ compiler, for this machine. It
	// names a folder whose headers come before the program's own of the same names: what stands for a GPU's
	// instructions. Kernels may use threads, blocks, shared memory, barriers and __shfl_xor_sync.
	CUDAC string
	// Without lists symbols that the library does not export.
	Without []string
}

var built struct {
	sync.Mutex
	libs map[string][]byte
	why  string
}

// Build builds the stand-in and returns the path of its library. It skips the test, with the reason, where
// there is no C compiler.
func Build(tb testing.TB, o Options) string {
	tb.Helper()
	lib, why := compile(o)
	if why != "" {
		tb.Skip("no stand-in driver: " + why)
	}
	path := filepath.Join(tb.TempDir(), o.library())
	if err := os.WriteFile(path, lib, 0o755); err != nil {
		tb.Fatal(err)
	}
	return path
}

// library returns the name that the loader looks for.
func (o Options) library() string {
	switch {
	case o.Compiler:
		return "libnvrtc.so.13"
	case o.Ranges:
		return "libnvtx3interop.so.1"
	case o.BLAS:
		return "libcublas.so.13"
	case o.NCCL != 0:
		return "libnccl.so.2"
	}
	return "libcuda.so.1"
}

// Header returns the text of standin.h, for tests that build C programs against the stand-in.
func Header() []byte {
	h, err := source.ReadFile("standin/standin.h")
	if err != nil {
		panic(err) // it is embedded
	}
	return h
}

// compile returns the library's bytes; each variant is compiled once per process.
func compile(o Options) (lib []byte, why string) {
	built.Lock()
	defer built.Unlock()
	if built.why != "" {
		return nil, built.why
	}
	key := fmt.Sprint(o)
	if lib, ok := built.libs[key]; ok {
		return lib, ""
	}
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	cc, err := exec.LookPath(cc)
	if err != nil {
		built.why = err.Error()
		return nil, built.why
	}
	dir, err := os.MkdirTemp("", "standin")
	if err != nil {
		return nil, err.Error()
	}
	defer os.RemoveAll(dir)
	files, err := source.ReadDir("standin")
	for i := 0; err == nil && i < len(files); i++ {
		var text []byte
		if text, err = source.ReadFile("standin/" + files[i].Name()); err == nil {
			err = os.WriteFile(filepath.Join(dir, files[i].Name()), text, 0o644)
		}
	}
	if err != nil {
		return nil, err.Error()
	}
	out := filepath.Join(dir, "lib.so")
	args, why := o.sources()
	if why != "" {
		return nil, why
	}
	args = append([]string{"-O1", "-fPIC", "-shared", "-o", out}, args...)
	if len(o.Without) > 0 {
		script := "{ global: *; local: " + strings.Join(o.Without, "; ") + "; };\n"
		if err := os.WriteFile(filepath.Join(dir, "symbols"), []byte(script), 0o644); err != nil {
			return nil, err.Error()
		}
		args = append(args, "-Wl,--version-script=symbols")
	}
	cmd := exec.Command(cc, args...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		built.why = fmt.Sprintf("%s: %v: %s", cc, err, text)
		return nil, built.why
	}
	lib, err = os.ReadFile(out)
	if err != nil {
		return nil, err.Error()
	}
	if built.libs == nil {
		built.libs = map[string][]byte{}
	}
	built.libs[key] = lib
	return lib, ""
}

// sources returns what the compiler is to make the library of, or why it cannot.
func (o Options) sources() (args []string, why string) {
	switch {
	case o.Compiler && o.CUDAC != "":
		cxx := os.Getenv("CXX")
		if cxx == "" {
			cxx = "c++"
		}
		cxx, err := exec.LookPath(cxx)
		if err != nil {
			return nil, err.Error()
		}
		headers, err := filepath.Abs(o.CUDAC)
		if err != nil {
			return nil, err.Error()
		}
		return []string{fmt.Sprintf("-DSTANDIN_CUDAC=%q", cxx), fmt.Sprintf("-DSTANDIN_HEADERS=%q", headers), "nvrtc.c"}, ""
	case o.Compiler:
		return []string{"nvrtc.c"}, ""
	case o.Ranges:
		return []string{"nvtx.c"}, ""
	case o.BLAS:
		return []string{"cublas.c", "-ldl"}, ""
	case o.NCCL != 0:
		return []string{fmt.Sprintf("-DSTANDIN_NCCL=%d", o.NCCL), "nccl.c", "-ldl"}, ""
	}
	return []string{fmt.Sprintf("-DSTANDIN_HEAD=%d", o.Heads), "driver.c", "ptx.c", "-lpthread", "-lm"}, ""
}
