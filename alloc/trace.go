package alloc

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/lastuse/lastuse/internal/lockrank"
)

// traceHead is the first line of a trace. Package bench/trace reads what follows.
const traceHead = "lastuse.trace.v1"

// traceRoom is how many bytes of lines are kept before they are written.
const traceRoom = 64 << 10

// A trace writes a line for each Make and each Free, in an order in which an address is never made
// twice without a Free between:
//
//	m nanoseconds stream address bytes
//	f nanoseconds stream address
//
// Time counts from the first line. Bytes are those that were asked for, the address is hexadecimal. Free
// adds its line while its heap is locked, before the block can be another's, and so must not wait
// for the writer: only Make and Close write.
type trace struct {
	begin time.Time

	mu    lockrank.Mutex[rankTrace]
	lines []byte // protected by mu

	writing lockrank.Mutex[rankWriting] // taken before mu
	w       io.Writer                   // protected by writing
	err     error                       // the first of w; protected by writing
}

// newTrace begins a trace of a pool on the named device.
func newTrace(w io.Writer, device string) *trace {
	t := &trace{begin: time.Now(), w: w}
	t.lines = fmt.Appendf(nil, "%s %q\n", traceHead, device)
	return t
}

// add adds a line. For a Free size is 0. It takes no lock that is held while w is written to.
func (t *trace) add(op byte, stream int, p Ptr, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := append(t.lines, op, ' ')
	b = strconv.AppendInt(b, int64(time.Since(t.begin)), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(stream), 10)
	b = append(b, ' ')
	b = strconv.AppendUint(b, uint64(p), 16)
	if op == 'm' {
		b = append(b, ' ')
		b = strconv.AppendInt(b, size, 10)
	}
	t.lines = append(b, '\n')
}

// made adds the line of a Make of size bytes, and writes what there is if that is much.
func (t *trace) made(stream int, p Ptr, size int64) {
	t.add('m', stream, p, size)
	t.mu.Lock()
	much := len(t.lines) >= traceRoom
	t.mu.Unlock()
	if much {
		_ = t.flush() // Close says so
	}
}

// flush writes all lines, and returns the first error that writing has ever met. After one nothing is
// written any more.
func (t *trace) flush() error {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	lines := t.lines
	t.lines = nil
	t.mu.Unlock()
	if t.err == nil && len(lines) > 0 {
		_, t.err = t.w.Write(lines)
	}
	if t.err != nil {
		return fmt.Errorf("alloc: trace: %w", t.err)
	}
	return nil
}
