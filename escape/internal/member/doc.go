// Package member says which fields of structs own, by all that a package stores there, and what methods
// forget or lose of that. It reads what pointsto and own found of each function; it solves nothing.
//
// # The way through
//
// What ends values of a type is the method that a line says frees them, or the one that frees most of
// their fields, or that counts references down, with the methods of the type that it calls. A field that owns
// is forgotten if none of these frees it or hands it on, and no other method without operands does; and it is
// forgotten where another field is nil if all of its frees stand behind a test of that one, while some
// function makes it for a new value and leaves the other alone. So is one whose methods fill it, if it is
// never ended: none of them is called that takes nothing else, and may do that.
//
// It does not own what who put it there frees himself, on all ways behind that, or lets others free; and none
// is forgotten that somebody frees who was given the value, and leaves the rest of it to what ends it
// (freedin.go).
//
// So is a channel with room for things that are sent there, if what ends the value, or is named so, neither
// receives nor hands it on, to close among others. It is lost if it is given another channel, and no method
// that is called there receives.
//
// So is a map in a field, or in what is given to functions that put something there which is its own then:
// what they made, or took a reference to (items.go).
//
// What ends a value, and returns where the free of one field fails, leaves the fields that it frees behind
// that (stopped.go).
//
// A method that gives all fields something else but one, and frees what some had, forgets that one, if what
// ends the value frees it (renewed.go).
//
// An item of a slice in a field that some method frees is lost if it is given something else, and was used
// just before. And who frees what such a field has before he takes a reference to what comes may free just
// that, if both are one: that is said unless he compares them (replaced.go).
//
// What methods forget or lose is read off all stores of the package and what the type's methods do to its
// fields (fields.go, method.go): a field owns if all that is stored there was made by who stores it, and goes
// nowhere else.
package member
