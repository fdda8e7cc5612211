package escape

import (
	"fmt"
	"strings"
)

// growthShapes generate one function, grow, of about n statements each, with few buffers alive at once.
var growthShapes = map[string]func(n int) string{
	// One after the other.
	"straight": repeated("grow()", 3, "b%[1]d := Must(%[1]d)\nb%[1]d.Put(b%[1]d)\nprintln(%[1]d)\n"),
	// All of them held by one variable in turn.
	"one variable": func(n int) string {
		return repeated("grow()", 3, "b = Must(%[1]d)\nb.Put(b)\nprintln(%[1]d)\n", "var b *Buf\n")(n)
	},
	// Made with an error that is tested, used in a branch.
	"errors": repeated("grow(c bool) error", 7, "b%[1]d, err := Make(%[1]d)\nif err != nil {\nreturn err\n}\nif c {\nb%[1]d.Put(b%[1]d)\n}\nprintln(%[1]d)\n"),
	// Used on some paths.
	"branches": repeated("grow(c bool, x int)", 10,
		"b%[1]d := Must(%[1]d)\nif c {\nb%[1]d.Put(b%[1]d)\nprintln(%[1]d)\n} else if x > %[1]d {\nprintln(1)\n}\nswitch x {\ncase %[1]d:\nprintln(2)\ncase 7:\nb%[1]d.Put(b%[1]d)\n}\n"),
	// In loops, and loops between.
	"loops": repeated("grow(x int)", 8,
		"b%[1]d := Must(%[1]d)\nfor i := range x {\nt := Must(i)\nb%[1]d.Put(t)\nif i > %[1]d {\nbreak\n}\n}\nfor range x {\nprintln(%[1]d)\n}\n"),
	// Two that change names in a loop.
	"swaps": repeated("grow(x int)", 6,
		"a%[1]d, b%[1]d := Must(%[1]d), Must(2)\nfor range x {\na%[1]d.Put(b%[1]d)\na%[1]d, b%[1]d = b%[1]d, a%[1]d\n}\na%[1]d.Put(a%[1]d)\nprintln(%[1]d)\n"),
	// Freed by the program, late and on time.
	"freed": repeated("grow(x int)", 8,
		"b%[1]d := Must(%[1]d)\nb%[1]d.Put(b%[1]d)\nb%[1]d.Free()\nd%[1]d := Must(%[1]d)\nd%[1]d.Put(d%[1]d)\nfor range x {\nprintln(%[1]d)\n}\nd%[1]d.Free()\n"),
	// Freed on one path.
	"leaks": repeated("grow(x int)", 5,
		"b%[1]d := Must(%[1]d)\nif x == %[1]d {\nb%[1]d.Free()\n}\nprintln(%[1]d)\n"),
	// Under deferred calls that read and free buffers of their own.
	"deferred": repeated("grow(c bool) error", 5,
		"b%[1]d, err := Make(%[1]d)\nif err != nil {\nreturn err\n}\nb%[1]d.Put(held)\nprintln(%[1]d)\n",
		"held, freed := Must(1), Must(2)\ndefer freed.Free()\ndefer func() { held.Put(held) }()\n"),
	// Read by returned expressions.
	"returns": repeated("grow(x int) int", 4,
		"b%[1]d := Must(%[1]d)\nif x == %[1]d {\nreturn b%[1]d.Len()\n}\nprintln(b%[1]d.Len())\n"),
	// Without names: what is nested gets one.
	"temporaries": repeated("grow()", 2, "Must(%[1]d).Put(Must(%[1]d))\nprintln(%[1]d)\n"),
	// Put into local slices.
	"slices": repeated("grow()", 5,
		"s%[1]d := []*Buf{Must(%[1]d), Must(1)}\ns%[1]d = append(s%[1]d, Must(2))\nfor _, x := range s%[1]d {\nx.Put(x)\n}\nprintln(%[1]d)\n"),
	// In structs, and through pointers to them.
	"structs": repeated("grow()", 4,
		"t%[1]d := pair{a: Must(%[1]d), b: Must(1)}\nt%[1]d.a.Put(t%[1]d.b)\nq%[1]d := &pair{a: Must(%[1]d)}\nq%[1]d.a.Put(q%[1]d.a)\n"),
	// Views, boxed, raw.
	"views": repeated("grow()", 5,
		"b%[1]d := Must(%[1]d)\nv%[1]d := b%[1]d.View()\nvar i%[1]d any = b%[1]d\nprintln(i%[1]d != nil)\nb%[1]d.Put(v%[1]d)\n"),
	// One that lives throughout, used everywhere.
	"long life": repeated("grow(c bool) error", 6,
		"b%[1]d, err := Make(%[1]d)\nif err != nil {\nreturn err\n}\nlong.Put(b%[1]d)\nif c {\nprintln(%[1]d)\n}\nprintln(1)\n", "long := Must(0)\n"),
	// A switch of many cases.
	"cases": func(n int) string {
		var w strings.Builder
		w.WriteString("func grow(x int) {\nswitch x {\n")
		for i := 0; i < n; i += 3 {
			fmt.Fprintf(&w, "case %d:\nb := Must(%[1]d)\nb.Put(b)\nprintln(%[1]d)\n", i)
		}
		w.WriteString("}\n}\n")
		return w.String()
	},
	// Behind gotos.
	"gotos": repeated("grow(x int)", 6,
		"{\nb := Must(%[1]d)\nif x == %[1]d {\ngoto done%[1]d\n}\nb.Put(b)\ndone%[1]d:\nprintln(%[1]d)\n}\n"),
	// None but a parameter.
	"parameter": repeated("grow(b *Buf, c bool)", 4, "if c {\nb.Put(b)\n}\nprintln(%[1]d)\nx%[1]d := %[1]d\nprintln(x%[1]d)\n"),
	// Literals called in place.
	"literals": repeated("grow()", 4, "func() {\nb := Must(%[1]d)\nb.Put(b)\nprintln(%[1]d)\n}()\n"),
	// Kept: they escape.
	"escapes": repeated("grow()", 3, "b%[1]d := Must(%[1]d)\nb%[1]d.Put(b%[1]d)\nkeep = b%[1]d\n"),
	// A variable that may be either of two which are used on.
	"aliases": repeated("grow(c bool)", 7, "a%[1]d, b%[1]d := Must(%[1]d), Must(1)\nx%[1]d := a%[1]d\nif c {\nx%[1]d = b%[1]d\n}\nx%[1]d.Put(a%[1]d)\na%[1]d.Put(b%[1]d)\nprintln(1)\n"),
	// Chosen by a branch, and by a switch.
	"chosen": repeated("grow(c bool, x int)", 8, "var x%[1]d *Buf\nif c {\nx%[1]d = Must(%[1]d)\n} else {\nx%[1]d = Must(1)\n}\nif x > 1 {\nx%[1]d.Put(x%[1]d)\nprintln(1)\n}\n"),
	// In maps.
	"maps": repeated("grow()", 5, "m%[1]d := map[string]*Buf{}\nm%[1]d[\"a\"] = Must(%[1]d)\nm%[1]d[\"b\"] = Must(1)\nfor _, x := range m%[1]d {\nx.Put(x)\n}\n"),
	// Given away as addresses.
	"raw": repeated("grow()", 4, "b%[1]d := Must(%[1]d)\np%[1]d := b%[1]d.Raw()\nread(p%[1]d)\nprintln(%[1]d)\n"),
	// One is freed on each of many errors.
	"freed on errors": repeated("grow() error", 7,
		"b%[1]d, err := Make(%[1]d)\nif err != nil {\nlong.Free()\nreturn err\n}\nlong.Put(b%[1]d)\nb%[1]d.Free()\nprintln(%[1]d)\n", "long := Must(0)\n", "long.Free()\nreturn nil\n"),
	// One is freed long after its last use.
	"late": repeated("grow()", 2, "call(%[1]d)\nprintln(%[1]d)\n", "long := Must(0)\nlong.Put(long)\n", "long.Free()\n"),
	// Boxed and passed on, all of one.
	"boxed": repeated("grow()", 2, "look(long)\nprintln(%[1]d)\n", "long := Must(0)\n", "println(long != nil)\n"),
	// Each used up to the end of its case.
	"cases to the end": func(n int) string {
		var w strings.Builder
		w.WriteString("func grow(x int) {\nvar y int\nswitch x {\n")
		for i := 0; i < n; i += 3 {
			fmt.Fprintf(&w, "case %d:\ny = %[1]d\nb := Must(%[1]d)\nb.Put(b)\n", i)
		}
		w.WriteString("}\nprintln(y)\n}\n")
		return w.String()
	},
	// Made in the headers of statements.
	"headers": repeated("grow() error", 4, "if b, err := Make(%[1]d); err == nil {\nb.Put(b)\n} else {\nprintln(%[1]d)\n}\n"),
	// In a field that is emptied each time.
	"fields set to nil": repeated("(o *owner) grow()", 4, "println(%[1]d)\no.b.Put(o.b)\no.b.Free()\no.b = nil\no.b = Must(%[1]d)\n"),
	// In loops in loops, around everything.
	"in a loop": repeated("grow(x int) error", 5, "b%[1]d, err := Make(%[1]d)\nif err != nil {\ncontinue\n}\nb%[1]d.Put(b%[1]d)\nprintln(%[1]d)\n", "for range x {\n", "}\nreturn nil\n"),
}

