// Package ir is the form that the analysis of ownership runs on: SSA of
// golang.org/x/tools/go/ssa, in which every place for a statement can be seen. It
// knows no summaries and no ownership; which types are worth following is told to it.
//
// # Words
//
//   - A place is a point in the source where a statement may be inserted: in a list
//     of statements, or in an else or default that is not written ([Place]).
//   - A head is a place in the header of a loop, behind what it starts with: names in front
//     of the loop make it one. Which loops allow that is told as well.
//   - A mark is a call in the SSA of a place that names a variable and has the value
//     that it holds there as its operand ([Mark]).
//   - A cell is a variable that SSA keeps in memory, since its address is taken or a
//     literal captures it. The operand of its mark is a load of the cell.
//   - A node is a part of a block at whose end alone a panic may leave it ([Node]); nodes
//     and the edges between them are the flow of a function ([Graph]).
//   - An edge of a branch is forced if no place is on it alone: what is due on it is
//     due where edges meet ([Forced]).
//
// # The way through
//
// go/ssa drops what a rewriter needs: where statements may stand, the edge that no else
// has, the names of variables. [Build] keeps them by building SSA of a copy of the
// syntax. Each place of the copy has a statement of its own, with one call
//
//	gap.place(n)
//
// and one call gap.x(n, x) for each variable x that may hold something else than at the
// mark before; gap is a package of functions without bodies, one for each variable.
// Calls are never merged, moved or dropped by go/ssa, so that an else that is not
// written has a block as soon as it has a call. [Verify] checks what is built, and
// [Print] shows it.
//
// The copy is not type-checked. Nodes in which a place lies are copied, all others are
// shared with the pass, among them every identifier, so objects, facts, cgo's names and
// instances of generics stay the pass's. The copies' and calls' entries are added to
// copies of the maps of [types.Info]; neither the pass's syntax nor its Info is changed.
// What cgo made of a call stands in the copy as it stands in the text: see package cgo.
//
// Marks are sparse. A variable is marked behind each statement that assigns it, where
// the paths of a statement that assigns it meet again or come round, and where its
// function begins. Between marks it holds what it held, so the value of x at a place is
// that of the nearest mark of x that dominates it ([Package.Value]), and marks grow with
// the number of assignments and not with places times variables. A label that a goto leads
// to counts as an assignment of all that is assigned again anywhere.
//
// Reads that go/ssa drops are marks, too, at the place in front of their statement: of _ = x,
// and of x in y = x, where nobody may look at y again ([Package.Reads]).
//
// # Where there is no place
//
// Between a label and its loop, switch or select; behind a statement that does not
// complete; in initializers of the package; in a select for a default that is not
// written, since that would change what it does; between the operands of && and ||,
// between tests of cases, and where a loop ends by its condition. The last three make
// forced edges. The place between the results of a return and the return has no mark:
// it is the ssa.RunDefers or ssa.Return itself.
//
// # Panics
//
// go/ssa has no edges from what may panic to what is deferred. [Package.Graph] adds them:
// a node stands for the deferred calls that a panic runs, and leads to the block that
// go/ssa makes for a function that recovers. What may panic before anything is deferred
// has no such edge, as nothing of the function runs any more.
//
// Marks in a function literal, or in the body of a range over a function, name only
// variables that it mentions itself: naming one makes a cell of it.
package ir
