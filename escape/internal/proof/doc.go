// Package proof is the second mind: it shows of each edit, on the edited text, that
// it changes nothing but when memory is given back. What it cannot show is withheld.
//
// It knows nothing of how the edits came about. It imports neither the analyzer nor
// its stages, only package spec and golang.org/x/tools/go/ssa, so that an error would
// have to be made twice, in two ways, to reach a user. docs/proof.md argues in two
// pages why an accepted edit is right, and lists what is trusted.
//
// # Words
//
// A resource is what an owned result holds. A site is the call that makes it. The zero
// of a site is the nil or zero handle that stands in for a resource which was not made. F is
// an inserted free.
//
// # Structures
//
//   - An [Input] is one package, old text and new, with specs and facts of its imports.
//   - A [Summary] is what a function does to each operand, the fact for other packages.
//   - A family is a function with all literals in it: what is analyzed as one.
//   - A graph of locations says what each register of a family may lead to, without
//     regard to order: fields apart, elements of a slice together.
//   - A walk follows one resource through a family, in order: at each point, who may
//     hold it, whether F or the program may have freed it, who may have it besides. It
//     is the only place that knows order.
//   - A [Report] has a [Verdict] for each difference between the texts, and each verdict
//     that is not accepted has a [Reason] with the line that stands in the way.
//
// # The way through
//
//	old, new ── same.go ──► the frees that were put in, taken out, the names made
//	new ── load.go ──► go/ssa ── points.go, flow.go, calls.go ──► graph of locations
//	graph ── infer.go ──► summaries        graph.go ──► points in order, joins.go
//	each F: check.go ── walk.go ──► rules ──► verdict      taken out: moved.go
//
// [Check] does that for one package; [SummarizeSource] stops at the summaries. A package's imports are
// summarized before it. Check looks only into bodies that matter for what is edited: where summaries of the
// original are given, the edited ones, as long as these do to their operands what they did; else those
// as well that an edited one leads to by name.
// Asked again with a [Memory], Check does not look into what it accepted; sites.go walks up to all sites.
//
// # The rules
//
// Each may be switched off for a test ([Input].Without), and TestRules shows of each a
// wrong free that is accepted then.
//
// Same. The new tree without what was put in is the old tree: on syntax, so that no resolution can hide a
// difference. What was put in reads through no pointer that may be nil, and its loops call nobody. Comments
// for tools stay. A name that was made for an expression is read once, where the expression stood; all that
// is evaluated before it there is on a list of what neither calls, receives, reads through a pointer, may
// panic nor runs a statement, and no variable is read there that a call might change. Such reads, and what
// may panic, do not pass a call that comes behind them, as compilers may do them late. Where the variable
// itself was written, a name will not do. A free that was taken out is put back into the text that is proven,
// and shown to come after another call of the same on all paths.
//
// Fresh. Whatever F frees may be is a whole result of a site, or zero; parameters, views and what others have
// are not; and some walk gets to F with it. Where the callee does not accept nil, a walk with the zero of
// each site does not reach F, and no pointer on the way to the operand may be nil.
//
// Confined. In the graph, what unknown code may reach has escaped. In the walk a resource
// that is stored there, sent, panicked with, or handed to somebody who may keep it, has
// left, and stays so. A resource that another run of the site made is another one.
//
// Dead. Behind F the walk goes on in a phase of F's own; a call, a return, a panic, a send that
// is reached there with the resource, a view or a number of it is a use. Copying the handle
// is none; what the copy is used for is.
//
// Reading or writing through a view, or a string that is one, is a use, whatever comes of it; bytes of a
// string, and what is converted to or from one, are a copy, and no part of it. A comparison with an address
// is a use, and so is asking a map that has it as a key: what is made later may have the same. What is stored
// into a resource may make it another one, handles being numbers, but for floats, bools and elements of 16
// bits, which hold none.
//
// Once. In that phase no free of the program is met unless it may be repeated, and none of ours.
//
// Silent. What a spec or directive names as the free is silent; another only if its body
// does nothing but free, and write constants over fields of its receiver.
//
// Readable. go/ssa says which register each expression of the source gave. In F's phase none
// of them may be the resource itself, except in statements that were put in. Constant conditions are not
// folded.
//
// Panics, deferred. Every instruction that can panic leads to the deferred calls, in the reverse of the order
// in which a path registers them (any order, once one of them stands in a loop), then to the recover block
// and to the panics of callers. What was put in does not panic: it reads through nothing that may be nil, and
// frees what may be freed, or is withheld. What a deferred call got as operands is held by its registration.
//
// Joins. See joins.go. A goroutine that may run and can reach the resource withholds F. A function keeps the
// operands that a goroutine has which may run when it returns; what may run when it panics is kept there.
//
// Callbacks. A literal that is handed to a callee which does not keep it runs any number of times during the
// call, with parts of the other operands; one that is kept makes what it captures escape. Each literal is
// walked from its own start, too, since not all who may call it are known. A method that fmt and its like ask
// a value for, or that the interface has, is called when the value becomes an interface. A literal that may
// run inside itself is not understood. Where goroutines of the callee may run one, it frees only what it made
// alone. A literal that is returned keeps what goroutines have which it may leave behind.
//
// Bodies. A callee does what a spec line says, else what infer.go found out, else the worst. Summaries are
// made callees first; one that calls itself is what it is found to be if it is taken for that, and in a
// longer cycle the others are unknown. Instances share the summary of what they are made from, in which a
// call through a type parameter is unknown.
//
// Conditions. A walk tells apart what it knows of conditions (known.go). A register is computed once for each
// time that its block is entered, so what one test said of it holds for the next, and a phi is what the edge
// brought. That a variable has the constant that was stored last holds if nothing but constants is ever
// stored, by code that the walk follows, in order: no address of it leaves the family, no goroutine reaches
// it, and it is made once or made anew with all that captures it. Which exit the body of a range over a
// function took is such a flag. A variable that was found to be nil is so until the walk meets a store: it is
// read and tested with nothing between.
//
// Parts. What a constructor returns is memory of the caller's with resources in its fields if all that the
// result may lead to was allocated in the body and has not escaped, no other result leads there, and each
// resource is in one field and nowhere else when the body is left: parts.go. Freed is then what the free's
// body says, field by field, and a pointer that is followed was tested, or followed before, or the error
// beside it was.
//
// Elements. A slice that is returned, or that one field of what is returned leads to, is such memory, and
// its elements are one part with many resources. A container that the callee keeps, appends to for its
// caller, or hands to a goroutine has escaped or is not its own; a slice of it in another result or field is
// a second way there; an element that is an operand, or nil, makes the part one that may be that; one that is
// there twice, or was freed or stored elsewhere, is seen by the walk with it. What a loop over the slice
// leaves out is not freed, which changes nothing. A free of the whole may free elements in a loop that ranges
// over them, once: no two rounds free the same one unless it is there twice, and that the walk sees where the
// free stands.
//
// Limits. What is too large, an instruction that is not on the list, a panic: withheld.
package proof
