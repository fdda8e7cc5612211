// Package place says where buffers are freed, after all is known of what is owned and
// needed where. Nothing that it finds changes that.
//
// # Words
//
//   - A token is due at a point if it is owned or absent there and not needed any more.
//   - A run is the points of a node, one behind the other, at which a token is due. It
//     begins where the node does, or behind what used the token last.
//   - A spot is where a free may stand: a place of the form, or the moment between the
//     results of a return and the return; and a name of what holds the token there, and
//     nothing that is not due, too ([Free]).
//   - A run is open if its token may be owned at its end, and no free stands before.
//
// # The way through
//
// [Plan] takes one group at a time. A free stands at the first spot of each run that begins
// in its node, and of each that begins with its node if the runs before it are open. Where
// runs meet, one of them open and another not, the one that is not is opened, as is all
// that it stands on: what is due on an edge without a place is due where edges meet. That is
// asked of all tokens together, since one name may hold several. It
// only ever opens runs, so it comes to rest, and the frees that are left stand once on
// each path.
//
// What is due where ways meet, and has passed on some of them while others needed it or had no place, is
// freed there by the name of what makes it, whatever the way; the spots before go, unless they free something
// else as well.
//
// A run behind deferred calls has no spot. If such calls read the token, its free is deferred in front
// of them all, so that it comes behind them: where nobody ends the token from there on, and where it has
// been made anew whenever the spot is met again. Where they read what a variable holds by then, a literal is
// deferred that frees that: where it is due at each end of the function.
//
// What is due right behind the call of a literal goes inside, where that needs it last ([Inside]).
//
// Of what is due inside of a statement, its spots say since when ([Since]): if the text comes to have room
// there, one free is enough.
//
// Where no variable holds the token at a place, a name may be made for what a call gives, for what a
// header gives its variable, or for what a variable holds at a place before, that in front of a statement
// which gives it something else among them ([Name]). What can be written
// is asked of the text ([Text]).
//
// [Lates] plans a group again as if the program freed nothing of it, and walks from each free of that plan to
// the program's own: what lies between may make that late ([Cause]).
//
// A variable that may hold several tokens frees them all, so they must be due at one spot, and be freed
// there; a token that would be freed with one that is not is freed by names that hold it alone, or withheld
// as a whole.
package place
