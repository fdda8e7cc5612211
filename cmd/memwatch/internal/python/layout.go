package python

import "encoding/binary"

// A Layout is where CPython's structures have what, in bytes.
type Layout struct {
	Interpreters    uint32 // _PyRuntimeState.interpreters.head
	InterpreterNext uint32 // PyInterpreterState.next
	Threads         uint32 // PyInterpreterState.threads.head
	ThreadNext      uint32 // PyThreadState.next
	ThreadID        uint16 // PyThreadState.thread_id
	Frame           uint16 // PyThreadState.current_frame, or cframe where HasInner
	Inner           uint16 // _PyCFrame.current_frame
	HasInner        bool

	Code        uint16 // _PyInterpreterFrame.f_code, or f_executable
	Previous    uint16 // _PyInterpreterFrame.previous
	Instruction uint16 // _PyInterpreterFrame.prev_instr, or instr_ptr
	Owner       uint16 // _PyInterpreterFrame.owner
	Tag         uint16 // bits of Code that are no address

	FirstLine uint16 // PyCodeObject.co_firstlineno
	File      uint16 // PyCodeObject.co_filename
	Name      uint16 // PyCodeObject.co_qualname
	Table     uint16 // PyCodeObject.co_linetable
	Bytecode  uint16 // PyCodeObject.co_code_adaptive
	Version   uint16 // PyCodeObject.co_version, 0 if there is none or it is not known where

	ASCII   uint16 // sizeof(PyASCIIObject)
	Compact uint16 // sizeof(PyCompactUnicodeObject)
}

// tables are the layouts of versions that do not tell them, as gcc lays out for x86-64 what the headers of
// CPython declare: Include/cpython/pystate.h (PyThreadState, _PyCFrame), Include/cpython/code.h
// (PyCodeObject), Include/cpython/unicodeobject.h, Include/internal/pycore_frame.h (_PyInterpreterFrame),
// Include/internal/pycore_interp.h and Include/internal/pycore_runtime.h. A test compares them with the
// debugging information of each such CPython that it finds.
var tables = map[uint32]Layout{
	0x030b: {
		Interpreters: 40, InterpreterNext: 0, Threads: 16, ThreadNext: 8, ThreadID: 152,
		Frame: 56, Inner: 8, HasInner: true,
		Code: 32, Previous: 48, Instruction: 56, Owner: 69,
		FirstLine: 72, File: 112, Name: 128, Table: 136, Bytecode: 184, ASCII: 48, Compact: 72,
	},
	0x030c: {
		Interpreters: 40, InterpreterNext: 0, Threads: 72, ThreadNext: 8, ThreadID: 136,
		Frame: 56, Inner: 0, HasInner: true,
		Code: 0, Previous: 8, Instruction: 56, Owner: 70,
		FirstLine: 68, File: 112, Name: 128, Table: 136, Bytecode: 192, Version: 92, ASCII: 40, Compact: 56,
	},
}

// Where _Py_DebugOffsets has what, in words: Include/internal/pycore_runtime.h of 3.13, and
// Include/internal/pycore_debug_offsets.h of 3.14, which has more in between.
type debugOffsets struct {
	interpretersHead, interpreterNext, threadsHead                   int
	threadNext, currentFrame, threadID                               int
	previous, executable, instruction, owner                         int
	fileName, qualName, lineTable, firstLine, variables, bytecode    int
	objectSize, bytesSize, bytesValue, textSize, textState, textHead int
	textLength                                                       int
	size                                                             int    // words that are needed
	tag                                                              uint16 // as in Layout
}

