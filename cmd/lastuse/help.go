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

// specTopic explains how effects of functions are written down.
var specTopic = topic{
	"effects of functions, written by hand",
	`
What a function does to buffers is inferred from its body. Where there is none
that can be seen (C, assembly, interfaces), or it is not to be trusted, a spec
says it: in lastuse.spec beside go.mod, in files named with -spec, or, without
the name, in the doc comment of the function after //lastuse:effect.
One function a line, # starts a comment:

	github.com/x/cv.NewMat           result 0 owned
	(*github.com/x/cv.Mat).Close     recv freed
	(*github.com/x/cv.Mat).Region    result 0 views recv
	github.com/x/cv.Blur             arg 0 borrowed, arg dst borrowed
	(*github.com/x/cv.Stack).Push    arg 0 escapes
	github.com/x/cv._Cfunc_Mat_*     args borrowed

An operand is recv, arg N (from 0), arg NAME, args or result N. An effect is
	owned              a result that the caller must free
	freed              the call releases the operand; freed repeatable: twice is harmless
	borrowed           used during the call only
	views OPERAND      a result that aliases the operand and keeps it in use
	is OPERAND         a result that is the operand itself
	retained           borrowed, and one more free is owed (reference counts)
	escapes            may be kept: nothing is known any more
A clause may end in: if arg N is true, if arg N is false, on success, on error.
A name may end in *: such a line is taken to say nothing of results without a clause,
and those that can lead to memory may view what is borrowed; an exact name beats it.
The lastuse.spec of a module that you import holds, too, for that module's own
functions. -spec beats a directive, that your lastuse.spec, that the one of the
function's module, that what comes with lastuse, and that what is inferred.
lastuse -spec-check compares specs with the code. Where two files named with
-spec say different things of a function, that is said with both lines, and
nothing that it makes or frees is edited.

Specs of these come with lastuse:
	gocv.io/x/gocv                    github.com/apache/arrow-go/v18
	github.com/yalue/onnxruntime_go   github.com/sugarme/gotch
	github.com/linxGnu/grocksdb       github.com/cogentcore/webgpu
	github.com/gomlx/gopjrt           github.com/stretchr/testify
and of the standard library and lastuse's own alloc.
`,
}

// help prints the manual, or what a category means.
func help(stdout, stderr io.Writer, args []string) int {
	if len(args) == 0 {
		fmt.Fprint(stdout, usage)
		fmt.Fprint(stdout, "\ncategories:\n")
		for _, name := range escape.Categories {
			fmt.Fprintf(stdout, "  %-16s %s\n", name, topics[name].short)
		}
		fmt.Fprintf(stdout, "\nalso: help spec, about %s\n", specTopic.short)
		return exitClean
	}
	for i, name := range args {
		t := topics[name]
		switch {
		case name == "spec":
			t = specTopic
		case !slices.Contains(escape.Categories, name):
			fmt.Fprintf(stderr, "lastuse: help %s: want one of %s, spec\n", name, strings.Join(escape.Categories, ", "))
			return exitError
		}
		if i > 0 {
			fmt.Fprintln(stdout)
		}
		fmt.Fprintf(stdout, "%s: %s\n%s", name, t.short, t.long)
	}
	return exitClean
}
