// Package render turns snapshots of the heap into text: tables for people, JSON,
// folded stacks and pprof profiles for tools.
//
// Names, paths and messages in a snapshot were chosen by the processes that were
// watched, and may be made to deceive. Everything that goes to a terminal or into a
// line-based format passes through [Clean] or one of its stricter kin; there is no
// other way out.
package render
