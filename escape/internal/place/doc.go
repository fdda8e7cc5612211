// Package place says where buffers are freed, after all is known of what is owned and
// needed where. Nothing that it finds changes that.
//
// # Words
//
//   - A token is due at a point if it is owned or absent there and not needed any more.
//   - A run is the points of a node, one behind the other, at which a token is due. It
//     begins where the node does, or behind what used the token last.
//   - A spot is where a free may stand: a place of the form, or the moment between the
//     results of a return and the return; and a variable that is visible there and holds
//     the token, and nothing that is not due, too ([Free]).
//   - A run is open if its token may be owned at its end, and no free stands before.
//
// # The way through
//
// [Plan] takes one token at a time. A free stands at the first spot of each run that begins
// in its node, and of each that begins with its node if the runs before it are open. Where
// runs meet, one of them open and another not, the one that is not is opened, as is all
// that it stands on: what is due on an edge without a place is due where edges meet. That
// only ever opens runs, so it comes to rest, and the frees that are left stand once on
// each path.
//
// A variable that may hold several tokens frees them all, so they must be due at one spot;
// a token that would be freed with one that is not is withheld as a whole.
package place
