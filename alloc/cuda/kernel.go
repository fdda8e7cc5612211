package cuda

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv"
)

// A Kernel is an entry of a module. It may be launched by many goroutines at once.
type Kernel struct {
	module *Module // also keeps it loaded
	handle uintptr
	name   string
	block  int      // threads of one block, at most
	params []uint32 // sizes in bytes; nil if the driver does not tell

	shared atomic.Int32 // bytes of shared memory that a launch may ask for
}

// Kernel returns the module's kernel of a name, which is the name in the PTX: C++ compilers mangle names
// unless the kernel is extern "C".
//
//lastuse:effect result 0 views recv
func (m *Module) Kernel(name string) (*Kernel, error) {
	l := m.loaded
	if !l.enter() {
		return nil, fmt.Errorf("cuda: kernel %s: %w", name, ErrUnloaded)
	}
	defer l.leave()
	b := l.b
	in, ok := m.names[name]
	if !ok {
		in = name
	}
	h, err := b.ctx.ModuleGetFunction(l.handle, in)
	if err != nil {
		return nil, fmt.Errorf("cuda: kernel %s: %w", name, l.absent(err))
	}
	k := &Kernel{module: m, handle: h, name: name}
	if k.block, err = b.ctx.FuncGetAttribute(h, cudadrv.FuncMaxThreadsPerBlock); err != nil {
		return nil, fmt.Errorf("cuda: kernel %s: %w", name, b.work(err))
	}
	shared, err := b.ctx.FuncGetAttribute(h, cudadrv.FuncDynamicShared)
	if err != nil {
		return nil, fmt.Errorf("cuda: kernel %s: %w", name, b.work(err))
	}
	k.shared.Store(int32(shared))
	params := []uint32{}
	for i := 0; ; i++ {
		_, size, ok, err := b.ctx.FuncGetParamInfo(h, i)
		if errors.Is(err, cudadrv.ErrMissing) {
			return k, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cuda: kernel %s: %w", name, b.work(err))
		}
		if !ok {
			k.params = params
			return k, nil
		}
		params = append(params, uint32(size))
	}
}

// absent returns the error of a search in the module.
func (l *loaded) absent(err error) error {
	var e *cudadrv.Error
	if errors.As(err, &e) && e.Code == cudadrv.CodeNotFound {
		return fmt.Errorf("%w: the module has none of that name: declare it extern \"C\", or have it among "+
			"CompileOptions.Names", l.b.work(err))
	}
	return l.b.work(err)
}

// enter reports whether the module is loaded, and if so keeps it loaded until leave.
func (l *loaded) enter() bool {
	if l.state.Add(1) < unloading {
		return true
	}
	l.state.Add(-1)
	return false
}

func (l *loaded) leave() { l.state.Add(-1) }

// allow has the driver let launches ask for more shared memory than they may unless told: for all that there
// is, so that whoever comes second need not ask again.
func (k *Kernel) allow(op string, shared int) error {
	b := k.module.b
	static, err := b.ctx.FuncGetAttribute(k.handle, cudadrv.FuncSharedBytes)
	if err != nil {
		return b.work(err)
	}
	most := b.info.Limits.Shared - static
	if shared > most {
		return fmt.Errorf("cuda: %s %s: %d bytes of shared memory: there are %d: %w", op, k.name, shared,
			most, ErrArguments)
	}
	if err := b.ctx.FuncSetAttribute(k.handle, cudadrv.FuncDynamicShared, most); err != nil {
		return b.work(err)
	}
	k.shared.Store(int32(most))
	return nil
}

// Name returns the kernel's name.
//
//lastuse:effect recv borrowed
func (k *Kernel) Name() string { return k.name }

// Launch enqueues the kernel on s, with a grid of blocks of threads and shared bytes of shared memory for
// each block. A buffer or view is passed as its address, an empty one as null, a scalar by its bytes. Where
// the driver tells (12.4 and newer) number and sizes are checked against the kernel's parameters; types are
// never known. The arguments may be freed as soon as Launch has returned. shared may be up to
// [Limits].Shared, less what the kernel declares itself; the device is told where that is more than kernels
// get by default. Launch allocates no Go memory for up to 64 arguments of 4 KiB in all.
//
//lastuse:effect recv borrowed, arg grid borrowed, arg block borrowed, arg shared borrowed, arg args borrowed
//lastuse:effect arg s borrowed
func (k *Kernel) Launch(s *alloc.Stream, grid, block Dim, shared int, args ...alloc.Arg) error {
	return k.enqueue(s, grid, block, shared, manner{}, args)
}

