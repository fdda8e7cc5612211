//go:build cgo && linux

package cuda

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/internal/cudadrv"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
	"github.com/lastuse/lastuse/internal/tier"
)

// opener returns what opens device 0 of the driver that the flag selects: a fresh stand-in each time, or the
// machine's GPU.
func opener(o Options, face func(*Device, testing.TB) alloc.Device,
	settings ...any) func(tb testing.TB) alloc.Device {
	return func(tb testing.TB) alloc.Device {
		d := choose(tb)
		if d.StandIn != nil {
			for i := 0; i < len(settings); i += 2 {
				d.StandIn.Set(tb, settings[i].(string), int64(settings[i+1].(int)))
			}
		}
		dev, err := open(d.Path, 0, o)
		require.NoError(tb, err)
		tb.Cleanup(func() {
			require.NoError(tb, dev.Close())
			if d.StandIn != nil {
				clean(tb, d)
			}
		})
		return face(dev, tb)
	}
}

// clean fails the test if a stand-in still holds something or saw something wrong.
func clean(tb testing.TB, d drvtest.Driver) {
	tb.Helper()
	b := d.StandIn.Books()
	require.Zero(tb, b.BadAccess, "work touched memory that was not there")
	require.Zero(tb, b.Pageable, "the driver saw Go memory")
	require.Zero(tb, b.Device[0], "device memory is left")
	require.Zero(tb, b.Handle[0], "memory handles are left")
	require.Zero(tb, b.Mapped, "memory is mapped")
	require.Zero(tb, b.Reserved, "addresses are reserved")
	require.Zero(tb, b.Pinned, "page-locked memory is left")
	require.Zero(tb, b.Streams, "streams are left")
	require.Zero(tb, b.Events, "events are left")
	require.Zero(tb, b.Modules, "modules are left")
	require.Zero(tb, b.Retains, "the context is retained")
}

func plain(d *Device, _ testing.TB) alloc.Device { return d.Plain() }

func TestConformance(t *testing.T) {
	// With granules as small as they come, because the suite maps many; and as they are for users.
	t.Run("mapped",
		func(t *testing.T) { alloctest.TestDevice(t, opener(Options{Granule: 2 << 20}, holding)) })
	t.Run("plain", func(t *testing.T) { alloctest.TestDevice(t, opener(Options{}, plain)) })
	if choose(t).Real() {
		t.Run("usual", func(t *testing.T) { alloctest.TestDevice(t, opener(Options{}, holding)) })
	} else {
		t.Run("slow", func(t *testing.T) {
			tier.Skip(t, "waits")
			alloctest.TestDevice(t, opener(Options{}, holding, "delay", 30))
		})
	}
}

// holdPTX waits until the word at p is not zero.
const holdPTX = drvtest.Head + `
.visible .entry hold(.param .u64 p)
{
	.reg .pred %p<2>;
	.reg .b32 %r<2>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	cvta.to.global.u64 %rd2, %rd1;
LOOP:
	ld.volatile.global.u32 %r1, [%rd2];
	setp.eq.u32 %p1, %r1, 0;
	@%p1 bra LOOP;
	ret;
}
`

// A holdable is a device whose streams the conformance suite can hold back: by a kernel that looks at
// page-locked memory.
type holdable struct {
	*Device
	tb   testing.TB
	hold uintptr
}

func holding(d *Device, tb testing.TB) alloc.Device {
	m, err := d.ctx.ModuleLoad([]byte(holdPTX))
	require.NoError(tb, err)
	f, err := d.ctx.ModuleGetFunction(m, "hold")
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, d.ctx.ModuleUnload(m)) })
	return &holdable{d, tb, f}
}

// Hold is alloctest.Holder's.
func (h *holdable) Hold(s uintptr) (func(), error) {
	p, err := h.ctx.MemHostAlloc(64)
	if err != nil {
		return nil, err
	}
	h.tb.Cleanup(func() { require.NoError(h.tb, h.ctx.MemFreeHost(p)) })
	word := (*uint32)(hostPointer(p))
	atomic.StoreUint32(word, 0)
	one := cudadrv.Dim{X: 1, Y: 1, Z: 1}
	err = h.ctx.LaunchKernel(h.hold, one, one, 0, s, []uint64{uint64(p)}, []uint16{0})
	return func() { atomic.StoreUint32(word, 1) }, err
}
