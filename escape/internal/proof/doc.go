// Package proof is the second mind: it shows of each edit, on the edited text, that
// it changes nothing but when memory is given back. What it cannot show is withheld.
//
// It knows nothing of how the edits came about. It imports neither the analyzer nor
// its stages, only package spec and golang.org/x/tools/go/ssa, so that an error would
// have to be made twice, in two ways, to reach a user.
//
// # Words
//
// A resource is what an owned result holds. A site is the instruction that makes it.
// A holder is a register, or a location in memory, that may hold a handle of the
// resource, a view of it or a number made of it. The zero of a site is the nil or zero
// handle that stands in for a resource which was not made. F is an inserted free.
//
// # Structures
//
//   - An [Input] is one package, old text and new, with specs and facts of its imports.
//   - A [Summary] is what a function does to each operand, the fact for other packages.
//   - A family is a function with all literals in it: what is analyzed as one.
//   - A graph of locations (points.go) says what each register of a family may
//     lead to, without regard to order: fields apart, elements of a slice together.
//   - A walk (walk.go) follows one resource through a family, in order: at each point,
//     who may hold it, whether F or the program may have freed it, who may have it
//     besides. It is the only place that knows order.
//   - A [Report] has a [Verdict] for each difference between the texts, and each verdict
//     that is not accepted has a [Reason] with the line that stands in the way.
//
// # The way through
//
//	old, new ── same.go ──► the frees that were put in, taken out, the names made
//	new ── load.go ──► go/ssa ── points.go ──► graph ── summary.go ──► summaries
//	each F: its sites ── walk.go ──► rules ──► verdict
//
// [Check] does that for one package; [Summarize] stops at the summaries. A package's
// imports are summarized before it.
//
// # The rules
//
// Each is off in turn in the tests (Input.Without), and one fails then.
//
//   - same: the new tree without what was put in is the old tree.
//   - fresh: whatever F frees comes from an owned result.
//   - confined: at F nobody outside the family can have it.
//   - dead: no path from F leads to a use.
//   - once: no path frees it twice where that is an error.
//   - silent: F does nothing but release.
//   - readable: no path from F leads to a read of a name that holds it.
//   - panics, deferred, joins, callbacks, bodies, limits: what else counts as run.
package proof