// LaunchCooperative is [Kernel.Launch] for a kernel whose blocks wait for one another, as cooperative groups
// do: all of them run at once, so there may be [Kernel.MaxActive] for each of the device's multiprocessors
// and no more. On a device that cannot do so ([Limits].Cooperative) errors.Is(err, [ErrUnavailable]) is true.
//
//lastuse:effect recv borrowed, arg grid borrowed, arg block borrowed, arg shared borrowed, arg args borrowed
//lastuse:effect arg s borrowed
func (k *Kernel) LaunchCooperative(s *alloc.Stream, grid, block Dim, shared int, args ...alloc.Arg) error {
	return k.enqueue(s, grid, block, shared, manner{together: true}, args)
}

// LaunchClusters is [Kernel.Launch] with the grid's blocks in clusters of an extent: the blocks of a cluster,
// at most [MaxCluster], run at once and reach each other's shared memory. Each extent of the grid is a
// multiple of the cluster's. On a device that knows none ([Limits].Clusters: before compute capability 9.0)
// errors.Is(err, [ErrUnavailable]) is true.
//
//lastuse:effect recv borrowed, arg grid borrowed, arg block borrowed, arg cluster borrowed
//lastuse:effect arg shared borrowed, arg args borrowed, arg s borrowed
func (k *Kernel) LaunchClusters(s *alloc.Stream, grid, block, cluster Dim, shared int, args ...alloc.Arg) error {
	c, ok := cluster.u32()
	if g, fine := grid.u32(); !ok || !cluster.within(MaxCluster) ||
		fine && (g.X%c.X != 0 || g.Y%c.Y != 0 || g.Z%c.Z != 0) {
		return k.scattered(grid, cluster)
	}
	return k.enqueue(s, grid, block, shared, manner{cluster: c}, args)
}

// MaxCluster is how many blocks a cluster may have on every device that knows clusters.
const MaxCluster = 8

// A manner is how the blocks of a launch run: all at once, or those of a cluster.
type manner struct {
	together bool
	cluster  cudadrv.Dim // X is 0: no clusters
}

func (k *Kernel) enqueue(s *alloc.Stream, grid, block Dim, shared int, how manner, args []alloc.Arg) error {
	if k == nil || k.module == nil {
		return errNoKernel
	}
	l := k.module.loaded
	g, ok := grid.u32()
	t, ok2 := block.u32()
	if !ok || !ok2 || !block.within(k.block) || shared != int(uint32(shared)) {
		return k.misfit("launch", grid, block, shared)
	}
	if k.params != nil && len(args) != len(k.params) {
		return k.wrong(len(args))
	}
	if s.Pool() == nil {
		_, err := s.Begin(nil) // says so
		return err
	}
	if b, err := device(s.Pool().Device()); err != nil || b != l.b {
		return k.elsewhere(s)
	}
	if how.together && !l.b.info.Limits.Cooperative {
		return k.lacks("launches nothing cooperatively")
	}
	if how.cluster.X != 0 && !l.b.info.Limits.Clusters {
		return k.lacks("knows no clusters")
	}
	if !l.enter() {
		return k.unloaded("launch")
	}
	// Most launches are small, and room is cleared for each.
	var err error
	if int64(shared) > int64(k.shared.Load()) {
		err = k.allow("launch", shared)
	}
	if err == nil && l.b.syncing {
		err = k.synced(s, "what came before")
	}
	if err != nil {
		// Not enqueued.
	} else if len(args) <= 6 {
		err = k.launchSmall(s, g, t, uint32(shared), how, args)
	} else {
		err = k.launchLarge(s, g, t, uint32(shared), how, args)
	}
	if err == nil && l.b.syncing {
		err = k.synced(s, "the kernel")
	}
	l.leave()
	return err
}

