// Package taken finds what a function takes out of a channel, or of a slice of its own, and leaves on some
// way: who frees such a thing on one way has to do something about it on each. It reads what pointsto and own
// found of a function; it solves nothing.
//
// # The way through
//
// Something is taken out by an instruction; the values that are the same thing under another type go with it.
// All ways from there are walked until something is done with it: it is freed, put away, or handed on. A way
// that ends before is a loss ([Loss]), if there is another one on which it is freed. Ways on which it is
// nothing are left out, and so is a function that asks one thing twice. A call that is followed by a free on
// all ways, unless it fails, only borrows it, whatever is known of the call.
//
// What is received may be a struct: then what is in its fields is taken out, and beside an error that is not
// nil there is nothing. It may be put into a variable that literals share which the function only calls; and
// a slice in such a variable may be what owns, from where something that was made is appended (shared.go).
//
// So does who takes a reference to something and puts that away, or hands it on, on some way: where the
// function fails before, or a select does not send it, he has to give the reference back (held.go).
//
// What else rooms ask of the uses of one value is here as well (uses.go).
package taken
