package alloc

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/lastuse/lastuse/tracker"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrFreed says that a buffer was used after its Free.
	ErrFreed = errors.New("buffer used after Free")
	// ErrClosed says that a pool, a stream or a graph was used after its Close.
	ErrClosed = errors.New("closed")
	// ErrOutOfMemory says that the device has no memory left, or the pool's limit none.
	ErrOutOfMemory = errors.New("out of device memory")
	// ErrCapturing says that a stream is being captured into a graph, so that it cannot do what would have to
	// happen now; and if the capture is not the pool's, that memory cannot change hands on it.
	ErrCapturing = errors.New("stream is being captured")
	// ErrSize says that a number of elements is negative, or larger than what it is to fit
	// in, or more than any device could have.
	ErrSize = errors.New("bad size")
	// ErrType says that an element type holds Go pointers, which must not leave the
	// Go heap, or is not the one that is in the buffer.
	ErrType = errors.New("bad element type")
	// ErrForeign says that a buffer belongs to another pool, or that a stream or an event belongs to one
	// whose device is of another kind.
	ErrForeign = errors.New("belongs to another pool")
	// ErrOption says that an option has no such value.
	ErrOption = errors.New("bad option")
	// ErrUnmapped says that a [Mapper] lost the memory that it was to move.
	ErrUnmapped = errors.New("memory is unmapped")
	// ErrLive says that a pool was closed while buffers were live.
	ErrLive = errors.New("buffers still live")
)

// What cannot serve, and what to do about it.
var (
	errPoolClosed   = fmt.Errorf("pool %w: Close it behind the last use of what is its", ErrClosed)
	errStreamClosed = fmt.Errorf("stream %w: Close it behind its last use, or take another of the pool", ErrClosed)
	errGraphClosed  = fmt.Errorf("graph %w: Close it behind its last use, or Capture anew", ErrClosed)
	errInCapture    = fmt.Errorf("%w: do it before Capture, or behind the graph's Launch", ErrCapturing)
	errOtherKind    = fmt.Errorf("alloc: wait event: event %w on a device of another kind: Sync it", ErrForeign)
	errByOthers     = fmt.Errorf("%w by somebody else: do it when that has ended", ErrCapturing)
)

// errNoStream says that a stream is nil, or a Stream that no pool has made.
var errNoStream = errors.New("no stream: nil, or not made by a pool")

// errNoPool says the same of a pool.
var errNoPool = errors.New("no pool: nil, or not made by NewPool")

var errNotObservable = errors.New("work on the stream cannot be observed")

// A MemoryError reports that a Make found no memory, and the pool as it was then.
// errors.Is(err, [ErrOutOfMemory]) is true of it.
type MemoryError struct {
	Requested int64          // bytes asked for, rounding included
	Limit     int64          // bytes; 0 if the pool has none of its own
	Stats     Stats          // after everything had been tried
	Sites     []tracker.Site // of the pool, those with most live bytes; live figures are exact
	Unknown   Unknown        // what is live of other sites
	Err       error          // what the device said last; nil if the limit was the bound
}

func (e *MemoryError) Error() string {
	var b strings.Builder
	st := e.Stats
	fmt.Fprintf(&b, "alloc: %s: %v (live %s, pending %s, idle %s, reserved %s", sizeText(e.Requested),
		ErrOutOfMemory,
		sizeText(st.Live), sizeText(st.Pending), sizeText(st.Idle), sizeText(st.Reserved))
	if e.Limit > 0 {
		fmt.Fprintf(&b, " of %s", sizeText(e.Limit))
	}
	b.WriteString(")")
	for i, s := range e.Sites {
		if i == 3 {
			break
		}
		fmt.Fprintf(&b, "; %s in %d from %v", sizeText(s.LiveBytes), s.LiveObjects, s)
	}
	b.WriteString(e.Unknown.text())
	if e.Err != nil && !errors.Is(e.Err, errLimit) {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Is makes a MemoryError an ErrOutOfMemory.
func (e *MemoryError) Is(target error) bool { return target == ErrOutOfMemory }

// Unwrap returns what the device said.
func (e *MemoryError) Unwrap() error { return e.Err }

// errLimit is the refusal of a pool's own limit.
var errLimit = fmt.Errorf("limit of the pool: %w", ErrOutOfMemory)

// A LiveError reports that a pool was closed with live buffers. errors.Is(err,
// [ErrLive]) is true of it.
type LiveError struct {
	Buffers int64          // live
	Bytes   int64          // of them, rounding included
	Sites   []tracker.Site // those with most live bytes; live figures are exact
	Unknown Unknown        // what is live of other sites
}

// Unknown is what is live of buffers whose Make was not sampled, so that nobody knows its site.
// The tracker samples by bytes (tracker.Options.Rate): what is much smaller than its rate is seldom
// among them.
type Unknown struct {
	Buffers int64 // live
	Bytes   int64 // of them, rounding included
}

// text returns u in words that say what helps, or "".
func (u Unknown) text() string {
	if u.Buffers == 0 {
		return ""
	}
	return fmt.Sprintf("; %s in %d from sites that were not sampled: "+
		"tracker.Options{Rate: 1} or alloc.Options{Check: true} names all",
		sizeText(u.Bytes), u.Buffers)
}

func (e *LiveError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "alloc: close: %v: %d of %s", ErrLive, e.Buffers, sizeText(e.Bytes))
	for _, s := range e.Sites {
		fmt.Fprintf(&b, "; %s in %d from %v", sizeText(s.LiveBytes), s.LiveObjects, s)
	}
	b.WriteString(e.Unknown.text())
	return b.String()
}

// Is makes a LiveError an ErrLive.
func (e *LiveError) Is(target error) bool { return target == ErrLive }

// A UseError reports the use of a buffer after its Free. errors.Is(err, [ErrFreed]) is
// true of it. The stacks are known in Check mode.
type UseError struct {
	Op   string // what was tried, such as "copy in"
	Made Stack  // where the buffer was made
	Free Stack  // where it was freed
	Use  Stack  // where it was used then

	Site tracker.Site // where it was made, if that is known outside Check mode
}

func (e *UseError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "alloc: %s: %v", e.Op, ErrFreed)
	if len(e.Site.Frames) > 0 {
		fmt.Fprintf(&b, ", made at %v", e.Site)
	}
	for _, s := range []struct {
		what  string
		stack Stack
	}{{"made", e.Made}, {"freed", e.Free}, {"used", e.Use}} {
		if len(s.stack) > 0 {
			fmt.Fprintf(&b, "\n%s at:\n%v", s.what, s.stack)
		}
	}
	return b.String()
}

// Is makes a UseError an ErrFreed.
func (e *UseError) Is(target error) bool { return target == ErrFreed }

// sizeText returns n bytes in words.
func sizeText(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }
