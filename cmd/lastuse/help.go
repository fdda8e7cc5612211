package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/escape"
)

// A topic explains one category of findings.
type topic struct {
	short string
	long  string
}

var topics = map[string]topic{
	escape.CategoryUnfreed: {
		"a buffer that never leaves its function is never freed",
		`
The function makes a buffer, nothing outside the function can reach it, and no
path frees it. Its memory stays taken until the collector happens to run.

	b, err := alloc.Make[float32](s, n)    // unfreed
	if err != nil {
		return err
	}
	scale(s, b)
	report()                               // b is dead here, and still there

The fix frees the buffer after its last use, on every path: here before report.
If the buffer must live longer for a reason that the program does not show, say
so at the end of the line:

	b, err := alloc.Make[float32](s, n)    //lastuse:keep the driver reads it until Close
`},
	escape.CategoryLeak: {
		"some path neither frees a buffer nor hands it on",
		`
One path frees the buffer, or returns it, or stores it; another, often the one
that returns an error, does neither. Overwriting the only variable or field that
holds a buffer counts, and so does a destructor that forgets a field.

	a, err := alloc.Make[float32](s, n)
	if err != nil {
		return err
	}
	b, err := alloc.Make[float32](s, n)
	if err != nil {
		return err                         // leak of a
	}
	defer a.Free()

The fix inserts the missing frees on those paths only.
`},
	escape.CategoryLate: {
		"a buffer is freed long after its last use",
		`
The buffer is freed, but between its last use and the free there is a loop or a
call that allocates or blocks; or the free is deferred inside a loop, so that
one buffer more is held in each round.

	for _, job := range jobs {
		b := load(job)
		defer b.Free()                     // late: all of them live until the end
		run(b)
	}

A free that is not deferred is moved. For a deferred one the fix adds an early
free where freeing twice is harmless; elsewhere the finding has no fix.
`},
	escape.CategoryDoubleFree: {
		"a buffer is freed twice on some path",
		`
Both frees can be reached one after the other, and the type does not promise
that freeing again is harmless (in a spec: freed, not freed repeatable). The
second free may release somebody else's memory.

The finding stands at the second free. There is no fix: which of the two is
wrong, only you know.
`},
	escape.CategoryUseAfterFree: {
		"a buffer, a copy or a view of it is used after it was freed",
		`
The memory may belong to another buffer by then.

	v := b.View(0, 16)
	b.Free()
	sum(v)                                 // use-after-free

The finding stands at the use. There is no fix: move the free below the use, or
drop the use.
`},
	escape.CategoryKeepAlive: {
		"a raw pointer is used after the last use of its buffer",
		`
A raw pointer does not keep its buffer: once the buffer is not mentioned any
more, the collector may free it while foreign code still works at the address.

	p := b.Ptr(s)
	C.launch(C.uintptr_t(p))               // keepalive: b may be gone

The fix frees the buffer after the use of the pointer, which keeps it until
then, or inserts runtime.KeepAlive where it is not ours to free.
`},
}

// help prints the manual, or what a category means.
func help(stdout, stderr io.Writer, args []string) int {
	if len(args) == 0 {
		fmt.Fprint(stdout, usage)
		fmt.Fprint(stdout, "\ncategories:\n")
		for _, name := range escape.Categories {
			fmt.Fprintf(stdout, "  %-16s %s\n", name, topics[name].short)
		}
		return exitClean
	}
	for i, name := range args {
		if !slices.Contains(escape.Categories, name) {
			fmt.Fprintf(stderr, "lastuse: help %s: want one of %s\n", name, strings.Join(escape.Categories, ", "))
			return exitError
		}
		if i > 0 {
			fmt.Fprintln(stdout)
		}
		fmt.Fprintf(stdout, "%s: %s\n%s", name, topics[name].short, topics[name].long)
	}
	return exitClean
}
