// Package tui is memwatch's terminal interface: processes, their call sites, one
// site's stack, and the sites that may be leaks.
//
// # Structures
//
//	Model    what is shown and chosen; it changes only by messages
//	Frame    the message that brings new numbers
//	column   of a list: its text, its colour, its order, and when it gives way
//
// # Way in
//
// [Run] asks a source for a [Frame] again and again, in the source's own goroutine's
// time, and gives it to the Model. Keys are those of top and htop.
//
// # Way out
//
// Model.View is a function of the Model alone, so that the tests feed it messages and
// compare what it shows. All text of other processes passes through the render
// package's Clean.
package tui
