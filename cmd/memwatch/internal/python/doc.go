// Package python knows how CPython lays out what a walk of its frames needs, and reads what code objects say
// of themselves. It reads files and bytes that strangers wrote, and knows nothing of processes.
//
// # Structures
//
//	Interpreter  what an ELF file says of the CPython in it: version, where _PyRuntime is, its Layout, or why
//	             its frames are left out
//	Layout       where structures have what, in bytes: by table for 3.11 and 3.12, and for 3.13 and 3.14 as
//	             _Py_DebugOffsets says, which is at the beginning of _PyRuntime
//	Text         a str as the probe copied it
//	Code         the file, the name and the lines of a code object
//
// # Way in
//
// [Find] looks into libpython or a program for the symbols _PyRuntime and Py_Version, which every CPython
// from 3.11 on exports. Both values are in the file, so that no memory of a process is read. Whoever knows
// where the file is mapped adds [Interpreter.Bias].
//
// # In the probe
//
// From _PyRuntime the probe goes to the list of interpreters and from there to the threads' states. The
// thread's own is the one whose thread_id is the thread pointer (on x86-64 pthread_self, and so Python's
// number of the thread, is that). It is looked for once, and again when it is not what it was. From it the
// chain of frames is followed while the thread stands in the call, so that nothing in it can go. Of each
// frame the probe takes the code object and the instruction. Frames of the interpreter itself, which stand
// between Python and C, are passed over.
//
// A code object may be freed and another be at its address. What stands for one is therefore made of its
// address, what it points to, its first line, and its version, of which no two have the same. 3.11 has none,
// nor has a program that has made 2^32 of them: there the name's hash and the beginnings of the file and of
// the line table take its place. What was not seen lately is reported with its texts and its table, from the
// probe as well: memwatch has no right to read the process later, nor would the object have to be there.
//
// # Way out
//
// [NewCode] keeps what was reported, [Code.Line] finds the line of an instruction in the table.
//
// # Left out, with the reason
//
// Versions before 3.11 and after 3.14, free-threaded builds, debug builds of 3.11 and 3.12, layouts that do
// not fit what the probe reads, machines other than x86-64.
package python