var debug = map[uint32]debugOffsets{
	0x030d: {
		interpretersHead: 5, interpreterNext: 8, threadsHead: 9, threadNext: 21, currentFrame: 23, threadID: 24,
		previous: 29, executable: 30, instruction: 31, owner: 33,
		fileName: 35, qualName: 37, lineTable: 38, firstLine: 39, variables: 41, bytecode: 43,
		objectSize: 44, bytesSize: 65, bytesValue: 66, textSize: 67, textState: 68, textLength: 69, textHead: 70, size: 71,
	},
	0x030e: {
		interpretersHead: 5, interpreterNext: 8, threadsHead: 9, threadNext: 24, currentFrame: 26, threadID: 27,
		previous: 32, executable: 33, instruction: 34, owner: 36,
		fileName: 40, qualName: 42, lineTable: 43, firstLine: 44, variables: 46, bytecode: 48,
		objectSize: 50, bytesSize: 75, bytesValue: 76, textSize: 77, textState: 78, textLength: 79, textHead: 80, size: 81,
		tag: 3,
	},
}

// What the probe takes for granted: str and bytes have had it there since 3.3.
const (
	objectSize = 16
	textLength = 16
	textState  = 32
	bytesSize  = 16
	bytesValue = 32
)

// layout returns the layout that _Py_DebugOffsets says, or why it cannot be used.
func (d *debugOffsets) layout(b []byte) (l Layout, reason string) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	if word(d.objectSize) != objectSize || word(d.textLength) != textLength || word(d.textState) != textState ||
		word(d.bytesSize) != bytesSize || word(d.bytesValue) != bytesValue {
		return l, "its objects are laid out in an unusual way"
	}
	fits := true
	short := func(i int) uint16 {
		fits = fits && word(i) < 1<<15
		return uint16(word(i))
	}
	long := func(i int) uint32 {
		fits = fits && word(i) < 1<<24
		return uint32(word(i))
	}
	l = Layout{
		Interpreters: long(d.interpretersHead), InterpreterNext: long(d.interpreterNext), Threads: long(d.threadsHead),
		ThreadNext: long(d.threadNext), ThreadID: short(d.threadID), Frame: short(d.currentFrame),
		Code: short(d.executable), Previous: short(d.previous), Instruction: short(d.instruction), Owner: short(d.owner), Tag: d.tag,
		FirstLine: short(d.firstLine), File: short(d.fileName), Name: short(d.qualName), Table: short(d.lineTable), Bytecode: short(d.bytecode),
		ASCII: short(d.textHead), Compact: short(d.textSize) - 8, // PyUnicodeObject has a pointer more
	}
	// co_version is before co_localsplusnames, at the end of a word.
	if v := short(d.variables); v >= 8 && v%8 == 0 {
		l.Version = v - 4
	}
	if !fits || !l.fits() {
		return l, "its structures are laid out in an unusual way"
	}
	return l, ""
}

// maxSpan is how much the probe reads of a frame or a code object at once, in bytes.
const maxSpan = 128

// fits reports whether the probe can read by the layout: what it picks from what it read is inside, and where
// a word may be.
func (l *Layout) fits() bool {
	from, bytes := l.CodeSpan()
	words := l.Code | l.Previous | l.Instruction | l.File | l.Name | l.Table | l.ThreadID | l.Frame | l.Inner
	inside := l.Version == 0 || l.Version >= from && l.Version+4 <= from+bytes
	return inside && from < 1<<12 && bytes <= maxSpan && l.FrameSpan() <= maxSpan && words%8 == 0 && l.FirstLine%4 == 0 &&
		l.ASCII >= textState && l.ASCII <= l.Compact && l.Compact < 256
}

// CodeSpan returns the part of a code object that has what is read of it but the bytecode: where it begins,
// which is at a word, and its bytes.
func (l *Layout) CodeSpan() (from, bytes uint16) {
	first := min(l.FirstLine, l.File, l.Name, l.Table)
	last := max(l.FirstLine+4, l.File+8, l.Name+8, l.Table+8)
	from = first &^ 7
	return from, last - from
}

// FrameSpan returns how many bytes of a frame have what is read of it.
func (l *Layout) FrameSpan() uint16 {
	return max(l.Code+8, l.Previous+8, l.Instruction+8, l.Owner+1)
}
