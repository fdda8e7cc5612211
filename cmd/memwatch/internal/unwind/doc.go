// Package unwind walks copies of stacks by .eh_frame, where functions keep no frame
// pointers. It reads files and bytes that strangers wrote, and knows nothing of
// processes.
//
// # Structures
//
//	Table   where the entries of one ELF file are: .eh_frame_hdr, found by the program
//	        headers, so that a file without sections will do
//	Row     what holds at one address: where the caller's frame is, and its registers
//	Copy    the bytes of a stack, and the registers that went with them
//	Walk    from frame to frame: look up the row, apply it, until there is no caller
//
// # Way in
//
// [Open] reads the headers of a file. [Table.Row] finds the entry of an address by a
// binary search in the file and runs its program up to there. Nothing is kept: a file's
// tables may be of any size, and a program calls from few addresses. Whoever asks often
// keeps the rows.
//
// # Way out
//
// [Walk] returns frames, innermost first, and how it ended: at a frame that says that
// there is none beyond it, where the copy ends, where nothing is known of the code, or
// where the tables contradict the stack.
//
// # Trust
//
// Tables and stacks may say anything. An entry is read up to [maxEntry] bytes, and each
// of its instructions takes at least one; states that are put aside, and expressions,
// are bounded; each frame must be further out than the one before. What is not
// understood is an error, and a walk ends there.
//
// x86-64 alone: tables of other machines are refused.
package unwind
