// Package find says what is wrong with the buffers of a function. It reads the states that own left at rest,
// and what place made of them; it solves nothing, and finds no words.
//
// # Words
//
//   - A finding is a kind, a site, and the places that its words need ([Finding]).
//   - An occasion is what happens to a token at a moment: nothing needs it any more, a call reads it, a call
//     frees it, a call is deferred that will, it is returned ([Occasion]).
//
// # The table
//
// What a token that is in some state means on an occasion stands in one table: a kind of finding, or nothing.
// Only what is so on all ways that lead to the occasion is found: a token of which own knows on one way that
// it is owned, and on another that it is freed, is nobody's fault yet. An operand counts if it is the token
// wherever that is gone ([own.Meeting.Sure]): what perhaps holds it does not.
//
// # The way through
//
// A site that place found due is never freed, or, if the program frees it or hands it on anywhere, leaks on
// some path. It is kept alive by a raw pointer alone if something reads it through one, and behind that
// nothing needs it but what goes through such. All else is read off the acts at each moment, in front of
// which own's states stand. Each line has one finding of a kind and a site.
//
// A map loses what it has under a key that is deleted, or given something else at once, if nothing was done
// with what is in there (dropped.go). What is freed on some ways only by the one call that frees it leaks.
//
// A value that is put together here, and given up before the function hands it on, leaks what is in it.
// That is said where it is given up, if something that was surely owned was put into a field of it, or into
// a slice, a map or a struct there, on all ways to that place or by an earlier turn of a loop, and what frees
// such values looks at that field, or nobody ever ends what is there (begun.go; what is put where is known
// from *fill*). With nothing in it, or with what the function was given, it is nobody's loss.
//
// So does a variable that calls fill which are given its address (filled.go), and a slice or a map that
// goroutines fill, or that has structs with what was made, if nothing is taken out of it (heap.go).
//
// What is received from a channel, or stands in a slice of the function's own, and is freed on some way,
// leaks on one on which nothing is done with it (room *taken*).
//
// What is given to calls of which nothing is known, and put away as the function's own behind them, leaks
// where the function fails in between (lent.go).
//
// What a call through an interface returns leaks, if some types make it for the caller, others lend it, and
// nothing is done with it than to look (some.go).
//
// What a function makes or has from its caller it must not retain more often than it keeps it (counted.go).
// A deferred call that would free what a variable has frees nothing if that is filled behind it (empty.go).
//
// What a helper puts into a field of a parameter leaks where it fails behind that, if who calls it frees it
// only where it does not (filled.go).
package find
