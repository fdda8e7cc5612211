//go:build cgo && linux

package cuda

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// examplePTX returns the PTX of an example, which the example itself runs only where there is a GPU.
func examplePTX(t *testing.T, path string) string {
	text, err := os.ReadFile("../../examples/" + path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("not run from the source tree: ", err)
	}
	require.NoError(t, err)
	return string(text)
}

func TestExampleSaxpy(t *testing.T) {
	e := start(t, alloc.Options{})
	k := e.kernel(t, examplePTX(t, "saxpy/saxpy.ptx"), "saxpy")
	const n = 300
	x, y := buffer[float32](t, e.s, n), buffer[float32](t, e.s, n)
	require.NoError(t, x.Fill(e.s, 3))
	require.NoError(t, y.Fill(e.s, 1))
	require.NoError(t, k.Launch(e.s, Dim{X: 2}, Dim{X: 256}, 0, y.Arg(), x.Arg(), alloc.Scalar(float32(2)),
		alloc.Scalar(uint32(n))))
	got := make([]float32, n)
	require.NoError(t, y.CopyTo(e.s, got))
	assert.EqualValues(t, 7, got[0])
	assert.EqualValues(t, 7, got[n-1])
	x.Free()
	y.Free()
}

func TestExampleBlur(t *testing.T) {
	e := start(t, alloc.Options{})
	text := examplePTX(t, "blur/blur.ptx")
	box, mix := e.kernel(t, text, "box"), e.kernel(t, text, "mix")
	const w, h, r = 37, 23, 4
	src := make([]float32, w*h)
	for i := range src {
		src[i] = float32(i * i % 251)
	}
	in, out := buffer[float32](t, e.s, w*h), buffer[float32](t, e.s, w*h)
	require.NoError(t, in.CopyFrom(e.s, src))
	word := func(x int) alloc.Arg { return alloc.Scalar(int32(x)) }
	got := make([]float32, w*h)
	for _, d := range []struct{ x, y int }{{1, 0}, {0, 1}} {
		require.NoError(t, box.Launch(e.s, Dim{X: (w*h + 127) / 128}, Dim{X: 128}, 0, out.Arg(), in.Arg(),
			word(w), word(h), word(d.x), word(d.y), word(r)))
		require.NoError(t, out.CopyTo(e.s, got))
		for i := range got {
			var sum float32
			for k := -r; k <= r; k++ {
				x := min(max(i%w+k*d.x, 0), w-1)
				y := min(max(i/w+k*d.y, 0), h-1)
				sum += src[y*w+x]
			}
			require.Equal(t, sum/(2*r+1), got[i], "pixel %d", i)
		}
	}
	require.NoError(t, mix.Launch(e.s, Dim{X: 7}, Dim{X: 128}, 0, out.Arg(), in.Arg(), out.Arg(),
		alloc.Scalar(float32(0.5)), word(w*h)))
	mixed := make([]float32, w*h)
	require.NoError(t, out.CopyTo(e.s, mixed))
	for i := range mixed {
		require.InDelta(t, (src[i]+got[i])/2, mixed[i], 1e-3)
	}
	in.Free()
	out.Free()
}

// Foreign code in C gets a buffer's address and a stream's handle, as cuBLAS or cuDNN would, and enqueues
// work of its own. The buffer is kept alive until that is enqueued.
func TestForeignCode(t *testing.T) {
	e := start(t, alloc.Options{})
	const n = 1000
	b := buffer[uint32](t, e.s, n)
	require.NoError(t, b.Fill(e.s, 1))
	require.NoError(t, e.dev.Do(func() error { // such libraries want our context to be the thread's
		p := b.Ptr(e.s)
		drvtest.Loop(t, e.Path, 1, drvtest.Call{Function: "cuMemsetD32Async", Args: []drvtest.Arg{
			drvtest.Value(uint64(p)), drvtest.Value(77), drvtest.Value(n), drvtest.Value(uint64(e.s.Handle())),
		}})
		runtime.KeepAlive(b)
		return nil
	}))
	got := make([]uint32, n)
	require.NoError(t, b.CopyTo(e.s, got))
	b.Free()
	assert.EqualValues(t, 77, got[n-1])
}
