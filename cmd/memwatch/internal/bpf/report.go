//go:build linux && (amd64 || arm64)

package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf/ringbuf"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
)

// Kind says what a Report is about.
type Kind uint8

const (
	Call   Kind = iota // Report.Raw
	Stack              // Raw.Stack is the number of Frames
	Exit               // the process is gone
	Exec               // the process is another program
	Marker             // Raw.Words are the arguments; Raw.Probe is 0 for Alloc, 1 for Free
	Code               // a code object of Python, in Report.Code
	Python             // Report.Python is the number of Lines
)

// A Report is one thing that the programs saw.
type Report struct {
	Kind   Kind
	Raw    probes.Raw
	Frames []uint64 // valid until the next Read
	Walked bool     // the frames were taken from the goroutine
	Python uint64   // of a Call: the number of the stack of Python's frames, 0 if there are none
	Code   *CodeText
	Lines  []PythonFrame // innermost first; valid until the next Read
	Cut    bool          // there are more

	Copy       *Copy  // of a Call whose stack frame pointers do not tell; valid until the next Read
	Trampoline uint64 // where probed calls return to, none of the Frames; 0 if unknown

	copied Copy
	code   CodeText
}

// ErrReport is in the chain of errors about a report that is not as it should be.
var ErrReport = errors.New("malformed report")

// Read waits for the next report and puts it into r. It returns false, and no error,
// when there is none for a while or Interrupt was called, so that the caller can do something else; and
// os.ErrClosed after Close.
func (s *Session) Read(r *Report) (bool, error) {
	s.reader.SetDeadline(time.Now().Add(s.poll))
	err := s.reader.ReadInto(&s.record)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, ringbuf.ErrFlushed):
		return false, nil
	case errors.Is(err, ringbuf.ErrClosed):
		return false, os.ErrClosed
	case err != nil:
		return false, fmt.Errorf("bpf: read: %w", err)
	}
	return true, r.decode(s.record.RawSample)
}

// Patience sets how long Read waits for a report; 50 ms unless set. It is called by the
// goroutine that reads.
func (s *Session) Patience(d time.Duration) { s.poll = d }

// Interrupt has a Read that waits return. It may be called by any goroutine.
func (s *Session) Interrupt() { _ = s.reader.Flush() } // after Close nothing waits

// Crowded reports whether so much of the ring waits to be read that nothing should be waited for meanwhile.
func (s *Session) Crowded() bool { return s.reader.AvailableBytes() > s.reader.BufferSize()/4 }

// Waiting returns the bytes in the ring that were not read yet.
func (s *Session) Waiting() int { return s.reader.AvailableBytes() }

const (
	eventSize      = 72 + 8*probes.MaxWords
	stackEventSize = 48 + 8*maxFrames
	maxFrames      = 48
)

// decode takes a record of the ring apart. The layouts are those of the programs; a
// test compares them with the generated types.
func (r *Report) decode(b []byte) error {
	le := binary.LittleEndian
	if len(b) < 1 {
		return fmt.Errorf("bpf: read: %w: empty", ErrReport)
	}
	r.Kind, r.Frames, r.Copy, r.Code, r.Python, r.Lines = Kind(b[0]), r.Frames[:0], nil, nil, 0, r.Lines[:0]
	if r.Kind == Stack {
		if len(b) < stackEventSize {
			return fmt.Errorf("bpf: read: %w: %d bytes", ErrReport, len(b))
		}
		r.Walked = b[1] != 0
		n := min(int(le.Uint16(b[2:])), maxFrames)
		r.Raw = probes.Raw{PID: le.Uint32(b[4:]), TID: le.Uint32(b[8:]), Time: int64(le.Uint64(b[16:])), Start: le.Uint64(b[24:]), Stack: le.Uint64(b[32:])}
		r.Trampoline = le.Uint64(b[40:])
		for i := range n {
			if pc := le.Uint64(b[48+8*i:]); pc != r.Trampoline || pc == 0 {
				r.Frames = append(r.Frames, pc)
			}
		}
		return nil
	}
	switch r.Kind {
	case Code:
		return r.decodeCode(b)
	case Python:
		return r.decodePython(b)
	}
	if len(b) < eventSize || r.Kind > Marker {
		return fmt.Errorf("bpf: read: %w: kind %d of %d bytes", ErrReport, r.Kind, len(b))
	}
	r.Raw = probes.Raw{
		Phase: probes.Phase(b[1]), Probe: le.Uint16(b[2:]), PID: le.Uint32(b[4:]), TID: le.Uint32(b[8:]),
		Time: int64(le.Uint64(b[16:])), Start: le.Uint64(b[24:]), Begin: int64(le.Uint64(b[32:])), Ret: le.Uint64(b[40:]),
		Stack: le.Uint64(b[48:]), Goroutine: le.Uint64(b[56:]),
	}
	r.Python = le.Uint64(b[64:])
	for i := range r.Raw.Words {
		r.Raw.Words[i] = le.Uint64(b[72+8*i:])
	}
	if len(b) > eventSize {
		return r.decodeCopy(b[eventSize:])
	}
	return nil
}

// raw notes whose a record is and when it was written.
func (r *Report) raw(who []byte, time, start uint64) {
	le := binary.LittleEndian
	r.Raw = probes.Raw{PID: le.Uint32(who), TID: le.Uint32(who[4:]), Time: int64(time), Start: start}
}
