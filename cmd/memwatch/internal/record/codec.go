package record

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// The fields of an event in the order of the mask's bits. A bit never changes its
// meaning within a version.
const (
	hasClass = 1 << iota
	hasSpace
	hasOwner
	hasDevice
	hasCode
	hasBegin
	hasAddr
	hasSize
	hasAux
	hasCtx
	hasStream
	hasPool
	hasStack
	hasGoroutine
	hasText
	hasFrames
	hasAll = 1<<iota - 1
)

// An encoder turns events into records.
type encoder struct {
	strings map[string]uint64
	strung  int
	time    int64
}

// event appends the record of e to b.
func (c *encoder) event(b []byte, e *heap.Event) []byte {
	b = append(b, byte(e.Op))
	var mask uint64
	has := func(bit uint64, yes bool) {
		if yes {
			mask |= bit
		}
	}
	has(hasClass, e.Class != 0)
	has(hasSpace, e.Space != 0)
	has(hasOwner, e.Owner != 0)
	has(hasDevice, e.Device != 0)
	has(hasCode, e.Code != 0)
	has(hasBegin, e.Begin != 0)
	has(hasAddr, e.Addr != 0)
	has(hasSize, e.Size != 0)
	has(hasAux, e.Aux != 0)
	has(hasCtx, e.Ctx != 0)
	has(hasStream, e.Stream != 0)
	has(hasPool, e.Pool != 0)
	has(hasStack, e.Stack != 0)
	has(hasGoroutine, e.Goroutine != 0)
	has(hasText, e.Text != "")
	has(hasFrames, len(e.Frames) > 0)
	b = binary.AppendUvarint(b, mask)
	b = binary.AppendUvarint(b, uint64(e.PID))
	b = binary.AppendUvarint(b, uint64(e.TID))
	b = binary.AppendVarint(b, e.Time-c.time)
	c.time = e.Time
	for _, f := range []struct {
		bit uint64
		v   uint64
	}{
		{hasClass, uint64(e.Class)}, {hasSpace, uint64(e.Space)}, {hasOwner, uint64(e.Owner)},
		{hasDevice, zigzag(int64(e.Device))}, {hasCode, zigzag(int64(e.Code))}, {hasBegin, zigzag(e.Begin - e.Time)},
		{hasAddr, e.Addr}, {hasSize, e.Size}, {hasAux, e.Aux}, {hasCtx, e.Ctx}, {hasStream, e.Stream},
		{hasPool, e.Pool}, {hasStack, e.Stack}, {hasGoroutine, e.Goroutine},
	} {
		if mask&f.bit != 0 {
			b = binary.AppendUvarint(b, f.v)
		}
	}
	if mask&hasText != 0 {
		b = c.text(b, e.Text)
	}
	if mask&hasFrames != 0 {
		frames := e.Frames[:min(len(e.Frames), maxFrames)]
		b = binary.AppendUvarint(b, uint64(len(frames)))
		for _, f := range frames {
			b = binary.AppendUvarint(b, f.PC)
			b = c.text(b, f.Func)
			b = c.text(b, f.File)
			b = c.text(b, f.Module)
			b = binary.AppendUvarint(b, uint64(max(f.Line, 0)))
		}
	}
	return b
}

// text appends a string: 0 and the bytes if it is new, else its number from 1. A
// string is cut at maxText; when the list is full new strings become empty.
func (c *encoder) text(b []byte, s string) []byte {
	s = s[:min(len(s), maxText)]
	n, ok := c.strings[s]
	if !ok {
		if len(c.strings) >= maxStrings || c.strung+len(s) > maxStrung {
			if s != "" {
				return c.text(b, "")
			}
			return append(b, 1) // the empty string is always the first
		}
		c.strings[s] = uint64(len(c.strings) + 1)
		c.strung += len(s)
		b = append(b, 0)
		b = binary.AppendUvarint(b, uint64(len(s)))
		return append(b, s...)
	}
	return binary.AppendUvarint(b, n)
}

func newEncoder() *encoder { return &encoder{strings: map[string]uint64{"": 1}} }

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// A decoder is the other side of an encoder.
type decoder struct {
	strings []string
	strung  int
	time    int64

	b   []byte // the rest of the payload
	err error
}

