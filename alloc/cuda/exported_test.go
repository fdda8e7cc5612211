//go:build cgo && linux

package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/tracker"
)

// importer, in the environment, makes the test's binary the other process: it imports the file that it was
// started with through the driver at that path.
const importer = "LASTUSE_TEST_IMPORTER"

// exported returns exported memory of 1000 words, which hold 7.
func (e *env) exported(t *testing.T) Exported[uint32] {
	x, err := MakeExported[uint32](e.s, 1000)
	if e.Real() && err != nil {
		require.ErrorIs(t, err, ErrUnavailable)
		t.Skip(err)
	}
	require.NoError(t, err)
	require.NoError(t, x.Fill(e.s, 7))
	return x
}

// Another process reads what this one has written, and writes what this one reads. Its memory outlives the
// handle of this one.
func TestExported(t *testing.T) {
	if path := os.Getenv(importer); path != "" {
		importing(t, path)
		return
	}
	e := start(t, alloc.Options{Limit: 1 << 20})
	x := e.exported(t)
	assert.EqualValues(t, 4000, e.pool.Stats().Live)
	f, err := x.File(e.s)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestExported$", "-test.v")
	cmd.Env = append(os.Environ(), importer+"="+e.Path)
	cmd.ExtraFiles = []*os.File{f}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "imported and written")
	got := make([]uint32, 1000)
	require.NoError(t, x.CopyTo(e.s, got))
	assert.EqualValues(t, 8, got[0])
	assert.EqualValues(t, 7, got[999])

	// In one process, by way of the file alone.
	x.Free()
	x.Free()
	require.NoError(t, e.s.Sync())
	e.pool.Trim(0)
	assert.Zero(t, e.pool.Stats().Live+e.pool.Stats().Pending)
	_, err = x.File(e.s)
	require.ErrorIs(t, err, alloc.ErrFreed)
	y, err := Import[uint32](e.s, f, 1000)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	clear(got)
	require.NoError(t, y.CopyTo(e.s, got))
	assert.EqualValues(t, 8, got[0])
	y.Free()
	require.NoError(t, e.pool.Close())
	e.noMemory(t)
}

// importing is TestExported's other process.
func importing(t *testing.T, path string) {
	dev, err := open(path, 0, Options{})
	require.NoError(t, err)
	pool, err := alloc.NewPool(dev, alloc.Options{Tracker: tracker.New(tracker.Options{Rate: 1})})
	require.NoError(t, err)
	s, err := pool.NewStream()
	require.NoError(t, err)
	b, err := Import[uint32](s, os.NewFile(3, "memory"), 1000)
	require.NoError(t, err)
	got := make([]uint32, 1000)
	require.NoError(t, b.CopyTo(s, got))
	require.EqualValues(t, 7, got[0])
	require.EqualValues(t, 7, got[999])
	require.NoError(t, b.View(0, 1).Fill(s, 8))
	require.NoError(t, s.Sync())
	assert.EqualValues(t, 4000, pool.Stats().Live)
	b.Free()
	require.NoError(t, pool.Close())
	require.NoError(t, dev.Close())
	fmt.Println("imported and written")
}

// noMemory checks that the stand-in has none mapped, reserved or made, and none was missing.
func (e *env) noMemory(t *testing.T) {
	t.Helper()
	if e.StandIn == nil {
		return
	}
	b := e.StandIn.Books()
	assert.Zero(t, b.Handle[0])
	assert.Zero(t, b.Handles)
	assert.Zero(t, b.Mapped)
	assert.Zero(t, b.Reserved)
	assert.Zero(t, b.BadAccess)
}

// The books are balanced whichever call of the driver fails, and who dropped the memory is heard of.
func TestExportedFaults(t *testing.T) {
	calls := []string{"cuDeviceGetAttribute", "cuMemGetAllocationGranularity", "cuMemCreate", "cuMemAddressReserve",
		"cuMemMap", "cuMemSetAccess", "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle"}
	for _, call := range calls {
		t.Run(call, func(t *testing.T) {
			for skip := range 2 {
				e := startStandIn(t, alloc.Options{})
				e.StandIn.Fail(t, call, skip, 1, 1)
				err := roundTrip(e)
				if skip == 1 && (call == "cuMemCreate" || call == "cuMemExportToShareableHandle" ||
					call == "cuMemImportFromShareableHandle") {
					require.NoError(t, err, "called once")
				} else {
					require.Error(t, err)
					assert.ErrorContains(t, err, "CUDA_ERROR_INVALID_VALUE")
				}
				e.StandIn.Fail(t, call, 0, 0, 0)
				require.NoError(t, e.pool.Close())
				e.noMemory(t)
			}
		})
	}
}

