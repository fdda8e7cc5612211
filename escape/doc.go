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
//     buffer keeps it, as long as a panic might run that code (lower_hold.go)
//     and its flags let it get there (lower_flag.go).
//  6. The edited file compiles, keeps its comments and its format, and a second
//     run changes nothing.
//  7. Every buffer that is kept has a reason.
//  8. No Free stands in front of a read of the buffer's name or of a copy, even one
//     that does nothing, or that a constant rules out (mentioned.go).
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
// that is not only called here and does more than look at it (looks.go); passed
// to a function that may keep it or of which nothing is known; returned as a view. So is a
// buffer whose handle is a number that another package than its own frees (numbered.go). A plan is refused
// when no variable that is visible holds the buffer, when a path has no place of its own, in
// generated files and in files that use cgo. Functions with irreducible control
// flow, or too large to decide in bounded work, are skipped and counted.
//
// # How it works
//
// Source becomes the flow form (ir.go), in which each value is assigned once and
// each place where a statement may stand is an instruction. Every use of every
// alias of a buffer is followed; one that is not understood is an escape
// (flow.go). What a function does to each operand is its summary, a fact for
// other packages (effect.go, summary.go). States go forward and liveness
// backward, apart for each combination of a few correlated conditions
// (state.go); the plan frees at the first gap where a buffer is owned and dead
// (plan.go), edits make it text (package rewrite), and the proof has the last
// word on them (proven.go).
//
// Rejected: x/tools/go/ssa as the flow form. It has no gaps, a lifted variable
// loses its name, the body of a range over a function is another function, and
// a deferred literal hides behind a cell. Rejected: one insertion point at the
// nearest common post-dominator, as in Julia: it holds memory through branches
// that do not need it. Rejected: freeing after a merge wherever one edge owns
// and another has freed; the edge that owns gets the free.
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
