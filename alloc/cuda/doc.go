// Package cuda is the [alloc.Device] of an NVIDIA GPU, with modules and kernels to run on it.
//
//	dev, err := cuda.Open(0)                      // opens libcuda.so.1 at run time
//	pool, err := alloc.NewPool(dev, alloc.Options{})
//	m, err := cuda.LoadModule(pool, ptx)          // PTX, cubin or fatbin
//	k, err := m.Kernel("saxpy")
//	err = k.Launch(s, cuda.Dim{X: blocks}, cuda.Dim{X: 128}, 0, x.Arg(), y.Arg(), alloc.Scalar(a))
//
// No CUDA SDK is needed to build. Without cgo the package builds and Open says why it cannot.
//
// # Structures
//
// A [Device] is a device's primary context, retained once; a program's other CUDA libraries use the same one.
// Its methods are thin: each is one crossing into internal/cudadrv, which costs no Go memory and checks in
// the same crossing that a stream is not under capture. What is not thin:
//
//   - The [stage] carries copies between Go memory and the device through page-locked chunks, because the
//     driver may never keep a Go pointer. A chunk waits with its event until the copy has run; each stream
//     has its own in flight. A [job] is a large copy: pieces that several goroutines copy between Go memory
//     and chunks.
//   - The [atlas] knows which memory handle is behind which addresses of the reserved ranges.
//   - A [Managed] or [Exported] buffer owns an allocation of its own, which the pool has adopted: memory that
//     the host or other processes reach too.
//   - [Device.Plain] is the same device without mapping, for allocation by the driver alone.
//
// A [Module] is code on the device, and so device memory: it is in the books of its pool's tracker, with the
// bytes by which the device's free memory fell when it was loaded, and unloaded once: by Unload, by the net,
// or with the device. A [Global] is a variable of a module, which owns it.
//
// # Way in, way out
//
// [Open] retains the context, [Device.Close] releases it; close the pools first. When the process exits, or
// when a kernel has broken the context for good, giving back counts as done: the memory goes with the
// process, and books stay consistent. The first call that meets a broken context says so, and so does every
// later one that is asked to work: errors.Is(err, [ErrBroken]).
//
// # Other libraries
//
// Libraries such as cuBLAS and cuDNN take a stream's handle ([alloc.Stream.Handle]) and addresses (Ptr of a
// buffer or view); [alloc.Pool.WrapStream] adopts a stream of theirs. They work in the context that is
// current on the calling thread: call them inside [Device.Do]. Keep the buffers alive until the library's
// call has returned. See examples/cublas.
//
// # Locks
//
// stage.mu, atlas.mu and modules.mu are leaves: no other lock is taken under them. captures.mu is held while
// a capture begins and ends, and over what waits for the whole device, so that the two never meet.
// atlas.order is taken before atlas.mu and read-locked over the driver's calls, so that nothing is mapped
// while the list of peers changes.
package cuda
