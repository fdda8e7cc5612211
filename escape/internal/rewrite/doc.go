// Package rewrite makes edits of a text from what is to be done: a statement at a place, a name for
// what an expression makes, a statement that goes.
//
// Words. A [Place] is where a statement may stand: in a list, in an else or a default that is not
// written, between the evaluation of a return's results and the return. A [Hoist] gives names to
// expressions of one statement: they are evaluated in front of it, with all that is evaluated before
// them, so that nothing changes places. A [Source] is the text of a file.
//
// The way through, for one function:
//
//	NewFunc              one walk over its syntax: what each node is part of, names, labels
//	Hoists.Call, Header, Head
//	                     a name for the result of a call, for what the header of a statement gives
//	                     its variable, for what a loop starts with; or why there can be none
//	Package.Visible, Denotes, ImportName
//	                     what a name means at a place
//	Func.Edits           statements at a place, as edits that keep comments and indentation
//	Source.Hoist         a hoist whose statement is not edited otherwise
//	Func.TakenOut, Source.Removal
//	                     frees of the program that go, with tests of which they leave nothing
//	Sort, Source.Apply, Source.Parses
//
// Nothing is known here of buffers, owners or paths: that a statement may stand at a place, and that
// it does there what it should, is for others to say. What cannot be written is refused with the reason.
package rewrite
