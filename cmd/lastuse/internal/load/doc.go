// Package load reads Go packages and runs the analyzer over them.
//
//	Load       patterns → a Program: the packages that the user asked for and all that they import,
//	           parsed and type-checked; of the standard library the types alone
//	Analyze    a Program → a Unit for each package that the user asked for
//
// A text is read once in a run, so that a package, its variant with tests and the edits are about one
// text of each file. What keeps one package from being analyzed is an error of its own.
//
// What else the tool has to know of modules, workspaces and the settings of the go command is read
// from their files: [DependencySpecs], [Workspace], [GoFlags].
package load
