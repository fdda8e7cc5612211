package cuda

import (
	"errors"
	"fmt"
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
}

// Kernel returns the module's kernel of a name, which is the name in the PTX: C++ compilers mangle names unless the kernel is
// extern "C".
//
//lastuse:effect result 0 views recv
func (m *Module) Kernel(name string) (*Kernel, error) {
	l := m.loaded
	if !l.enter() {
		return nil, fmt.Errorf("cuda: kernel %s: %w", name, ErrUnloaded)
	}
	defer l.leave()
	b := l.b
	h, err := b.ctx.ModuleGetFunction(l.handle, name)
	if err != nil {
		return nil, fmt.Errorf("cuda: kernel %s: %w", name, b.work(err))
	}
	k := &Kernel{module: m, handle: h, name: name}
	if k.block, err = b.ctx.FuncGetAttribute(h, cudadrv.FuncMaxThreadsPerBlock); err != nil {
		return nil, fmt.Errorf("cuda: kernel %s: %w", name, b.work(err))
	}
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

// enter reports whether the module is loaded, and if so keeps it loaded until leave.
func (l *loaded) enter() bool {
	if l.state.Add(1) < unloading {
		return true
	}
	l.state.Add(-1)
	return false
}

func (l *loaded) leave() { l.state.Add(-1) }

// Name returns the kernel's name.
//
//lastuse:effect recv borrowed
func (k *Kernel) Name() string { return k.name }

// Launch enqueues the kernel on s, with a grid of blocks of threads and shared bytes of shared memory for each block.
// A buffer or view is passed as its address, an empty one as null, a scalar by its bytes. Where the driver tells (12.4 and
// newer) number and sizes are checked against the kernel's parameters; types are never known. The arguments may be
// freed as soon as Launch has returned. Launch allocates no Go memory for up to 16 arguments of 512 bytes in all.
//
//lastuse:effect recv borrowed, arg args borrowed
func (k *Kernel) Launch(s *alloc.Stream, grid, block Dim, shared int, args ...alloc.Arg) error {
	l := k.module.loaded
	g, ok := grid.u32()
	t, ok2 := block.u32()
	if !ok || !ok2 || block.X*max(1, block.Y)*max(1, block.Z) > k.block || shared < 0 {
		return k.misfit(grid, block, shared)
	}
	if k.params != nil && len(args) != len(k.params) {
		return k.wrong(len(args))
	}
	if b, err := device(s.Pool().Device()); err != nil || b != l.b {
		return k.elsewhere(s, err)
	}
	if !l.enter() {
		return k.unloaded()
	}
	defer l.leave()
	var room [16]alloc.Param
	params, err := s.Begin(room[:0], args...)
	if err != nil {
		return err
	}
	defer s.End(args...)
	var wordRoom [64]uint64
	var atRoom [16]uint16
	words, at := wordRoom[:0], atRoom[:0]
	for i := range params {
		p := &params[i]
		size, from := uintptr(unsafe.Sizeof(p.Ptr)), unsafe.Pointer(&p.Ptr)
		if p.IsScalar() {
			size, from = uintptr(p.Size), p.Scalar()
		}
		if k.params != nil && uintptr(k.params[i]) != size {
			return k.wrongSize(i, int64(size))
		}
		n := len(words)
		if n > int(^uint16(0))/8 || len(at) == cudadrv.MaxParams {
			return k.wrong(len(args))
		}
		at = append(at, uint16(8*n))
		for range (size + 7) / 8 {
			words = append(words, 0)
		}
		if size > 0 {
			copy(unsafe.Slice((*byte)(unsafe.Pointer(&words[n])), size), unsafe.Slice((*byte)(from), size))
		}
	}
	if err := l.b.ctx.LaunchKernel(k.handle, g, t, uint32(shared), s.LaunchHandle(), words, at); err != nil {
		return l.b.work(err)
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

// The errors of Launch are made apart from it, so that its compiler report shows no allocation.

//go:noinline
func (k *Kernel) misfit(grid, block Dim, shared int) error {
	return fmt.Errorf("cuda: launch %s: grid %v, block %v, %d bytes shared: kernel takes blocks of up to %d threads: %w",
		k.name, grid, block, shared, k.block, ErrArguments)
}

//go:noinline
func (k *Kernel) wrong(n int) error {
	if k.params == nil {
		return fmt.Errorf("cuda: launch %s: %d arguments are too many: %w", k.name, n, ErrArguments)
	}
	return fmt.Errorf("cuda: launch %s: %d arguments, kernel takes %d: %w", k.name, n, len(k.params), ErrArguments)
}

//go:noinline
func (k *Kernel) wrongSize(i int, size int64) error {
	return fmt.Errorf("cuda: launch %s: argument %d is %d bytes, kernel takes %d: %w", k.name, i, size, k.params[i], ErrArguments)
}

//go:noinline
func (k *Kernel) elsewhere(s *alloc.Stream, err error) error {
	if err == nil {
		err = alloc.ErrForeign
	}
	return fmt.Errorf("cuda: launch %s: kernel is on %s, stream on %s: %w", k.name, k.module.b.name, s.Pool().Device().Name(), err)
}

//go:noinline
func (k *Kernel) unloaded() error { return fmt.Errorf("cuda: launch %s: %w", k.name, ErrUnloaded) }
