// Package pointsto finds out what the values of a function may hold, whatever the path: a
// points-to analysis of buffers. What becomes of a buffer is not known here. Which variables there are, and
// what uses them, is known in *memory*.
//
// # Words
//
//   - A site is a place of making: a call with an owned result, a value that is begun here, or a parameter,
//     of which the function learns what it does to it ([Site]).
//   - A value is related to what a site makes: it is the handle, a view, a holder that leads to the handle,
//     perhaps the handle, a number or a string that is an address of it, or what needs it and is owned by
//     itself ([Relation]). Other numbers that are read of a buffer say something about it and lead nowhere:
//     an address is what a summary calls a view, what a pointer was converted to, and what is computed of
//     that. An int is a size, an index or a sum, a uintptr a pointer.
//   - An operation is what an instruction does to one operand: read, free, free later, copy,
//     part, wrap, unwrap, return, keep and some more ([Op]). An act is that operation there ([Act]).
//   - What a buffer adopts goes with it when it is freed, and is a view of it ([Site.With]).
//   - A group is sites that one value may hold, and all values that may hold them ([Group]).
//
// A slice or a map whose elements, or parts of these, are freed is a value like a buffer: that is all of them
// ([effect.Free.Each]). So a call may own, view or free it, and it may be a part. What is made here and put
// together is a collection ([memory.Collection]), which is a site: it owns what is put into it if it is known
// what that is, and that all of it is made here, and if one thing in it could not be freed by a name, or it
// leaves as a whole (collection.go). What is put in is a view of the collection from there on ([Put],
// [Hand]). A call may do that as well, to a slice that is in a slot (grown.go). A slice is all of it until it
// is appended to. Other slices and maps are containers: what is in them may come out.
//
// # The table
//
// What an operation means for an operand of each relation stands in one table ([Does]): it is used, ends,
// will end, or a value with a relation of its own is derived. What is not in the table moves: it is not the
// function's any more. A change to what a call does to its operand is one entry there.
//
// # The way through
//
// [Solve] finds the sites: what summaries call owned, and parameters. From each, the uses of what it makes
// are followed, and of what the table derives of that ([Func.Acts] reads an instruction). A value that is
// found from two sites puts them into one group. [Func.Holds] has what was found.
//
// # Variables in memory
//
// One with room for a handle, that only instructions which are understood get at, is a slot: a store makes it
// hold something else. So is each field of a struct, and each element of an array that is set by constant
// indexes only, if that much is true of the whole, and each field of an object: a site makes what is in it,
// or the function was given it. Where a whole struct is loaded, merged, or stored elsewhere, its fields go
// along: those of the value are fields, too. One that a literal captures which goes elsewhere stays a slot if
// it is not assigned behind that: what is in it goes where the literal is handed on. Any other variable holds
// all that was ever stored in it. A literal's summary has its captured variables behind its parameters.
//
// Variables that change places around a loop, as in a, b = b, a, are sites, as a collection is: which buffer
// each has nobody can say, but that each has one (turns.go, [Turn]).
//
// # Literals
//
// What calls a literal that is a view of what it captures reads that, and what it returns may lead there. So
// a function that only calls what it is given borrows that. Functions that the literal is given may get it
// while they run, as those of loops over iterators do: they must borrow it. Of any other literal nothing is
// known but where it is called by its name, or lent. What a variable holds when a literal that assigns it
// returns is what it held, or something that is the caller's from then on: a site of the call.
//
// # Values that are begun here
//
// What is put together here, and freed as a whole by what a line says, is owned from its beginning on, as if
// a call had made it. What is stored in its fields is its own from then on, and moves. Only of such a value
// that does not say that somebody else may have it, and so with methods that do no more than set fields of
// what they are called on: of them a summary says that they fill it ([Act.Fills]). So a constructor's result
// is owned wherever it gives one, and what it gives up half-way is owned there, and not needed.
//
// # Containers
//
// Slices and maps that are made here, and that nobody else gets at before they are returned,
// hold all that was ever put into them: slices that are made of one another are one container.
package pointsto
