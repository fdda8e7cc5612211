// Package escape finds foreign buffers that never leave the function that owns
// them, and plans the statements that free each one at its last use.
//
// A buffer is foreign memory behind a small Go handle: device memory, a C
// allocation, an OpenCV mat. The collector sees the handle only. The analyzer
// follows each buffer from the call that makes it, through copies, branches,
// loops, closures, helpers in this and other packages, and reports those that
// are never freed, freed late, leaked on some path, freed twice, used after
// they are freed, or kept alive by nothing but a raw pointer:
//
//	b, err := alloc.Make[float32](s, n) // unfreed: b is never freed
//	if err != nil {
//		return err
//	}
//	if likely {
//		for somethingLong() { // the fix frees b before the loop
//		}
//	} else {
//		use(b) // and after this
//	}
//
// # The contract
//
// Doing nothing is always right. From there:
//
//  1. No Free is inserted where a use of the buffer, of a copy, of a view, or of
//     a raw pointer taken from it can still be reached.
//  2. No Free of a value that may be borrowed at that point. Nil, and the zero
//     value, count as owned.
//  3. No path from where a buffer is made meets two inserted frees; nor, unless
//     freeing may be repeated, an inserted one and one of the program's.
//  4. A Free stands after the last use in a block and on each edge on which the
//     buffer is needed before and dead after: in a new else, before a return, at
//     a loop's exit. A returned expression that reads the buffer is evaluated
//     first. Lifetimes are never extended.
//  5. A call that may panic gets nothing extra. An explicit panic is an exit like
//     return. os.Exit and log.Fatal get nothing. Deferred code that reads the
//     buffer keeps it until it has run.
//  6. The edited file compiles, keeps its comments and its format, and a second
//     run changes nothing. Two exceptions are known (docs/rooms.md): a buffer that
//     has no name inside a loop, and one beside which a free was refused. The
//     goldens and random programs (escape/oracle) look for more.
//  7. Every buffer that is kept has a reason.
//  8. No Free stands in front of a read of the buffer's name or of a copy, even one
//     that does nothing, or that a constant rules out.
//
// An inserted Free that changes what a program computes is a serious bug; one
// that is not inserted is only slower, as the safety net catches it. So whatever
// is not understood is left alone, and said.
//
// # Categories
//
// Each is reported at the call that makes the buffer, unless it says otherwise.
//
//	unfreed         never escapes, never freed; the fix inserts the frees
//	leak            freed or handed on on some paths, not on others
//	late            freed, but a loop, an allocation or a call that blocks comes
//	                first; or a deferred free in a loop
//	double-free     at the second free, where freeing is not repeatable
//	use-after-free  at the use
//	keepalive       a raw pointer is used after the last use of its buffer
//
// # What is refused
//
// A buffer is kept, with the operation through which it leaves, when it is
// stored in a field, a package variable or an unknown element; sent on a
// channel; handed to a goroutine that is not joined here; captured by a literal
// that does more than look at it and may be called elsewhere; passed
// to a function that may keep it or of which nothing is known; returned as a view. A plan is refused
// when no variable that is visible holds the buffer, when a path has no place of its own, in
// generated files and in files that use cgo, and when the proof does not accept it. Functions
// too large to decide in bounded work are skipped and counted.
//
// # How it works
//
// The package is built as go/ssa with a call at each place where a statement may stand (internal/ir), so
// that a plan over SSA is one over text. What each value may hold, who owns it, and where it is needed, is
// found once for each function (internal/pointsto, internal/own); what that says of its operands is its
// summary, a fact for other packages (internal/effect, internal/infer). A free stands at the first place
// where a buffer is owned and not needed (internal/place), edits make it text (internal/rewrite), and the
// proof, which shares no code with all that, has the last word (internal/proof). docs/design.md has the whole
// of it.
//
// # Summaries by hand
//
// A spec file, or a directive on the function, says what bodies do not show:
//
//	github.com/x/cv.NewMat       result 0 owned
//	(*github.com/x/cv.Mat).Close recv freed
//
//	//lastuse:effect result 0 views recv
//
// See package spec for the grammar. A line that ends in //lastuse:keep REASON
// leaves the buffer that is made there alone.
package escape
