//go:build cgo && linux

package cuda

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// source is CUDA C for the real compiler and for the stand-in, which takes the PTX in the comment.
func source(text, ptx string) string {
	return text + "\n/*ptx" + ptx + "ptx*/\n"
}

const addC = `#include "step.h"
extern "C" __global__ void addto(unsigned *p, unsigned n)
{
	if (threadIdx.x < n)
		p[threadIdx.x] += STEP;
}
`

const addPTX = drvtest.Head + `
.visible .entry addto(.param .u64 p, .param .u32 n)
{
	.reg .pred %p<2>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	setp.ge.u32 %p1, %r2, %r1;
	@%p1 bra DONE;
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r3, [%rd3];
	add.u32 %r4, %r3, 3;
	st.global.u32 [%rd3], %r4;
DONE:
	ret;
}
`

// withCompiler starts the stand-ins, or the real driver and compiler where the flag -driver wants it.
func withCompiler(t *testing.T) (e *env, o CompileOptions) {
	e = start(t, alloc.Options{})
	if e.StandIn != nil {
		o.Library = drvtest.Build(t, drvtest.Options{Compiler: true})
	} else if _, err := CompileCubin("sm_90", "", o); errors.Is(err, ErrUnavailable) {
		t.Skip("no NVRTC: " + err.Error())
	}
	return e, o
}

func TestCompile(t *testing.T) {
	e, o := withCompiler(t)
	o.Headers = map[string]string{"step.h": "#define STEP 3\n", "other.h": ""}
	m, err := Compile(e.pool, source(addC, addPTX), o)
	require.NoError(t, err)
	k, err := m.Kernel("addto")
	require.NoError(t, err)
	b := buffer[uint32](t, e.s, 4)
	defer b.Free()
	require.NoError(t, b.Fill(e.s, 1))
	require.NoError(t, k.Launch(e.s, Dim{X: 1}, Dim{X: 4}, 0, b.Arg(), alloc.Scalar(uint32(3))))
	got := make([]uint32, 4)
	require.NoError(t, b.CopyTo(e.s, got))
	assert.Equal(t, []uint32{4, 4, 4, 1}, got)
	require.NoError(t, m.Unload())

	again, err := Compile(e.pool, source(addC, addPTX), o)
	require.NoError(t, err)
	assert.Len(t, e.dev.compiled.all, 1, "what was compiled is not compiled again")
	require.NoError(t, again.Unload())
	o.Headers["step.h"] = "#define STEP 4\n"
	other, err := Compile(e.pool, source(addC, addPTX), o)
	require.NoError(t, err)
	assert.Len(t, e.dev.compiled.all, 2, "another header makes another source")
	require.NoError(t, other.Unload())
}

func TestCompileTemplate(t *testing.T) {
	e, o := withCompiler(t)
	o.Names = []string{"fill<7>", "fill<8>"}
	const text = "template <int N> __global__ void fill(int *p) { *p = N; }"
	m, err := Compile(e.pool, source(text, drvtest.Head+strings.ReplaceAll(drvtest.Empty, "empty()", "fill7()")+
		strings.ReplaceAll(drvtest.Empty, "empty()", "fill8()")), o)
	require.NoError(t, err)
	for _, name := range o.Names {
		_, err := m.Kernel(name)
		require.NoError(t, err, name)
	}
	_, err = m.Kernel("fill<9>")
	require.Error(t, err)
	require.NoError(t, m.Unload())
}

func TestCompileErrors(t *testing.T) {
	e, o := withCompiler(t)
	o.Name = "broken.cu"
	before := e.pool.Tracker().Bytes()
	_, err := Compile(e.pool, "\n#error no\n", o)
	var ce *Error
	require.ErrorAs(t, err, &ce)
	assert.Regexp(t, `broken\.cu\(2\): (catastrophic )?error`, ce.Log)
	assert.Contains(t, err.Error(), "broken.cu(2)")
	assert.NotErrorIs(t, err, alloc.ErrOutOfMemory)
	_, err = Compile(e.pool, "#include \"missing.h\"\n", o)
	require.ErrorContains(t, err, "broken.cu(1)")
	o.Options = []string{"what is this"}
	_, err = Compile(e.pool, source(addC, addPTX), o)
	require.ErrorContains(t, err, "nvrtcCompileProgram")
	assert.Equal(t, before, e.pool.Tracker().Bytes())
	assert.Empty(t, e.dev.compiled.all)
}

