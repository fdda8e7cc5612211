// Package apply changes the user's files as the analyzer wants it.
//
// The edits of one function are a [Change]: all of them are made, or none. The changes to the files
// of one folder are a [Group], whose files are written together or not at all, and all groups of a
// run are a [Plan]. The way through:
//
//	Collect            edits → changes; what cannot be edited is refused, with the reason
//	Group.Settle       changes → an Output for each file: it parses, type-checks in every set of
//	                   build tags, keeps its comments, is formatted if it was
//	Patch, WriteAll    an Output as a patch, or on disk
//	Moved              where lines of the old files are in the new ones
//
// A change is refused, and never mended: [Change].Refused says why. For files that import "C" the
// edits are made for cgo's translation and then found in the user's file, whose statements are
// compared with those of the translation.
package apply
