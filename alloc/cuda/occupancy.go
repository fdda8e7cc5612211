package cuda

import (
	"fmt"

	"github.com/lastuse/lastuse/internal/cudadrv"
)

// Attributes are what a kernel needs of the device.
type Attributes struct {
	Threads       int    // of one block, at most
	Registers     int    // of one thread
	Shared        int    // bytes of shared memory that the kernel declares itself, for each block
	DynamicShared int    // bytes that a launch may ask for beyond, as the driver is told now
	Local         int    // bytes of local memory, for each thread
	Const         int    // bytes of constants that the kernel declares
	PTX           [2]int // major, minor of the architecture that its PTX was made for
	Binary        [2]int // major, minor of the architecture that its machine code was made for
}

// Attributes asks the driver about the kernel.
//
//lastuse:effect recv borrowed
func (k *Kernel) Attributes() (Attributes, error) {
	var a Attributes
	var ptx, binary int
	err := k.ask("attributes", func(b *base) error {
		for _, x := range []struct {
			attribute cudadrv.FuncAttribute
			value     *int
		}{
			{cudadrv.FuncMaxThreadsPerBlock, &a.Threads}, {cudadrv.FuncRegisters, &a.Registers},
			{cudadrv.FuncSharedBytes, &a.Shared}, {cudadrv.FuncDynamicShared, &a.DynamicShared},
			{cudadrv.FuncLocalBytes, &a.Local}, {cudadrv.FuncConstBytes, &a.Const},
			{cudadrv.FuncPTXVersion, &ptx}, {cudadrv.FuncBinaryVersion, &binary},
		} {
			var err error
			if *x.value, err = b.ctx.FuncGetAttribute(k.handle, x.attribute); err != nil {
				return b.work(err)
			}
		}
		return nil
	})
	a.PTX, a.Binary = [2]int{ptx / 10, ptx % 10}, [2]int{binary / 10, binary % 10}
	return a, err
}

// MaxActive returns how many blocks of so many threads, with shared bytes of shared memory each, one
// multiprocessor runs at once. Times [Limits].Multiprocessors it is the grid that fills the device, and the
// largest of a cooperative launch.
//
//lastuse:effect recv borrowed, arg block borrowed, arg shared borrowed
func (k *Kernel) MaxActive(block Dim, shared int) (int, error) {
	n := 0
	err := k.ask("occupancy of", func(b *base) (err error) {
		t, ok := block.u32()
		if !ok || !block.within(k.block) || shared != int(uint32(shared)) {
			return k.misfit("occupancy of", Dim{X: 1}, block, shared)
		}
		if int64(shared) > int64(k.shared.Load()) {
			if err := k.allow("occupancy of", shared); err != nil {
				return err
			}
		}
		if n, err = b.ctx.OccupancyMaxActive(k.handle, int(t.X*t.Y*t.Z), shared); err != nil {
			return b.work(err)
		}
		return nil
	})
	return n, err
}

// SuggestBlock returns how many threads a block should have for the device to run as many as it can, if each
// block has shared bytes of shared memory, and how many such blocks fill the device. It knows registers and
// shared memory; whether more threads at once are faster, a measurement says.
//
//lastuse:effect recv borrowed, arg shared borrowed
func (k *Kernel) SuggestBlock(shared int) (threads, blocks int, err error) {
	err = k.ask("block size of", func(b *base) (err error) {
		if shared != int(uint32(shared)) {
			return k.misfit("block size of", Dim{X: 1}, Dim{X: 1}, shared)
		}
		if int64(shared) > int64(k.shared.Load()) {
			if err := k.allow("block size of", shared); err != nil {
				return err
			}
		}
		if threads, blocks, err = b.ctx.OccupancyBlockSize(k.handle, shared); err != nil {
			return b.work(err)
		}
		return nil
	})
	return threads, blocks, err
}

// ask calls f while the kernel's module is loaded.
func (k *Kernel) ask(op string, f func(b *base) error) error {
	if k == nil || k.module == nil {
		return fmt.Errorf("cuda: %s no kernel: nil, or not made by a module: %w", op, ErrArguments)
	}
	l := k.module.loaded
	if !l.enter() {
		return k.unloaded(op)
	}
	defer l.leave()
	return f(l.b)
}
