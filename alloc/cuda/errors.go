package cuda

import (
	"errors"
	"fmt"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv"
)

// Errors that callers tell apart with errors.Is. Beside these, [alloc.ErrOutOfMemory], [alloc.ErrCapturing]
// and [alloc.ErrClosed] are used as they are there.
var (
	// ErrUnavailable says that there is no driver, none that is new enough, or no such device.
	ErrUnavailable = errors.New("cuda is not available")
	// ErrBroken says that a kernel or the hardware broke the device's context; nothing works on it until the
	// process ends.
	ErrBroken = errors.New("device context is broken")
	// ErrShuttingDown says that the driver is gone because the process exits.
	ErrShuttingDown = errors.New("driver is shutting down")
	// ErrStream says that a stream cannot be used here.
	ErrStream = errors.New("unsuitable stream")
	// ErrArguments says that a launch's arguments are not what the kernel takes.
	ErrArguments = errors.New("wrong kernel arguments")
	// ErrUnloaded says that a kernel's module has been unloaded.
	ErrUnloaded = errors.New("module is unloaded: Unload it behind the last use, or load it anew")
)

// An Error is a driver call that failed on a device.
type Error struct {
	Device int    // ordinal; -1 before there is one
	Call   string // the driver's function, such as cuMemCreate
	Code   int    // the driver's result
	Name   string // the driver's name for it, such as CUDA_ERROR_OUT_OF_MEMORY
	Text   string // the driver's description of it
	Log    string // what the compiler said, the driver's or NVRTC, for modules and sources

	err *cudadrv.Error
}

// Error returns a text such as "cuda: cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY (2)".
func (e *Error) Error() string { return e.err.Error() }

// Is reports whether the error is one of the sentinels.
func (e *Error) Is(target error) bool {
	switch target {
	case alloc.ErrOutOfMemory:
		return errors.Is(e.err, cudadrv.ErrOutOfMemory)
	case alloc.ErrCapturing:
		return errors.Is(e.err, cudadrv.ErrCapturing)
	case ErrBroken:
		return errors.Is(e.err, cudadrv.ErrSticky)
	case ErrShuttingDown:
		return errors.Is(e.err, cudadrv.ErrShuttingDown)
	}
	return false
}

// wrap turns an error of package cudadrv into one of this package.
func wrap(device int, err error) error {
	if err == nil {
		return nil
	}
	var e *cudadrv.Error
	if errors.As(err, &e) && error(e) == err {
		return &Error{Device: device, Call: e.Call, Code: int(e.Code), Name: e.Name, Text: e.Text, Log: e.Log,
			err: e}
	}
	if errors.Is(err, cudadrv.ErrUnavailable) {
		return &unavailable{err}
	}
	return err
}

// unavailable is an error of opening, which has its text already.
type unavailable struct{ err error }

func (u *unavailable) Error() string        { return u.err.Error() }
func (u *unavailable) Unwrap() error        { return u.err }
func (u *unavailable) Is(target error) bool { return target == ErrUnavailable }

// work returns err as the error of a call that was to do something. It is the cold path of every method; the
// hot one is the comparison with nil before it.
//
//go:noinline
func (b *base) work(err error) error {
	if b.closed.Load() && err != nil {
		return fmt.Errorf("cuda: device %d %w: use it before its Close, or Open it anew", b.ordinal, alloc.ErrClosed)
	}
	err = wrap(b.ordinal, err)
	if errors.Is(err, ErrBroken) {
		b.broken.CompareAndSwap(nil, &err)
		if first := *b.broken.Load(); first != err {
			return fmt.Errorf("%w: since %w", err, first)
		}
	}
	return err
}

// with is work for a call of b that concerns device o too: what is broken there is no fault of b's.
//
//go:noinline
func (b *base) with(o *base, err error) error {
	if err = wrap(b.ordinal, err); b != o && errors.Is(err, ErrBroken) {
		if _, own := b.ctx.StreamQuery(b.DefaultStream()); !errors.Is(own, cudadrv.ErrSticky) {
			return o.work(err)
		}
	}
	return b.work(err)
}

// give returns err as the error of a call that was to give something back: where there is nothing left to
// give it back to, it is done.
//
//go:noinline
func (b *base) give(err error) error {
	err = wrap(b.ordinal, err)
	switch {
	case errors.Is(err, ErrShuttingDown):
		return nil
	case errors.Is(err, ErrBroken):
		if b.broken.CompareAndSwap(nil, &err) {
			return err
		}
		return nil
	}
	return err
}
