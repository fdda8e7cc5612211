// Package vars reads the syntax of a package once and says of each variable what is done with
// it where: declared, assigned, captured, addressed, read.
//
// A [Use] is one identifier that denotes a variable, and what is done with it or with the part
// of it that stands around the identifier: in "x.f[2] = y" the use of x assigns the element of a
// field. A step through a pointer, a slice or a map leaves the variable's own memory: the use is
// then deep, and what is assigned or addressed is something that the variable leads to.
//
// [New] walks each file once and keeps its uses in the order of the source, with the innermost
// function literal around each. Questions look at the uses of one variable, or at those in one piece of
// the source, which a binary search finds. Nothing is known here of what functions do to their operands.
//
// Who asks what:
//
//	Shared            is known to literals or pointers, so that a call may assign it
//	In, ReadIn, Reads what is in a piece of the source
//	Around            in which literal it stands
package vars