// synced waits for s, in a program that looks for a kernel that fails, and names the line of the launch if
// what has run there failed.
//
//go:noinline
func (k *Kernel) synced(s *alloc.Stream, what string) error {
	b := k.module.b
	err := b.ctx.StreamSynchronize(s.LaunchHandle())
	if err == nil || errors.Is(err, cudadrv.ErrCapturing) { // a captured launch runs later, with its graph
		return nil
	}
	return fmt.Errorf("cuda: launch %s at %s: %s failed: %w", k.name, launchSite(), what, b.work(err))
}

// launchSite returns file and line of the program that is launching a kernel on this goroutine.
func launchSite() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, kernelMethods) || !more {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
	}
}

// kernelMethods begins the full names of Kernel's methods.
var kernelMethods = reflect.TypeFor[Kernel]().PkgPath() + ".(*Kernel)."

// launchSmall and launchLarge give launch room on the stack. They must not be inlined into one frame.
//
//go:noinline
func (k *Kernel) launchSmall(s *alloc.Stream, g, t cudadrv.Dim, shared uint32, how manner,
	args []alloc.Arg) error {
	var params [6]alloc.Param
	var words [16]uint64
	var at [6]uint16
	return k.launch(s, g, t, shared, how, args, params[:0], words[:0], at[:0])
}

//go:noinline
func (k *Kernel) launchLarge(s *alloc.Stream, g, t cudadrv.Dim, shared uint32, how manner,
	args []alloc.Arg) error {
	var params [64]alloc.Param
	var words [512]uint64
	var at [64]uint16
	return k.launch(s, g, t, shared, how, args, params[:0], words[:0], at[:0])
}

func (k *Kernel) launch(s *alloc.Stream, g, t cudadrv.Dim, shared uint32, how manner, args []alloc.Arg,
	params []alloc.Param, words []uint64, at []uint16) error {
	params, err := s.Begin(params, args...)
	if err != nil {
		return err
	}
	for i := range params {
		p := &params[i]
		size, from := unsafe.Sizeof(p.Ptr), unsafe.Pointer(&p.Ptr)
		if p.IsScalar() {
			size, from = uintptr(p.Size), p.Scalar()
		}
		if k.params != nil && uintptr(k.params[i]) != size {
			s.End(args...)
			return k.wrongSize(i, int64(size))
		}
		n := len(words)
		if n > int(^uint16(0))/8 || len(at) == cudadrv.MaxParams {
			s.End(args...)
			return k.wrong(len(args))
		}
		at = append(at, uint16(8*n))
		switch size {
		case 0:
		case 8:
			words = append(words, *(*uint64)(from))
		case 4:
			words = append(words, 0)
			*(*uint32)(unsafe.Pointer(&words[n])) = *(*uint32)(from)
		default:
			for range (size + 7) / 8 {
				words = append(words, 0)
			}
			copy(unsafe.Slice((*byte)(unsafe.Pointer(&words[n])), size), unsafe.Slice((*byte)(from), size))
		}
	}
	b := k.module.b
	if s.Captured() {
		s.GraphKeeps(k.module.loaded, k.module.loaded.keep)
	}
	switch {
	case how.cluster.X != 0:
		err = b.ctx.LaunchClusterKernel(k.handle, g, t, how.cluster, shared, s.LaunchHandle(), words, at)
	case how.together:
		err = b.ctx.LaunchCooperativeKernel(k.handle, g, t, shared, s.LaunchHandle(), words, at)
	case s.Private():
		err = b.ctx.LaunchKernelUnasked(k.handle, g, t, shared, s.LaunchHandle(), words, at)
	default:
		err = b.ctx.LaunchKernel(k.handle, g, t, shared, s.LaunchHandle(), words, at)
	}
	s.End(args...)
	if err != nil {
		return k.refused(err, t, shared)
	}
	return nil
}

// u32 returns the extent as the driver takes it.
func (d Dim) u32() (cudadrv.Dim, bool) {
	const most = 1<<31 - 1
	if d.X <= 0 || d.Y < 0 || d.Z < 0 || d.X > most || d.Y > most || d.Z > most {
		return cudadrv.Dim{}, false
	}
	return cudadrv.Dim{X: uint32(d.X), Y: uint32(max(1, d.Y)), Z: uint32(max(1, d.Z))}, true
}

