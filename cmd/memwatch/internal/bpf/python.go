//go:build linux && (amd64 || arm64)

package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/python"
)

// A PythonFrame is a frame of Python as the programs saw it.
type PythonFrame struct {
	Code uint64 // what stands for the code object
	At   int64  // bytes from the beginning of its bytecode
}

// A CodeText is what a code object of Python says of itself. It is valid until the next Read.
type CodeText struct {
	ID         uint64
	FirstLine  int32
	File, Name python.Text
	Table      []byte // of lines, the beginning if it is very long
}

// ErrNoPython says that frames of Python are not read.
var ErrNoPython = errors.New("this kernel does not load the programs for it, as 5.17 and later do")

// WatchPython tells where a process keeps its frames of Python. Runtime is the address of _PyRuntime.
func (s *Session) WatchPython(pid uint32, runtime uint64, l *python.Layout) error {
	if s.noPython {
		return ErrNoPython
	}
	inner := uint16(pyNone)
	if l.HasInner {
		inner = l.Inner
	}
	from, bytes := l.CodeSpan()
	version := uint16(pyNone)
	if l.Version != 0 {
		version = l.Version - from
	}
	v := watchPython{
		Runtime:      runtime,
		Interpreters: l.Interpreters, InterpreterNext: l.InterpreterNext, Threads: l.Threads, ThreadNext: l.ThreadNext,
		ThreadId: l.ThreadID, Frame: l.Frame, Inner: inner,
		FrameBytes: l.FrameSpan(), Code: l.Code, Previous: l.Previous, Instruction: l.Instruction, Owner: l.Owner,
		CodeFrom: from, CodeBytes: bytes,
		File: l.File - from, Name: l.Name - from, Table: l.Table - from, Line: l.FirstLine - from, Bytecode: l.Bytecode,
		Ascii: l.ASCII, Compact: l.Compact, Tag: l.Tag, Version: version,
	}
	if err := s.objs.Pythons.Put(pid, &v); err != nil {
		return fmt.Errorf("bpf: watch python: process %d: %w", pid, err)
	}
	return nil
}

// ForgetPython ends that.
func (s *Session) ForgetPython(pid uint32) {
	_ = s.objs.Pythons.Delete(pid) // it may not be there
}

const (
	pyNone     = 0xffff
	pyFile     = 512
	pyName     = 256
	codeHead   = 80
	codeSize   = codeHead + pyFile + pyName
	pythonHead = 40
)

// decodeCode takes a record of a code object apart.
func (r *Report) decodeCode(b []byte) error {
	le := binary.LittleEndian
	if len(b) < codeSize {
		return fmt.Errorf("bpf: read: %w: a code object of %d bytes", ErrReport, len(b))
	}
	r.raw(b[4:], le.Uint64(b[16:]), le.Uint64(b[24:]))
	text := func(at []byte, from, size int) python.Text {
		n := min(int(le.Uint32(at[12:])), size)
		return python.Text{Length: le.Uint64(at), State: le.Uint32(at[8:]), Bytes: b[from:][:n]}
	}
	n := min(int(le.Uint32(b[72:])), len(b)-codeSize)
	r.code = CodeText{
		ID: le.Uint64(b[32:]), FirstLine: int32(le.Uint32(b[12:])),
		File: text(b[40:], codeHead, pyFile), Name: text(b[56:], codeHead+pyFile, pyName), Table: b[codeSize:][:n],
	}
	r.Code = &r.code
	return nil
}

// decodePython takes a record of a stack of Python's frames apart.
func (r *Report) decodePython(b []byte) error {
	le := binary.LittleEndian
	if len(b) < pythonHead {
		return fmt.Errorf("bpf: read: %w: a stack of Python of %d bytes", ErrReport, len(b))
	}
	r.raw(b[4:], le.Uint64(b[16:]), le.Uint64(b[24:]))
	r.Cut, r.Python = b[1] != 0, le.Uint64(b[32:])
	n := min(int(le.Uint16(b[2:])), (len(b)-pythonHead)/16)
	for i := range n {
		at := b[pythonHead+16*i:]
		r.Lines = append(r.Lines, PythonFrame{le.Uint64(at), int64(le.Uint64(at[8:]))})
	}
	return nil
}
