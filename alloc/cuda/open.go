package cuda

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv"
)

// A Dim is an extent in three dimensions. Y and Z may be left 0, which means 1.
type Dim struct{ X, Y, Z int }

// Info describes a device.
type Info struct {
	Ordinal int
	Name    string
	Memory  int64 // bytes
	Limits  Limits
}

// Limits are what a launch on a device must keep to.
type Limits struct {
	Capability      [2]int // major, minor: what cubins are built for
	Multiprocessors int
	Warp            int  // threads
	Block           int  // threads of one block, at most
	BlockDim        Dim  // at most
	GridDim         Dim  // at most
	Shared          int  // bytes of shared memory a block, at most
	Cooperative     bool // see [Kernel.LaunchCooperative]
	Clusters        bool // see [Kernel.LaunchClusters]
}

// Devices describes the machine's devices.
func Devices() ([]Info, error) { return devices(cudadrv.Library) }

func devices(library string) ([]Info, error) {
	drv, err := cudadrv.OpenAt(library)
	if err != nil {
		return nil, wrap(-1, err)
	}
	n, err := drv.DeviceGetCount()
	if err != nil {
		return nil, wrap(-1, err)
	}
	all := make([]Info, 0, n)
	for i := range n {
		info, _, err := describe(drv, i)
		if err != nil {
			return nil, err
		}
		all = append(all, info)
	}
	return all, nil
}

// describe returns what the driver says of the device with an ordinal, and the driver's handle of it.
func describe(drv *cudadrv.Driver, ordinal int) (Info, int, error) {
	info := Info{Ordinal: ordinal}
	dev, err := drv.DeviceGet(ordinal)
	if err != nil {
		return info, 0, wrap(ordinal, err)
	}
	var buf [256]byte
	n, err := drv.DeviceGetName(dev, buf[:])
	if err != nil {
		return info, 0, wrap(ordinal, err)
	}
	info.Name = string(buf[:n])
	if info.Memory, err = drv.DeviceTotalMem(dev); err != nil {
		return info, 0, wrap(ordinal, err)
	}
	l, cooperative, clusters := &info.Limits, 0, 0
	for _, a := range []struct {
		attribute cudadrv.Attribute
		value     *int
	}{
		{cudadrv.CapabilityMajor, &l.Capability[0]}, {cudadrv.CapabilityMinor, &l.Capability[1]},
		{cudadrv.MultiprocessorCount, &l.Multiprocessors}, {cudadrv.WarpSize, &l.Warp},
		{cudadrv.MaxThreadsPerBlock, &l.Block}, {cudadrv.MaxSharedPerBlockOpt, &l.Shared},
		{cudadrv.MaxBlockDimX, &l.BlockDim.X}, {cudadrv.MaxBlockDimY, &l.BlockDim.Y},
		{cudadrv.MaxBlockDimZ, &l.BlockDim.Z},
		{cudadrv.CooperativeLaunch, &cooperative}, {cudadrv.ClusterLaunch, &clusters},
		{cudadrv.MaxGridDimX, &l.GridDim.X}, {cudadrv.MaxGridDimY, &l.GridDim.Y},
		{cudadrv.MaxGridDimZ, &l.GridDim.Z},
	} {
		if *a.value, err = drv.DeviceGetAttribute(dev, a.attribute); err != nil {
			return info, 0, wrap(ordinal, err)
		}
	}
	l.Cooperative, l.Clusters = cooperative != 0, clusters != 0
	return info, dev, nil
}

// A Device is a GPU. It is safe for concurrent use; see package comment.
type Device struct{ *base }

// Plain is a GPU without mapping: its pools get their segments from the driver's ordinary allocator.
type Plain struct{ *base }

// base is what both faces of a device share.
type base struct {
	ctx     cudadrv.Context
	drv     *cudadrv.Driver
	ordinal int
	name    string
	info    Info
	syncing bool // Options.SyncLaunches

	stage   stage
	pinned  ranges
	atlas   atlas
	modules modules

	compiled compiled
	captures captures
	captured capturedEvents

	broken atomic.Pointer[error] // the first error of a context that is broken
	held   atomic.Int64          // streams and plain allocations that have not been given back
	close  sync.Once
	closed atomic.Bool
}

// Options are the choices of [OpenWith]. The zero Options is good.
type Options struct {
	// Granule is the unit in which memory is mapped, in bytes: a power of two and a multiple of the driver's
	// own unit, which is 2 MiB on today's GPUs. A pool reserves whole ones for each stream that finds none to
	// borrow, rounds what it needs up to them, and under a limit maps them one by one, for about 40 µs each.
	// 0 means 4 MiB, less where that were more than a 1024th of the device's memory.
	Granule int64

	// SyncLaunches makes each launch wait until its kernel has run, so that the error of one that fails comes
	// from its own launch and names the kernel and the line of the program. Launches that are captured into a
	// graph do not wait. It is for looking for an error: nothing overlaps with anything then.
	SyncLaunches bool
}

const usualGranule = 4 << 20

// Open opens the device with an ordinal. It may take a second, the first time in a process.
func Open(ordinal int) (*Device, error) { return open(cudadrv.Library, ordinal, Options{}) }

// OpenWith is Open with choices.
func OpenWith(ordinal int, o Options) (*Device, error) { return open(cudadrv.Library, ordinal, o) }

