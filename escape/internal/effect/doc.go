// Package effect says what calls do to buffers: summaries, their algebra, their text,
// what a line of a spec says as one, and which function frees a value of a type. It
// knows types, and nothing of the form in which functions are analyzed.
//
// # Words
//
//   - A summary says what a function does to each parameter, the receiver first, and
//     what each of its results is ([Summary]).
//   - A parameter is borrowed, unless it is freed (the call releases its buffer),
//     escapes (it may be kept, nothing is known about it any more), or is retained (one
//     more free is owed). A slice that escapes may grow: it is only appended to, and how is known ([Takes]).
//   - A result is nothing of anybody, unless it is owned (the caller must free it), views
//     a parameter (shares its memory), tells it (has its address as a number or a string),
//     shows it (has a number or a string that is in it, which is an address if that is) or
//     is one.
//   - A part of an operand, or of a result, is a field of it, or of what it points to ([Part]).
//     What nothing is said of is as the whole is.
//   - A slice or a map of what is freed, or of structs with parts that are, is freed with all that is in it,
//     in a loop ([Free.Each]). What is said of one, or of a part that is one, is said of its elements.
//   - A condition says on which calls an effect happens ([When]).
//   - A free is a function that releases a value of a type, as a spec says, or as was found of
//     a method of the package ([Frees], [Found]).
//
// # The way through
//
// Summaries of one function are joined ([Join]) as more is seen of it, or of what else a
// call may run, and only get worse: a condition that differs becomes maybe, effects add
// up, and ownership stays only where both have it. The worst is unknown: every parameter
// escapes. [Of] makes a summary of what a spec says, over what is inferred.
//
// The text of a summary is a spec's, with some words more: "maybe" ends a clause that happens on some calls,
// "or nil" follows an owned result that may be nothing, and an operand that may be nil, "with holes" a result
// with elements that may be, "if result N is true" one that is owned as far as the last result, a boolean,
// says so, "recv.a.b" is a part of the receiver, a result "tells" or "shows" an operand, "grows" is a slice
// that is appended to, "filled" is what escapes only as its fields are set, "turned" as these change places,
// and a summary without clauses is "borrows". [Parse] reads what [Summary.String] writes.
//
// A type whose free was found is made of parts. Its values are one thing where a call gave them, and
// their parts where they are put together, or taken apart: the free says of both what it does.
//
// Where the last result is an error, a result is owned only as far as that is nil, unless it is so "whatever
// the error".
package effect
