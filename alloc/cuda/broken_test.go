//go:build cgo && linux

package cuda

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// brokenChild has tests break the driver of their own process.
var brokenChild = flag.Bool("broken-child", false, "used by tests that break a context")

// brokenElsewhere runs the test in a process of its own where d is real, whose context stays broken for as
// long as the process lives, and reports whether it has.
func brokenElsewhere(t *testing.T, d drvtest.Driver) bool {
	if !d.Real() || *brokenChild {
		return false
	}
	text, err := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-driver=real", "-broken-child",
		fmt.Sprintf("-ordered=%t", *ordered)).CombinedOutput()
	t.Logf("%s", text)
	require.NoError(t, err)
	return true
}

// A kernel that writes where there is nothing breaks the context. Every later call says so, and all closes
// cleanly.
func TestBroken(t *testing.T) {
	d := choose(t)
	if brokenElsewhere(t, d) {
		return
	}
	e := startOn(t, d, alloc.Options{})
	testBroken(t, e)
	assert.Zero(t, e.pool.Tracker().Bytes(), "the books are consistent")
	if e.StandIn != nil {
		assert.Zero(t, e.StandIn.Books().Retains)
	}
}

func testBroken(t *testing.T, e *env) {
	k := e.kernel(t, testPTX, "fault")
	b := buffer[uint32](t, e.s, 1<<20)
	require.NoError(t, k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0))
	err := e.s.Sync()
	require.ErrorIs(t, err, ErrBroken)
	assert.ErrorContains(t, err, "CUDA_ERROR_ILLEGAL_ADDRESS (700)")
	for name, f := range map[string]func() error{
		"fill":   func() error { return b.Fill(e.s, 1) },
		"launch": func() error { return k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0) },
		"copy":   func() error { return b.CopyTo(e.s, make([]uint32, 4)) },
		"stream": func() error { _, err := e.pool.NewStream(); return err },
		"load":   func() error { _, err := LoadModule(e.pool, []byte(testPTX)); return err },
		"sync":   e.s.Sync,
	} {
		err := f()
		require.ErrorIs(t, err, ErrBroken, name)
		assert.ErrorContains(t, err, "since cuda: ", name)
	}
	b.Free()
	require.NoError(t, k.module.Unload(), "giving back is done")
	if err := e.pool.Close(); err != nil {
		assert.ErrorIs(t, err, ErrBroken)
	}
	require.NoError(t, e.dev.Close())
}

// An assertion of a kernel that fails breaks the context too. A stream whose handle others have says so, and
// not that it is captured.
func TestAssert(t *testing.T) {
	const code = 710
	e := startStandIn(t, alloc.Options{})
	e.s.Handle()
	for _, f := range []string{"cuStreamIsCapturing", "cuStreamSynchronize", "cuMemCreate"} {
		e.StandIn.Fail(t, f, 0, 1000, code)
		defer e.StandIn.Fail(t, f, 0, 0, 0)
	}
	_, err := alloc.Make[byte](e.s, 1000)
	require.ErrorIs(t, err, ErrBroken)
	assert.NotErrorIs(t, err, alloc.ErrCapturing)
	assert.ErrorContains(t, err, "CUDA_ERROR_ASSERT (710)")
	assert.ErrorIs(t, e.s.Sync(), ErrBroken)
}

// When the process exits the driver goes first: giving back is done then, asking for more is an error.
func TestShuttingDown(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	b := buffer[byte](t, e.s, 1<<20)
	e.StandIn.Deinit(true)
	defer e.StandIn.Deinit(false)
	_, err := e.dev.Alloc(512)
	assert.ErrorIs(t, err, ErrShuttingDown)
	assert.NoError(t, e.dev.Free(4096, 512))
	b.Free()
	e.pool.Trim(0)
	_ = e.pool.Close()
	assert.Zero(t, e.pool.Tracker().Bytes())
	assert.NoError(t, e.dev.Close())
}

// holdChild makes TestOutOfMemory the other process: it takes all of the device's memory but this many bytes,
// says so and waits for its input to end.
var holdChild = flag.Int64("hold-child", 0,
	"for TestOutOfMemory itself: take the device's memory but so many bytes")

// Memory that another process holds makes Make fail with what the pool looks like, and later succeed.
func TestOutOfMemory(t *testing.T) {
	d := choose(t)
	if *holdChild > 0 {
		hold(t, d, *holdChild)
		return
	}
	left, want := int64(1<<30), 4<<30
	if d.StandIn != nil {
		left, want = 8<<20, 64<<20
		d.StandIn.Set(t, "memory", 128<<20)
	}
	e := startOn(t, d, alloc.Options{})
	release := func() { e.StandIn.Set(t, "taken", 0) }
	if d.Real() {
		release = holder(t, left)
	} else {
		d.StandIn.Set(t, "taken", 128<<20-left)
	}
	_, err := alloc.Make[byte](e.s, want)
	require.ErrorIs(t, err, alloc.ErrOutOfMemory)
	var me *alloc.MemoryError
	require.ErrorAs(t, err, &me)
	assert.ErrorContains(t, err, "CUDA_ERROR_OUT_OF_MEMORY (2)")
	small := buffer[byte](t, e.s, 1<<20) // there is room for this
	release()
	b := buffer[byte](t, e.s, want)
	require.NoError(t, b.Fill(e.s, 1))
	require.NoError(t, e.s.Sync())
	b.Free()
	small.Free()
	require.NoError(t, e.pool.Close())
}

// hold takes the device's memory and keeps it until standard input ends.
func hold(t *testing.T, d drvtest.Driver, left int64) {
	dev, err := open(d.Path, 0, Options{})
	require.NoError(t, err)
	defer dev.Close()
	free, _, err := dev.MemInfo()
	require.NoError(t, err)
	p, err := dev.Alloc((free - left) &^ (2<<20 - 1))
	require.NoError(t, err)
	fmt.Println("holding")
	_, _ = io.Copy(io.Discard, os.Stdin)
	require.NoError(t, dev.Free(p, 0))
}

// holder starts a process that leaves so many bytes of the device's memory, and returns what ends it.
func holder(t *testing.T, left int64) (release func()) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestOutOfMemory$", "-driver=real",
		fmt.Sprintf("-hold-child=%d", left))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "holding" {
	}
	require.Equal(t, "holding", lines.Text(), "the other process failed")
	return func() {
		require.NoError(t, in.Close())
		for lines.Scan() {
		}
		require.NoError(t, cmd.Wait())
	}
}
