// Package own finds out what becomes of the buffers of a function: who owns each, which values are it now,
// and where it is needed. What values may hold at all is known from pointsto, and so is what instructions
// do. Nothing is placed here, and nothing that is found is taken back.
//
// # Words
//
//   - A token is a buffer as the analysis tells them apart: what a site made last, and all
//     that it made before that ([Token]).
//   - A status is what may have become of a token: absent, owned, freed, unsure, moved, pending,
//     passed, given, turned, and holed if an element of it may be nothing ([Status]). Freed is
//     what the program freed where it was due, else that is unsure. Passed is what was due where
//     a statement may stand: the plan frees it there, or it is lost. Given is what a collection
//     has now, which is a token of its own; turned is what a variable has that changes places
//     with others (turn.go). A token is due if it is owned, or absent, and no value that may hold
//     it is needed ([Point.Due]).
//   - A value is a token if it is the handle wherever the token is owned ([Point.Is]); these
//     values give frees their names.
//   - A region is the nodes in which a group is alive ([Group]).
//   - A condition is a key: that a value is not nil, is true, or how two values compare. As
//     values of SSA do not change, the same key has the same answer until one of its values
//     is computed again.
//
// # The way through
//
// [Solve] works group by group, and each step does no more than the group's own region asks:
//
//  1. Liveness of each value, backward from its uses, gives the region, which reaches as
//     far behind as it takes to find a place.
//  2. Up to five conditions of the region are told apart, by one rule: those that sites and
//     acts depend on (the error beside an owned result), merged values of such, and what is
//     tested twice.
//  3. What is needed, for each combination of conditions, is solved backward.
//  4. The state is solved forward: for each combination the status of each token, which
//     values may hold it now, and which are it.
//
// A slot that is given something else by a call holds from there on what the site of that call makes, or,
// where it may keep what it has, both are so, each as on its own way. If that happens any number of times, it
// happens twice: what was made before stands for all that was made in between.
//
// A make moves what the site made before to its older token, with the values that hold it;
// an older token that no needed value may hold is forgotten. At a place, what is due passes.
// That step alone is not monotone: a token that passed on a first visit may turn out to be
// needed, and keeps both. No free comes of it, as the plan reads the state at rest.
//
// Why a free of v frees nothing twice: a value that is needed holds nothing that has passed or is
// freed, since a token passes, and is freed, only where no value that may hold it is needed. Where a
// region is entered again, what was made before counts as passed.
//
// What is put into a collection is the collection's: its token is given, the collection's is owned, all
// that held it views the collection, and the slice that is made is what the collection is (hand.go). Put
// in twice, or where it is not surely owned, it makes the collection one that has moved.
//
// # Four functions on paper
//
//	a := Must(1)          // #0 owned, a is it
//	b := a                // the same value
//	if c {
//		// b is assigned, a is not read again: #0 is due here, and passes
//		b = Must(2)       // #1 owned
//	}
//	// b merges: it is #0 (owned on one edge, passed on the other) or #1 (owned on one edge,
//	// absent on the other). Wherever #0 is owned b is it, and so with #1.
//	b.Use()
//	// both are due, b is both: one free of b
//
//	prev := Must(0)       // #0
//	for range n {
//		// prev is #0, or what #1 was in the last turn
//		b := Must(1)      // what #1 was is #1' now, and prev is it; b is #1
//		both(prev, b)     // #0 and #1' are due: prev is both. They pass
//		prev = b          // around the loop #0 has passed, and nobody holds it; #1' is forgotten
//	}
//	// prev is due on the way out: #0, if there was no turn, or #1
//
//	d := Must(4)          // #0
//	if err := onError(1, d); err != nil { // its summary: arg 1 freed on error
//		return            // told apart by err != nil: freed
//	}                     // owned, and not needed: due on this edge, in an else
//
//	var xs []*Buf         // the collection #1 is absent: there is nothing in it
//	for range n {
//		b, err := Make(1) // #0 owned
//		if err != nil {
//			return        // #1 is absent or owned, and xs is it where it is: a loop frees all in xs
//		}
//		xs = append(xs, b) // #0 given, #1 owned. b views #1; what xs was before is #1 no more, xs is
//	}
//	xs[0].Use()           // the element views #1
//	// #1 is due: a loop frees all in xs
package own