// repeated generates a function of about n statements: what comes first, lines of per statements as
// often as it takes, what comes last, and a return where the function has results.
func repeated(head string, per int, lines string, around ...string) func(n int) string {
	return func(n int) string {
		var w strings.Builder
		w.WriteString("func " + head + " {\n")
		if len(around) > 0 {
			w.WriteString(around[0])
		}
		for i := 0; i < n; i += per {
			fmt.Fprintf(&w, lines, i)
		}
		switch {
		case len(around) > 1:
			w.WriteString(around[1])
		case strings.HasSuffix(head, " error"):
			w.WriteString("return nil\n")
		case strings.HasSuffix(head, " int"):
			w.WriteString("return 0\n")
		}
		w.WriteString("}\n")
		return w.String()
	}
}

var growthTypes = strings.Replace(bufType, "package p\n", "package p\n\nimport \"unsafe\"\n", 1) + `
//lastuse:effect recv borrowed
func (b *Buf) Len() int

//lastuse:effect recv borrowed, result 0 views recv
func (b *Buf) View() *Buf

//lastuse:effect recv borrowed, result 0 views recv
func (b *Buf) Raw() unsafe.Pointer

//lastuse:effect args borrowed
func read(p unsafe.Pointer)

//lastuse:effect args borrowed
func look(x any)

//lastuse:effect args borrowed
func call(n int)

type owner struct{ b *Buf }

type pair struct{ a, b *Buf }

var keep *Buf

`