// What C would take for a shorter text than it is would be another program.
func TestCompileZeroBytes(t *testing.T) {
	e, o := withCompiler(t)
	good := source(strings.TrimPrefix(addC, "#include \"step.h\"\n"), addPTX)
	o.Options = []string{"-DSTEP=3"}
	for name, f := range map[string]func(*CompileOptions) string{
		"source": func(*CompileOptions) string { return good + "\x00#error behind it" },
		"name":   func(o *CompileOptions) string { o.Name = "a\x00.cu"; return good },
		"option": func(o *CompileOptions) string { o.Options = []string{"-DSTEP=3\x000"}; return good },
		"names":  func(o *CompileOptions) string { o.Names = []string{"addto\x00x"}; return good },
		"header": func(o *CompileOptions) string { o.Headers = map[string]string{"a.h": "\x00"}; return good },
		"header's name": func(o *CompileOptions) string {
			o.Headers = map[string]string{"a.h\x00": ""}
			return good
		},
	} {
		o := o
		src := f(&o)
		_, err := Compile(e.pool, src, o)
		assert.ErrorContains(t, err, "is zero, where C ends a text", name)
	}
	m, err := Compile(e.pool, good, o)
	require.NoError(t, err)
	_, err = m.Kernel("addto\x00x")
	assert.ErrorContains(t, err, "CUDA_ERROR_NOT_FOUND")
	require.NoError(t, m.Unload())
}

// An expression for which the compiler has no name is an error, not another one's name.
func TestCompileNoName(t *testing.T) {
	o := CompileOptions{Library: drvtest.Build(t, drvtest.Options{Compiler: true})}
	o.Names = []string{"fill<7>", "<>", "fill<8>"}
	_, err := CompileCubin("sm_90", source("", drvtest.Head), o)
	require.EqualError(t, err, "cuda: nvrtcGetLoweredName: no such name: \"<>\" of Names is no kernel or variable of the source")
}

// A cubin needs no GPU, and no NVRTC is said with what would help.
func TestCompileCubin(t *testing.T) {
	o := CompileOptions{Library: drvtest.Build(t, drvtest.Options{Compiler: true}), Headers: map[string]string{"step.h": ""}}
	image, err := CompileCubin("sm_90", source(addC, addPTX), o)
	require.NoError(t, err)
	assert.Equal(t, addPTX, string(image))

	_, err = CompileCubin("sm_90", "", CompileOptions{Library: t.TempDir() + "/libnvrtc.so"})
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "CompileOptions.Library")
	_, err = CompileCubin("sm_90", "", CompileOptions{Library: drvtest.Build(t, drvtest.Options{})})
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "lacks nvrtcVersion: too old, or no NVRTC")
}

// A compiler that is too old, for us or for the device, is an error that says so.
func TestCompileTooOld(t *testing.T) {
	o := CompileOptions{Library: drvtest.Build(t, drvtest.Options{Compiler: true, Without: []string{"nvrtcGetCUBIN"}})}
	_, err := CompileCubin("sm_90", "", o)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "lacks nvrtcGetCUBIN: too old, or no NVRTC")
	o.Library = drvtest.Build(t, drvtest.Options{Compiler: true})
	_, err = CompileCubin("sm_990", source("", drvtest.Head), o)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.ErrorContains(t, err, "invalid value for --gpu-architecture")
	require.ErrorContains(t, err, "this is NVRTC 13.0: if it is too old for sm_990, name another in CompileOptions.Library")
}
