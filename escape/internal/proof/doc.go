// Package proof is the second mind: it shows of each edit, on the edited text, that
// it changes nothing but when memory is given back. What it cannot show is withheld.
//
// It knows nothing of how the edits came about. It imports neither the analyzer nor
// its stages, only package spec and golang.org/x/tools/go/ssa, so that an error would
// have to be made twice, in two ways, to reach a user. docs/proof.md argues in two
// pages why an accepted edit is right, and lists what is trusted; what stands there is not said again here.
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
//   - An entry of the table (table.go) is what one instruction, builtin function or result of a call does:
//     where its register comes from, what it stores where, reads, gives away. The graph and the walk ask it
//     alone.
//   - A call (calls.go) is who is called, and what that does to each operand.
//   - A [Summary] is what a function does to each operand, the fact for other packages (callees.go).
//   - A family is a function with all literals in it: what is analyzed as one.
//   - A graph of locations (points.go, reach.go, flow.go) says what each register of a family may lead to,
//     without regard to order: fields apart, elements of a slice together.
//   - A walk follows one resource through a family, in order: at each point, who may
//     hold it, whether F or the program may have freed it, who may have it besides. It
//     is the only place that knows order.
//   - A [Report] has a [Verdict] for each difference between the texts, and each verdict
//     that is not accepted has a [Reason] with the line that stands in the way.
//
// # The way through
//
//	old, new ── texts.go, same.go, names.go ──► the frees that were put in, taken out, the names made
//	names ── hoist.go ──► what is computed earlier than it was makes no difference
//	new ── load.go ──► go/ssa ── table.go, calls.go ──► graph of locations
//	graph ── infer.go, bodies.go, destroyers.go, clears.go, grown.go, parts.go, read.go ──► summaries
//	files of other builds ── elsewhere*.go, otherwise.go ──► what these do in other builds
//	graph.go, joins.go, order.go ──► points in order
//	each F: freed.go ── walk.go, walk*.go, known.go, learned.go ──► rules ──► verdict     taken out: moved.go
//
// [Check] does that for one package; [SummarizeSource] stops at the summaries. A package's imports are
// summarized before it. Check looks only into bodies that matter for what is edited: where summaries of the
// original are given, the edited ones, as long as these do to their operands what they did; else those as
// well that an edited one leads to by name (memory.go). Asked again with a [Memory], Check does not look into
// what it accepted. One walk goes up to all sites, where those that follow a resource begin (sites.go). One
// that follows a part of what a call makes knows who leads to what this run of it made (instance.go).
//
// # The rules
//
// Each may be switched off for a test ([Input].Without), and TestRules shows of each a wrong free that is
// accepted then. Their arguments are in docs/proof.md and proof-rules.md; this is how they are shown.
//
// Same. On syntax, so that no resolution can hide a difference. What was put in reads through no pointer that
// may be nil, and nothing that a goroutine which may run can reach; its loops call nobody. It names no
// function of the package if functions of the package initialize its variables: what it leads to would come
// first. Comments for tools stay at their declaration. A name that was made for an expression is read once,
// where the expression stood, in the statement or in what another name is made of; what is evaluated before
// it there is on a list of what neither calls, receives, reads through a pointer or a slice, may panic nor
// runs a statement, and no variable is read there that a call might change. Such reads, and what may panic,
// do not pass a call behind them, as compilers may do them late.
//
// Fresh. Some walk gets to F with a resource. Where the callee does not accept nil, a walk with the zero of
// each site does not reach F, and no pointer on the way to the operand may be nil. A defined type is freed as
// that type, by address or as an interface, and as no other that it was converted to.
//
// Dead. Behind F the walk goes on in a phase of F's own; a call, a return, a panic, a send that is reached
// there with the resource, a view or a number of it is a use, and so is reading or writing through it,
// comparing it with an address, in order or distance, too, asking a map that has it as a key, or a table that
// has something at its number, and all that a channel does. Copying the handle is none. What is stored into a
// resource, or into a part of a variable that has it, may make it another one, but for floats, bools and
// elements of 16 bits, which hold no handle. What F may write beside what it frees nobody reads behind it
// before it is assigned anew, whatever F was given there (behind.go).
//
// Readable. go/ssa says which register each expression of the source gave. In F's phase none of them may be
// the resource itself, except in statements that were put in. Constant conditions are not folded.
// The same holds where F is given the constant zero, and frees nothing. What is freed is not named behind F
// either in what go/ssa folds or in literals that nobody calls (readable.go).
//
// Panics, deferred. Deferred calls run in the reverse of the order in which a path registers them; in any
// order, once one of them stands in a loop. What was put in does not panic: it reads through nothing that may
// be nil, and frees what may be freed, or is withheld. What a deferred call got as operands is held by its
// registration. A literal goes back to the exit, or the panic, that ran it. A function comes back from a
// panic only if what it deferred may ask for it, a literal or what nobody looks into here: the language lets
// nobody else end a panic there.
//
// Order. The language leaves open when a statement reads its variables, go/ssa and the compiler differ.
// Behind each call in a statement the registers that it computes, the literals that it builds and its
// method values may have as well what computing them anew would give, and what it reads may be read there;
// nothing is known of them, and no store before the call says what they are.
//
// Callbacks. Of what a literal that may run inside itself has to do with nothing is shown: its registers are
// those of several runs at once. A literal that is returned keeps what goroutines have which it may leave
// behind.
//
// Bodies. Summaries are made callees first. Instances share the summary of what they are made from, in which
// a call through a type parameter is unknown.
//
// Elements. A slice that is returned, or that one field of what is returned leads to, is such memory, and
// its elements are one part with many resources. A container that the callee keeps, appends to for its
// caller, or hands to a goroutine has escaped or is not its own; a slice of it in another result or field is
// a second way there; an element that is an operand, or nil, makes the part one that may be that; one that is
// there twice, or was freed or stored elsewhere, is seen by the walk with it. What a loop over the slice
// leaves out is not freed, which changes nothing. A free of the whole may free elements in a loop that ranges
// over them, once: no two rounds free the same one unless it is there twice, and that the walk sees where the
// free stands. Of elements that are pointers to what was made with its resources elements.go shows it.
//
// Limits. What is too large, an instruction that is not in the table, a panic: withheld.
package proof