// roundTrip exports memory and imports it again.
func roundTrip(e *env) error {
	x, err := MakeExported[uint32](e.s, 10)
	if err != nil {
		return err
	}
	defer x.Free()
	f, err := x.File(e.s)
	if err != nil {
		return err
	}
	defer f.Close()
	y, err := Import[uint32](e.s, f, 10)
	if err != nil {
		return err
	}
	y.Free()
	return nil
}

// What cannot be had is said, with what to do, and nothing is left.
func TestExportedErrors(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	for _, n := range []int{-1, 0, 1 << 61} {
		_, err := MakeExported[uint32](e.s, n)
		require.ErrorIs(t, err, alloc.ErrSize)
	}
	_, err := MakeExported[*int](e.s, 1)
	require.ErrorIs(t, err, alloc.ErrType)
	_, err = MakeExported[byte](e.s, 2<<30)
	require.ErrorIs(t, err, alloc.ErrOutOfMemory)
	require.ErrorContains(t, err, "cuda: make exported: 2147483648 bytes: trim the pools, or ask for less: ")
	_, err = Exported[byte]{}.File(e.s)
	require.EqualError(t, err, "cuda: export: no memory, which MakeExported returns: bad size")
	_, err = MakeExported[byte](new(alloc.Stream), 1)
	require.Error(t, err)
	_, err = e.s.Capture(func() error {
		_, err := MakeExported[byte](e.s, 1)
		return err
	})
	require.ErrorIs(t, err, alloc.ErrCapturing)

	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	_, err = Import[byte](e.s, null, 1)
	require.EqualError(t, err, "cuda: import: /dev/null stands for no memory of a GPU: want what Exported.File returned: "+
		"cuda: cuMemImportFromShareableHandle: CUDA_ERROR_INVALID_VALUE (1)")
	require.NoError(t, null.Close())
	_, err = Import[byte](e.s, null, 1)
	require.ErrorContains(t, err, "closed file")
	_, err = Import[byte](e.s, nil, 1)
	require.ErrorIs(t, err, os.ErrInvalid)
	x, err := MakeExported[byte](e.s, 1000)
	require.NoError(t, err)
	f, err := x.File(e.s)
	require.NoError(t, err)
	_, err = Import[byte](e.s, f, 3<<20)
	require.ErrorContains(t, err, "cuda: import: memory of 4194304 bytes: ask for what there is behind it, or less: ")
	require.NoError(t, f.Close())
	x.Free()

	e.StandIn.Set(t, "exporting", 0)
	_, err = MakeExported[byte](e.s, 1)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "memory of cuda:0 stand-in cannot be exported: send copies")
	require.NoError(t, e.pool.Close())
	e.noMemory(t)
}

// Idle memory of the pool makes room for exported memory, and a peer that comes later reaches it.
func TestExportedRoom(t *testing.T) {
	e := startStandIn(t, alloc.Options{}, "memory", 64<<20)
	b := buffer[byte](t, e.s, 60<<20)
	b.Free()
	require.NoError(t, e.s.Sync())
	x, err := MakeExported[uint32](e.s, 10<<20)
	require.NoError(t, err)
	other := startWith(t, e.Driver, 1, Options{}, alloc.Options{})
	require.NoError(t, other.dev.EnablePeer(e.dev))
	k := other.kernel(t, testPTX, "write")
	require.NoError(t, k.Launch(other.s, Dim{X: 1}, Dim{X: 1}, 0, alloc.Scalar(uint64(x.Ptr(e.s))),
		alloc.Scalar(uint32(3))))
	require.NoError(t, other.s.Sync())
	got := make([]uint32, 1)
	require.NoError(t, x.View(0, 1).CopyTo(e.s, got))
	assert.EqualValues(t, 3, got[0])
	x.Free()
	require.NoError(t, other.pool.Close())
	require.NoError(t, e.pool.Close())
	e.noMemory(t)
}
