// Package memory finds the variables that a function has in memory, the slices, maps and objects that it
// knows of, and all that leads to them: which instructions use what. What is in them is not known here.
//
// # Words
//
//   - A slot is a variable in memory that is as good as a value ([Func.IsSlot]).
//   - A field is a slot in a larger variable or an object, or the same part of a value ([Field]).
//   - A variable of a type whose free was found is built if its parts are followed, else it is a slot.
//   - An object is what a pointer leads to that a call returned, or a parameter is, if it has
//     parts that could own (object.go).
//   - A value is begun if its fields are set one by one, in its package, and a line says what frees it as a
//     whole ([Func.Begins]). A literal of such a type in another package is a frame ([Func.Frame]).
//   - A container is slices that may share elements, or a map ([Container]).
//   - A collection is slices that are made of one another, or a map, which own what is in them
//     ([Collection]). Who finds it makes it known.
//   - The origin of a value is the slot, the container or the variable that it is an address in, else the
//     value ([Func.Origin]). An operand reaches an origin as that, as a part of it, or with it as its
//     part ([Reach]).
//   - What a deferred call has been given, in all turns of a loop, is a value of its own ([Deferred]).
//   - What the goroutines that one group waits for have been given is a value of its own ([Running]).
//   - A result lies in a variable while deferred calls run: a pointer there is as good as returned
//     ([Func.Results]). An undo is a deferred literal that frees what a variable has if the error that
//     is returned is not nil ([Func.Undoes]).
//   - Variables that change places around a loop are phis that turn ([Turning]).
//
// # The way through
//
// [New] finds the objects; all else is found when it is asked for, and kept. [Func.Users] lists what uses an
// origin, by any address and in any literal, which is what *pointsto* follows.
//
// # Literals
//
// A literal, or a method value, that only reads what it captures is a view of that, wherever it goes, if what
// it captures is not assigned any more while the literal is there ([Func.LooksAt]). One that assigns what it
// captures is known if nobody else can run meanwhile who knows the variable: all literals that capture it are
// only called by their names, lent, or deferred and do not assign it. A literal is lent if it is given to a
// function that only calls it, before it returns and on its goroutine: how often, its summary says
// ([Func.RunsOf]). What it puts there is a value ([Assigned]), and so is what a slot held before it was given
// something else ([Former]), which nobody reads: it gives frees a name.
package memory
