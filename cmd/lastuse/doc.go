// Lastuse reports foreign buffers that are freed late, twice or never, and
// rewrites the source so that each is freed at its last use.
//
// Usage:
//
//	lastuse [flags] [packages]
//	go vet -vettool=$(which lastuse) [flags] [packages]
//
// Without flags it reports. A finding is one line, file:line:col: category:
// message, and below it the way that the buffer went and the fix. With -fix it
// rewrites the files in place; with -diff it prints the same changes as a patch
// for git apply and writes nothing; with -explain it tells for every buffer where
// it is freed, or why it is not; with -json it prints the tree of go/analysis.
//
// What is wrong is printed first, then what is wrong in tests, then what is only
// freed late, each by files and lines.
//
// The exit status is 0 if all is well, 3 if there are findings (with -fix:
// findings that remain; with -diff: if the patch is not empty) and 1 if something
// went wrong: a package does not type-check, a spec has a bad line, a file cannot
// be written. What could be done is done all the same.
//
// # Flags
//
//	-fix             free each buffer at its last use, in place
//	-diff            print what -fix would change, write nothing
//	-explain         every buffer: freed where, or kept why; with -json as JSON
//	-json            findings as JSON, nothing else on standard output
//	-sarif FILE      write findings for code scanning to FILE as well
//	-spec FILE       read effects of functions from FILE; may be repeated
//	-spec-check      compare the specs with the code that they name, and stop
//	-skip CATEGORY   leave a category out; may be repeated
//	-tags LIST       build tags; repeated, the packages are looked at with each
//	                 set, and an edit is made if all that see the code agree
//	-test=false      leave test files out
//
// # What -fix promises
//
// The edits of a function are made together or not at all. The files of a folder
// are edited in memory first, parsed again and type-checked again; a function
// whose edits do not survive this is left as it is and named. Then the files of
// the folder are replaced together, each by a complete new file that takes its
// name: whatever happens, a file is either old or new. It keeps its permissions,
// its line ends, its comments and, outside the edits, its layout. Generated files
// are not touched, nor are files that changed since they were read.
//
// # Under go vet
//
// Each package is analyzed by itself, answers are cached, and the specs are part
// of the tool's version, so that an edited spec is never answered from the
// cache. -spec is given as for the command. -fix, -fix -diff and -json are those
// of go vet: each fix stands alone, and the promises above are not made.
package main
