// Package escape finds foreign buffers that never leave the function that owns
// them, and plans the statements that free each one at its last use.
//
// # Analyzer lastuse
//
// lastuse: report foreign buffers freed late, twice or never
//
// A foreign buffer is memory that Go's collector does not see: a GPU allocation,
// C memory, anything behind a handle with a method that frees it. Which types
// those are is told by directives and specs (see below): a type is a resource when
// some function frees it. For a buffer that nobody frees the analyzer suggests the
// free, at the last use on each path:
//
//	w, err := alloc.Make[float32](s, n) // want "unfreed: w is never freed"
//	if err != nil {
//		return err
//	}
//	if likely {
//		w.Free() // suggested: dead here, before the long loop
//		for range 1000 { … }
//	} else {
//		err = use(s, w)
//		w.Free() // suggested: after its last use
//	}
//
// # The contract
//
// Doing nothing is always right. From there:
//
//  1. No free at a point from which a use of the buffer, of a copy, of a view or of a
//     raw pointer taken from it can be reached.
//  2. No free of a value that may be borrowed at that point. Nil, and the zero
//     buffer, count as owned.
//  3. No path from a Make meets two inserted frees before that Make runs again, nor,
//     unless the free may be repeated, an inserted one and one that was there.
//  4. Frees stand after the last use inside a block, and on every edge of control flow
//     where the buffer is live before and dead after. A returned expression that reads
//     the buffer is evaluated first. Lifetimes are never extended.
//  5. A call that may panic gets nothing extra: the collector's net is there. An
//     explicit panic(v) is an exit like return. os.Exit and log.Fatal get nothing.
//     Deferred code that reads the buffer blocks an early free.
//  6. The result compiles, is formatted where it was, keeps every comment, and is a
//     fixed point: a second run changes nothing.
//  7. Every buffer that is kept has a reason: the operation through which it escapes, its
//     position, and the path that leads there.
//
// # Categories
//
// A diagnostic stands at the call that makes the buffer, unless said otherwise.
//
//   - unfreed: the buffer never escapes and is never freed. The fix inserts the frees.
//   - leak: some path neither frees the buffer nor hands it on; also a variable or field
//     that is overwritten while it owns, and, at the destructor's name, a destructor that
//     forgets a field.
//   - late: a deferred free in a loop, or a free with a loop or a call that is known to
//     allocate or block between the last use and it.
//   - double-free: reported at the second free.
//   - use-after-free: reported at the use.
//   - keepalive: a raw pointer is used after the last use of its buffer, so the collector
//     may free the memory under it. The fix inserts the free, or a
//     runtime.KeepAlive, after it.
//
// # What is left alone
//
// What is not understood is not touched, and Result says why: buffers stored in the
// heap, sent on a channel, captured by a function that is kept, handed to code
// without a body or a spec line; a buffer that no variable names at the point where it
// dies; functions too large to decide in bounded work, and functions with irreducible
// control flow. `//lastuse:keep REASON` at the end of a line leaves the buffers of
// that line alone.
//
// # Telling it about other libraries
//
// A summary of a function is inferred from its body and travels to other packages as a
// fact. Where there is no body, or it is not to be trusted, a line of a spec says what
// the function does to its operands, or a directive on the function itself:
//
//	//lastuse:effect recv freed repeatable
//	func (b *Block) Free() { … }
//
// Package spec has the grammar.
//
// # How it works
//
// One arrow after the other, each with a text form and golden tests in testdata:
//
//	source → flow → summary → plan → sanity → edits
//
// The flow form (ir.go) is each function as blocks of values assigned once. It is built
// from the syntax tree and not taken from x/tools/go/ssa, because a rewriter needs three
// things that SSA drops: every place in the source where a statement may stand is an
// instruction of its own, a gap, so that a plan over the flow form is a plan over
// text; an else or a default that is not written has a block, so that every edge on
// which liveness ends has a gap; and at each gap it is known which variable holds which
// value, which is how a free finds its name. What the lowering does not know is opaque, and
// whatever reaches something opaque escapes.
//
// An owner is what one site makes; owners that a variable may hold in turn are grouped.
// A backward pass finds where each is live, a forward pass where it is owned on every
// path (state.go); the plan (plan.go) puts a free at each gap between the two. Sanity
// (sanity.go) then walks bounded paths of the function with every buffer as a thing that is made,
// aliased, used and freed one by one, and withdraws the function's edits if it finds a
// use after free, a second free or a path without one. That would be a bug of this
// package, and is reported as one.
package escape
