// Package vars reads the syntax of a package once and says of each variable what is done with
// it where: declared, assigned, captured, addressed, deferred, read.
//
// A [Use] is one identifier that denotes a variable, and what is done with it or with the part
// of it that stands around the identifier: in "x.f[2] = y" the use of x assigns the element of a
// field. The steps from the variable to that part are kept as [Part]. A step through a pointer, a
// slice or a map leaves the variable's own memory: the use is then deep, and what is assigned or
// addressed is something that the variable leads to.
//
// [New] walks each file once and keeps its uses in the order of the source, with the innermost
// function literal and the innermost defer or go statement around each. While it does, it counts
// for each variable what most questions need, so that those are answered in constant time. The
// others look at the uses of one variable, or at those in one piece of the source, which a binary
// search finds. Nothing is known here of what functions do to their operands.
//
// Who asks what:
//
//	Fixed      holds for good what it got where it was declared
//	Once       gets its value in one place
//	Changes    may be assigned behind the back of the function that declares it
//	Shared     is known to literals or pointers, so that a call may assign it
//	Header     is declared by the header of a loop, so that iterations share it
//	Elements   is an array that is used by constant indices alone
//	Steady     is found by deferred code as a panic left it
//	Assigns, AssignsOuter, Outer, Reads, Around: what is in a piece of the source
package vars
