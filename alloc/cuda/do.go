package cuda

import (
	"errors"
	"runtime"
)

var errNoFunction = errors.New("cuda: do: no function")

// Do calls f on a thread that has the device's context as its current one, as cuBLAS, cuDNN, NCCL and other
// libraries want that work on whatever context is current. The goroutine stays on that thread meanwhile, and
// the context that the thread had before is its current one again when f returns, panics or ends the
// goroutine. Do calls may be nested, for other devices too; work with a pool of another device inside f may
// change the context unless it stands in a Do of that one. The error is f's, or the driver's, and then
// f was not called or its context could not be taken back.
//
// What f enqueues on a stream of a pool is that stream's work: see [alloc.Stream.Handle].
//
//lastuse:effect arg f borrowed
func (b *base) Do(f func() error) (err error) {
	if f == nil {
		return errNoFunction
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	was, err := b.ctx.Swap()
	if err != nil {
		return b.work(err)
	}
	defer func() {
		if e := b.ctx.Restore(was); e != nil && err == nil {
			err = b.work(e)
		}
	}()
	return f()
}