// within reports whether a block of this extent, which u32 has passed, has at most so many threads.
func (d Dim) within(threads int) bool {
	n := d.X // at most threads from here on, so that no product overflows
	if n > threads {
		return false
	}
	if n *= max(1, d.Y); n > threads {
		return false
	}
	return n*max(1, d.Z) <= threads
}

// String returns the extent as "X x Y x Z", without what is 1 at the end.
func (d Dim) String() string {
	switch {
	case d.Z > 1 || d.Z < 0:
		return fmt.Sprintf("%d x %d x %d", d.X, d.Y, d.Z)
	case d.Y > 1 || d.Y < 0:
		return fmt.Sprintf("%d x %d", d.X, d.Y)
	}
	return fmt.Sprint(d.X)
}

var errNoKernel = fmt.Errorf("cuda: launch: no kernel: nil, or not made by a module: %w", ErrArguments)

// The errors of Launch are made apart from it, so that its compiler report shows no allocation.

//go:noinline
func (k *Kernel) misfit(op string, grid, block Dim, shared int) error {
	var what string
	if _, ok := grid.u32(); !ok {
		what = fmt.Sprintf("grid of %v blocks: want 1 to 2^31-1 each way", grid)
	} else if _, ok := block.u32(); !ok || !block.within(k.block) {
		what = fmt.Sprintf("block of %v threads: want 1 to %d in all", block, k.block)
	} else {
		what = fmt.Sprintf("%d bytes of shared memory", shared)
	}
	return fmt.Errorf("cuda: %s %s: %s: %w", op, k.name, what, ErrArguments)
}

//go:noinline
func (k *Kernel) wrong(n int) error {
	if k.params == nil {
		return fmt.Errorf("cuda: launch %s: %d arguments are too many: %w", k.name, n, ErrArguments)
	}
	return fmt.Errorf("cuda: launch %s: %d arguments, kernel takes %d: %w", k.name, n, len(k.params),
		ErrArguments)
}

//go:noinline
func (k *Kernel) wrongSize(i int, size int64) error {
	return fmt.Errorf("cuda: launch %s: argument %d is %d bytes, kernel takes %d: %w", k.name, i, size,
		k.params[i], ErrArguments)
}

//go:noinline
func (k *Kernel) elsewhere(s *alloc.Stream) error {
	return fmt.Errorf("cuda: launch %s: kernel is on %s, stream is on %s and %w: use one of the kernel's device",
		k.name, k.module.b.name, s.Pool().Device().Name(), alloc.ErrForeign)
}

//go:noinline
func (k *Kernel) unloaded(op string) error {
	return fmt.Errorf("cuda: %s %s: %w", op, k.name, ErrUnloaded)
}

//go:noinline
func (k *Kernel) lacks(what string) error {
	return fmt.Errorf("cuda: launch %s: %s %s: use Launch: %w", k.name, k.module.b.name, what, ErrUnavailable)
}

//go:noinline
func (k *Kernel) scattered(grid, cluster Dim) error {
	if k == nil || k.module == nil {
		return errNoKernel
	}
	return fmt.Errorf("cuda: launch %s: grid of %v blocks in clusters of %v: want at most %d blocks in a cluster, "+
		"and a multiple of its extent in the grid each way: %w", k.name, grid, cluster, MaxCluster, ErrArguments)
}

// refused returns the error of a launch that the driver did not take.
//
//go:noinline
func (k *Kernel) refused(err error, t cudadrv.Dim, shared uint32) error {
	b := k.module.b
	err = b.work(err)
	var e *Error
	if !errors.As(err, &e) || e.Code != int(cudadrv.CodeTooManyBlocks) {
		return err
	}
	n, other := b.ctx.OccupancyMaxActive(k.handle, int(t.X*t.Y*t.Z), int(shared))
	if other != nil {
		return err
	}
	return fmt.Errorf("cuda: launch %s: the blocks of a cooperative launch run at once: have at most %d "+
		"(MaxActive, %d, times %d multiprocessors): %w", k.name, n*b.info.Limits.Multiprocessors, n,
		b.info.Limits.Multiprocessors, err)
}
