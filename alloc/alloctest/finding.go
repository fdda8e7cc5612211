package alloctest

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/lastuse/lastuse/alloc"
)

// A Finding is a hand-over that is not in order.
type Finding struct {
	What string // what is wrong, in words
	Ptr  alloc.Ptr
	Size int64 // bytes

	Now    string // what is done to the bytes
	NowAt  alloc.Stack
	Then   string // what had been done that comes first, or "" if nothing had
	ThenAt alloc.Stack
	Freed  alloc.Stack // where the former owner was freed, if that is known

	// Program says that it is no fault of the pool's: the program has used a buffer on a stream that has not
	// waited for the one that it was made on. It may not know, if the device has failed to wait.
	Program bool
}

func (f *Finding) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "alloctest: order: %s: %d bytes at %#x\n", f.What, f.Size, uintptr(f.Ptr))
	fmt.Fprintf(&b, "%s at:\n%v", f.Now, f.NowAt)
	if f.Then != "" {
		fmt.Fprintf(&b, "\n%s at:\n%v", f.Then, f.ThenAt)
	}
	if f.Freed != nil {
		fmt.Fprintf(&b, "\nfreed at:\n%v", f.Freed)
	}
	return b.String()
}

// maxFrames bounds the stacks.
const maxFrames = 24

// newDeed returns a deed of the caller's caller's caller on a stream, or of the host if t is nil.
func newDeed(what string, t *thread, lo, hi uintptr) *deed {
	d := &deed{what: what, thread: t, lo: lo, hi: hi}
	if t != nil {
		d.stream = t.handle
	}
	var pcs [maxFrames]uintptr
	d.stack = append([]uintptr(nil), pcs[:runtime.Callers(3, pcs[:])]...)
	return d
}

// words says what d is.
func (d *deed) words() string {
	if d.thread == nil {
		return d.what + " by the host"
	}
	return fmt.Sprintf("%s on stream %#x", d.what, d.stream)
}

// finding returns what is wrong with now on the span s, because of then, which may be nil.
func finding(what string, s *span, now, then *deed) *Finding {
	f := &Finding{What: what, Ptr: alloc.Ptr(s.lo), Size: int64(s.hi - s.lo), Now: now.words(),
		NowAt: now.stack}
	if then != nil {
		f.Then, f.ThenAt = then.words(), then.stack
	}
	if s.freed != nil {
		f.Freed = s.freed.stack
	}
	return f
}
