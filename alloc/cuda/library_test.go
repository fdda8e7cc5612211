//go:build cgo && linux

package cuda

import (
	"flag"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// The library for TestCuDNN, which comes with PyTorch too; its folder has to be where the loader looks.
var cuDNN = flag.String("cudnn", "", "the file of cuDNN 8 or newer")

// A word is eight bytes of C's memory, for what a library writes or reads through a pointer.
type word struct{ p *uint64 }

func newWord() word { return word{(*uint64)(drvtest.Malloc(8))} }

func (w word) at() uint64 { return uint64(uintptr(unsafe.Pointer(w.p))) }

// cuDNN works as docs/cuda.md says: inside Do, on a stream of ours, with a workspace that is made before the
// call and freed behind it, and in a graph likewise.
func TestCuDNN(t *testing.T) {
	if *cuDNN == "" {
		t.Skip("no cuDNN is named: ask with -cudnn=")
	}
	_, err := os.Stat(*cuDNN)
	require.NoError(t, err)
	e := start(t, alloc.Options{})
	call := func(function string, args ...uint64) {
		c := drvtest.Call{Function: function}
		for _, a := range args {
			c.Args = append(c.Args, drvtest.Value(a))
		}
		require.NoError(t, e.dev.Do(func() error {
			assert.True(t, drvtest.Crossing(t, *cuDNN, c)(), function)
			return nil
		}))
	}
	handle, from, to, sum, size := newWord(), newWord(), newWord(), newWord(), newWord()
	one, zero := newWord(), newWord()
	*(*float32)(unsafe.Pointer(one.p)) = 1
	const n = 1 << 16 // numbers: 2 by 3 by 32,768 of them into 3
	call("cudnnCreate", handle.at())
	call("cudnnCreateTensorDescriptor", from.at())
	call("cudnnSetTensor4dDescriptor", *from.p, 0, 0, 2, 3, n/2, 1)
	call("cudnnCreateTensorDescriptor", to.at())
	call("cudnnSetTensor4dDescriptor", *to.p, 0, 0, 1, 3, 1, 1)
	call("cudnnCreateReduceTensorDescriptor", sum.at())
	call("cudnnSetReduceTensorDescriptor", *sum.p, 0, 0, 0, 0, 0) // adds, with float32
	call("cudnnGetReductionWorkspaceSize", *handle.p, *sum.p, *from.p, *to.p, size.at())
	require.Positive(t, *size.p)

	x, y := buffer[float32](t, e.s, 3*n), buffer[float32](t, e.s, 3)
	reduce := func() error {
		work, err := alloc.Make[byte](e.s, int(*size.p))
		if err != nil {
			return err
		}
		call("cudnnSetStream", *handle.p, uint64(e.s.Handle()))
		call("cudnnReduceTensor", *handle.p, *sum.p, 0, 0, uint64(work.Ptr(e.s)), *size.p, one.at(), *from.p,
			uint64(x.Ptr(e.s)), zero.at(), *to.p, uint64(y.Ptr(e.s)))
		work.Free()
		runtime.KeepAlive(x)
		runtime.KeepAlive(y)
		return nil
	}
	check := func(want float32) {
		got := floats(t, e.s, y)
		assert.Equal(t, []float32{want, want, want}, got)
	}
	require.NoError(t, x.Fill(e.s, 1))
	require.NoError(t, reduce())
	check(n)
	g, err := e.s.Capture(reduce)
	require.NoError(t, err)
	require.NoError(t, x.Fill(e.s, 2))
	require.NoError(t, g.Launch(e.s))
	check(2 * n)
	g.Close()
	x.Free()
	y.Free()
	call("cudnnDestroyReduceTensorDescriptor", *sum.p)
	call("cudnnDestroyTensorDescriptor", *to.p)
	call("cudnnDestroyTensorDescriptor", *from.p)
	call("cudnnDestroy", *handle.p)
	require.NoError(t, e.s.Sync())
	assert.Zero(t, e.pool.Stats().Live)
}
