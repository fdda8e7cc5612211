// Package trace reads recorded allocations, in the form that alloc.Options.Trace writes, makes RMM's random
// ones, and replays both on a pool; peers that are no Go read them as steps.
//
// A trace is lines of text: one that says what it is and which device it is from, then one for each event,
// in an order in which no address is made twice without a free between:
//
//	lastuse.trace.v1 "cuda:0"
//	m nanoseconds stream address bytes
//	f nanoseconds stream address
//
// Streams are numbers from 0, the address is hexadecimal without a prefix.
package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// head is the first word of a trace.
const head = "lastuse.trace.v1"

// maxStream bounds the numbers of streams: a trace with larger ones is none.
const maxStream = 1 << 16

// An Event is one allocation or one free.
type Event struct {
	Free   bool
	At     time.Duration // since the trace began
	Stream int
	Ptr    uint64
	Size   int64 // bytes; of a free those of its allocation
}

// A Trace is what was recorded.
type Trace struct {
	Device string
	Events []Event

	// Skipped counts what was left out: allocations that failed, frees of what the trace has no
	// allocation of, and allocations at an address that was live.
	Skipped int
}

// A builder adds events and gives frees their sizes.
type builder struct {
	Trace
	live map[uint64]int64
}

func (b *builder) add(e Event) {
	size, ok := b.live[e.Ptr]
	if e.Free != ok {
		b.Skipped++
		return
	}
	if e.Free {
		e.Size = size
		delete(b.live, e.Ptr)
	} else {
		if b.live == nil {
			b.live = map[uint64]int64{}
		}
		b.live[e.Ptr] = e.Size
	}
	b.Events = append(b.Events, e)
}

// Read reads a trace. A last line that is cut off is left out.
func Read(r io.Reader) (*Trace, error) {
	in := bufio.NewReader(r)
	line, err := in.ReadString('\n')
	name, device, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	if name != head {
		return nil, fmt.Errorf("trace: it does not begin with %s", head)
	}
	var b builder
	if b.Device, err = strconv.Unquote(device); err != nil {
		return nil, fmt.Errorf("trace: line 1: the device's name is %s", device)
	}
	for n := 2; ; n++ {
		line, err := in.ReadString('\n')
		if err == io.EOF {
			return &b.Trace, nil
		}
		if err != nil {
			return nil, fmt.Errorf("trace: %w", err)
		}
		e, err := event(strings.Fields(line))
		if err != nil {
			return nil, fmt.Errorf("trace: line %d: %w", n, err)
		}
		b.add(e)
	}
}

// event reads the fields of a line.
func event(fields []string) (e Event, err error) {
	switch {
	case len(fields) == 5 && fields[0] == "m":
		e.Size, err = strconv.ParseInt(fields[4], 10, 64)
	case len(fields) == 4 && fields[0] == "f":
		e.Free = true
	default:
		return e, errors.New("it is neither m with 4 numbers nor f with 3")
	}
	at, err1 := strconv.ParseInt(fields[1], 10, 64)
	stream, err2 := strconv.Atoi(fields[2])
	ptr, err3 := strconv.ParseUint(fields[3], 16, 64)
	if err := errors.Join(err, err1, err2, err3); err != nil {
		return e, err
	}
	if stream < 0 || stream >= maxStream || e.Size < 0 {
		return e, fmt.Errorf("stream %d, %d bytes: out of range", stream, e.Size)
	}
	e.At, e.Stream, e.Ptr = time.Duration(at), stream, ptr
	return e, nil
}
