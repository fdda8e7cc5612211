// Package spec reads effects of functions that were written down by hand: what a
// function does to its receiver, its arguments and its results.
//
// # Structures
//
//   - A [Clause] is one statement about one [Operand] of a function: an [Effect]
//     such as freed or borrowed, perhaps under a [Cond].
//   - A [Line] is a function's name, or a glob, with its clauses.
//   - A [File] is the lines of one spec file, in order.
//   - A [Set] is what several files and directives say together, by [Level].
//
// # The grammar
//
// A file has one function a line; # starts a comment. In order of generality:
//
//	LINE      NAME CLAUSE { "," CLAUSE }
//	CLAUSE    OPERAND EFFECT [ CONDITION ]
//	OPERAND   recv | arg N | arg NAME | args | result N
//	EFFECT    owned | freed [ repeatable ] | borrowed | views OPERAND |
//	          is OPERAND | retained | escapes
//	CONDITION if arg N is true | if arg N is false | on success | on error
//
// A NAME is what [FullName] returns, or the beginning of one followed by a star. A variable of a package that
// holds a function goes by such a name, too: the line says what is in it does, whoever assigns it.
// Arguments and results count from 0; the receiver is not an argument. Clauses
// add up: "result 0 owned, result 0 views arg 0" is a header that the caller
// must free, that keeps the argument in use until then, and does not free it.
//
// The same clauses stand in a doc comment, without the name:
//
//	//lastuse:effect result 0 owned
//	func NewMat() Mat
//
// # The way in
//
// [Parse] turns a file into Lines and reports every error it finds, each as
// file:line: message. [Directives] does the same for the comments of a Go file.
// [Load] makes the Set of a module: files named by the user, lastuse.spec at the
// module root, and the embedded lines for the standard library. A [Loader] adds
// lastuse.spec of the module that a package belongs to, if that is another: it
// speaks of that module's functions, for all who import them.
//
// # The way out
//
// [Set.Lookup] answers for one function by its FullName. The highest level that
// has a line for the name decides alone: a line replaces lower lines, it does
// not add to them. Inside one level an exact name beats a glob, a longer glob
// beats a shorter one, and of equals the first read wins.
// [Set.Freers] lists the functions of a package that free something, in the
// same order: the first whose operand has the type of a value frees it.
//
// # Invariants
//
//   - A Set is safe for readers on several goroutines as soon as nobody adds to
//     it any more.
//   - A Line of which two files of one level say different things is torn: nothing is known of its functions,
//     and nothing is freed by one ([Set.Torn]).
//   - A Line that Parse returned has at least one clause, and each clause makes
//     sense for some signature. Whether it does for the function that it names,
//     [Check] tells.
//   - What Clause, Operand and Cond print is what Parse reads.
//
// # Compatibility
//
// The grammar only grows. A spec names functions of many versions of a library:
// lines for functions that are absent are no error.
package spec