func open(library string, ordinal int, o Options) (*Device, error) {
	drv, err := cudadrv.OpenAt(library)
	if err != nil {
		return nil, wrap(-1, err)
	}
	n, err := drv.DeviceGetCount()
	if err != nil {
		return nil, wrap(-1, err)
	}
	if ordinal < 0 || ordinal >= n {
		return nil, fmt.Errorf("cuda: open: device %d of %d: %w", ordinal, n, ErrUnavailable)
	}
	info, dev, err := describe(drv, ordinal)
	if err != nil {
		return nil, err
	}
	ctx, err := drv.Retain(dev)
	if err != nil {
		return nil, wrap(ordinal, err)
	}
	b := &base{ctx: ctx, drv: drv, ordinal: ordinal, name: fmt.Sprintf("cuda:%d %s", ordinal, info.Name),
		info: info, syncing: o.SyncLaunches}
	if ok, err := drv.DeviceGetAttribute(dev, cudadrv.VirtualMemorySupport); err == nil && ok != 0 {
		least, err := b.ctx.MemGetAllocationGranularity()
		if err == nil {
			b.atlas.granule, err = o.granule(least, info.Memory)
		}
		if err != nil {
			_ = ctx.Release()
			return nil, wrap(ordinal, err)
		}
	}
	return &Device{b}, nil
}

// granule returns the unit of mapping for a driver whose own is least, on a device of so many bytes.
func (o Options) granule(least, memory int64) (int64, error) {
	if g := o.Granule; g != 0 {
		if g < least || g%least != 0 || g&(g-1) != 0 {
			return 0, fmt.Errorf("cuda: open: granule of %d bytes: want a power of two from %d on: %w", g,
				least, alloc.ErrSize)
		}
		return g, nil
	}
	g := least
	for 2*g <= usualGranule && 2*g <= memory/1024 {
		g *= 2
	}
	return g, nil
}

// Plain returns the same device without mapping. Both may be used at once; closing one closes the other.
func (d *Device) Plain() Plain { return Plain{d.base} }

// Close gives back the device's context and what this package keeps in it. While pools on the device are not
// closed it does nothing but say so: errors.Is(err, [alloc.ErrLive]). Close may be repeated.
func (b *base) Close() error {
	if b.inUse() && b.broken.Load() == nil {
		return fmt.Errorf("cuda: close: a pool has streams or memory of %s: Close it before: %w", b.name, alloc.ErrLive)
	}
	var err error
	b.close.Do(func() {
		b.closed.Store(true)
		b.modules.close(b)
		err = b.stage.close(b)
		if r := b.give(b.ctx.Release()); err == nil {
			err = r
		}
	})
	return err
}

// inUse reports whether somebody has a stream, memory or a range of addresses of the device.
func (b *base) inUse() bool {
	b.atlas.mu.Lock()
	defer b.atlas.mu.Unlock()
	return b.held.Load() > 0 || len(b.atlas.maps) > 0
}

// Info describes the device.
func (b *base) Info() Info { return b.info }

// Name returns the device's ordinal and name, such as "cuda:0 NVIDIA H200".
func (b *base) Name() string { return b.name }

// MemInfo returns the device's free and total bytes. Other processes' use counts.
func (b *base) MemInfo() (free, total int64, err error) {
	free, total, err = b.ctx.MemGetInfo()
	if err != nil {
		return 0, 0, b.work(err)
	}
	return free, total, nil
}

// gpu returns b. Devices that wrap one of ours and embed it are found by it too.
func (b *base) gpu() *base { return b }

// device returns the GPU behind a pool's device, looking through devices that wrap another.
func device(d alloc.Device) (*base, error) {
	if d, ok := d.(*Device); ok { // by far the most, and told by one compare
		return d.base, nil
	}
	for at := d; at != nil; {
		if g, ok := at.(interface{ gpu() *base }); ok {
			return g.gpu(), nil
		}
		w, ok := at.(interface{ Unwrap() alloc.Device })
		if !ok {
			break
		}
		at = w.Unwrap()
	}
	return nil, fmt.Errorf("pool is on %s, which is no GPU: %w", d.Name(), ErrUnavailable)
}

// under returns the GPU behind a stream's pool, for an operation op.
func under(s *alloc.Stream, op string) (*base, error) {
	if s.Pool() == nil {
		_, err := s.Begin(nil) // says so
		return nil, err
	}
	b, err := device(s.Pool().Device())
	if err != nil {
		return nil, fmt.Errorf("cuda: %s: %w", op, err)
	}
	return b, nil
}

var (
	_ alloc.Mapper        = (*Device)(nil)
	_ alloc.Pinner        = (*Device)(nil)
	_ alloc.Capturer      = (*Device)(nil)
	_ alloc.StreamAdopter = (*Device)(nil)
	_ alloc.Transferer    = (*Device)(nil)
	_ alloc.RowCopier     = (*Device)(nil)
	_ alloc.Registrar     = (*Device)(nil)
	_ alloc.Prioritizer   = (*Device)(nil)
	_ alloc.Timer         = (*Device)(nil)
	_ alloc.CrossWaiter   = (*Device)(nil)
	_ alloc.Device        = Plain{}
	_ alloc.Pinner        = Plain{}
	_ alloc.Capturer      = Plain{}
	_ alloc.StreamAdopter = Plain{}
)
