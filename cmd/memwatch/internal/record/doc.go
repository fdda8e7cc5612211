// Package record keeps a session of memwatch in one file that every view can
// replay.
//
// # The file
//
//	magic     8 bytes: "memwtch" and the version, 1
//	chunk     length (4 bytes, little endian), CRC-32C (4 bytes), payload
//	…
//	end       a chunk whose only record is the end record
//
// The first chunk is the header. Any other payload is a sequence of records, each
// complete in its chunk:
//
//	event     op byte, mask of the fields that are not zero, their values, all as
//	          varints; times as differences; text by its number in the file's
//	          list of strings, to which a new one is added where it first comes
//	end       op byte 255, the number of events
//
// # Trust
//
// A file may come from anywhere. Every length is checked against a fixed bound before memory is taken for it,
// no path named in a file is opened, and of a file that is cut off, damaged, or goes on after its end nothing
// is read from the offset on at which it stops making sense. [Open] reads a file to its end first, so that a
// view knows from the beginning that it shows only a part. A Writer that is killed leaves a file that is good
// up to the latest Flush. A file that is still being written is locked, so that it is not taken for one that
// is cut off; [Follow] waits for what comes.
//
// Files are made with mode 0600, never through a link and never over another file:
// call stacks tell much about a program.
//
// # Compatibility
//
// A change gets a new version; other versions are refused by number.
package record

import "errors"

// ErrFormat is in the chain of every error about bytes that are no record file of
// this version.
var ErrFormat = errors.New("not a recording of memwatch")

const (
	magic      = "memwtch"
	version    = 1
	headerSize = 8

	maxChunk   = 1 << 20 // bytes of a payload
	softChunk  = 32 << 10
	maxText    = 4 << 10  // bytes of one string
	maxStrings = 1 << 20  // strings of a file
	maxStrung  = 64 << 20 // bytes of all of them
	maxFrames  = 256      // of one stack

	endOp = 255
)