func newDecoder() *decoder { return &decoder{strings: []string{""}} }

// fail notes the first thing that is wrong and ends the payload.
func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

func (d *decoder) byte() byte {
	if d.err != nil || len(d.b) == 0 {
		d.fail("the chunk ends inside a record")
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) uint() uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail("the chunk ends inside a number, or a number is too large")
		return 0
	}
	d.b = d.b[n:]
	return v
}

// bounded reads a number that must not exceed top.
func (d *decoder) bounded(what string, top uint64) uint64 {
	v := d.uint()
	if d.err == nil && v > top {
		d.fail("%s is %d, and at most %d is possible", what, v, top)
		return 0
	}
	return v
}

func (d *decoder) text() string {
	n := d.bounded("a string's number", uint64(len(d.strings)))
	if d.err != nil {
		return ""
	}
	if n > 0 {
		return d.strings[n-1]
	}
	size := int(d.bounded("a string's length", maxText))
	if d.err == nil && size > len(d.b) {
		d.fail("the chunk ends inside a string")
	}
	if len(d.strings) >= maxStrings || d.strung+size > maxStrung {
		d.fail("too many strings")
	}
	if d.err != nil {
		return ""
	}
	s := string(d.b[:size])
	d.b = d.b[size:]
	d.strings = append(d.strings, s)
	d.strung += size
	return s
}

// errEnd is what event returns at the end record.
var errEnd = errors.New("end")

// event reads the record at the start of the payload. count is the number of
// events so far, which the end record must agree with.
func (d *decoder) event(e *heap.Event, count uint64) error {
	*e = heap.Event{}
	op := d.byte()
	if op == endOp {
		if n := d.uint(); d.err == nil && n != count {
			d.fail("the end record counts %d events, and there were %d", n, count)
		}
		if d.err != nil {
			return d.err
		}
		return errEnd
	}
	e.Op = heap.Op(op)
	if d.err == nil && !e.Op.Valid() {
		d.fail("%d is no op", op)
	}
	mask := d.bounded("a mask", hasAll)
	e.PID = uint32(d.bounded("a process", 1<<32-1))
	e.TID = uint32(d.bounded("a thread", 1<<32-1))
	d.time += unzigzag(d.uint())
	e.Time = d.time
	if d.err == nil && e.Time < 0 {
		d.fail("a time before the beginning")
	}
	if mask&hasClass != 0 {
		e.Class = heap.Class(d.bounded("a class", uint64(heap.NumClasses)-1))
	}
	if mask&hasSpace != 0 {
		e.Space = heap.Space(d.bounded("a space", 255))
	}
	if mask&hasOwner != 0 {
		e.Owner = heap.Owner(d.bounded("an owner", 255))
	}
	if mask&hasDevice != 0 {
		e.Device = int32(unzigzag(d.bounded("a device", 1<<32-1)))
	}
	if mask&hasCode != 0 {
		e.Code = int32(unzigzag(d.bounded("a code", 1<<32-1)))
	}
	if mask&hasBegin != 0 {
		e.Begin = e.Time + unzigzag(d.uint())
	}
	for _, f := range []struct {
		bit uint64
		to  *uint64
	}{
		{hasAddr, &e.Addr}, {hasSize, &e.Size}, {hasAux, &e.Aux}, {hasCtx, &e.Ctx}, {hasStream, &e.Stream},
		{hasPool, &e.Pool}, {hasStack, &e.Stack}, {hasGoroutine, &e.Goroutine},
	} {
		if mask&f.bit != 0 {
			*f.to = d.uint()
		}
	}
	if mask&hasText != 0 {
		e.Text = d.text()
	}
	if mask&hasFrames != 0 {
		n := d.bounded("the number of frames", maxFrames)
		for range n {
			f := heap.Frame{PC: d.uint(), Func: d.text(), File: d.text(), Module: d.text(), Line: int(d.bounded("a line", 1<<31-1))}
			if d.err != nil {
				break
			}
			e.Frames = append(e.Frames, f)
		}
	}
	return d.err
}
