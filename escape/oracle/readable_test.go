package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnreadable(t *testing.T) {
	const free = "\nb.Free()\n"
	for _, tc := range []struct {
		name, body string
		want       bool
	}{
		{"read by a dead copy", free + "_ = b", true},
		{"read under a constant", free + "if false {\nb.Len()\n}", true},
		{"behind the block", "if c {" + free + "}\n_ = b", true},
		{"in another branch", "if c {" + free + "} else {\n_ = b\n}", false},
		{"left before", "if c {" + free + "return\n}\n_ = b", false},
		{"a field assigned first", "b.Close()\nb.x, err = mk()\n_ = b.x", false},
		{"a field assigned by another", "b.Close()\nb.x = b.y", true},
		{"assigned first", free + "b, err = mk()\n_ = b", false},
		{"read by what is assigned", free + "b = f(b)", true},
		{"may be assigned", free + "if c {\nb = mk()\n_ = b\n}", false},
		{"assigned on one way", free + "if c {\nb = mk()\n}\n_ = b", true},
		{"a wrapped error", "if err != nil {" + free + "err = fmt.Errorf(\"%w\", err)\n}\nif err != nil {\nreturn\n}\n_ = b", false},
		{"another error", "if err != nil {" + free + "err = g(err)\n}\nif err != nil {\nreturn\n}\n_ = b", true},
		{"an error under another name", "if err != nil {" + free + "}\nif err := err; err != nil {\nreturn\n}\n_ = b", false},
		{"a flag", "ok := false\nif c {" + free + "ok = true\n}\nif !ok {\n_ = b\n}", false},
		{"a flag of a loop", "ok := false\nif c {" + free + "ok = true\n}\nfor c && !ok {\n_ = b\n}", false},
		{"another flag of a loop", "ok := false\nif c {" + free + "ok = true\n}\nfor c && ok {\n_ = b\n}", true},
		{"a flag twice", "ok := c\nif ok {\n} else {" + free + "}\nif (ok) || (ok) {\n_ = b\n}", false},
		{"a flag beside another", "ok := c\nif ok {\n} else {" + free + "}\nif ok || c {\n_ = b\n}", true},
		{"a flag that a literal sets", "ok := false\ng := func() {\nok = false\n}\nif c {" + free + "ok = true\ng()\n}\nif !ok {\n_ = b\n}", true},
		{"nil under another name", "if x != nil {\n} else {" + free + "}\nvar a any\nif x != nil {\na = x\n}\nif a == nil {\nreturn\n}\n_ = b", false},
		{"an interface of a pointer", free + "var a any = x\nif a == nil {\n_ = b\n}", true},
		{"an interface of a pointer that is not nil", "var a any\nif x != nil {" + free + "a = x\n}\nif a == nil {\n_ = b\n}", false},
		{"a field of the name", free + "x.b.Len()", false},
		{"end of a loop", "for {" + free + "}\n_ = b", false},
		{"in a case", "switch {\ncase c:" + free + "}\nb.Len()", true},
		{"in a literal", "f(func() {" + free + "_ = b\n})", true},
		{"every case leaves", free + "switch {\ndefault:\nreturn\n}\n_ = b", false},
		{"a case leaves the loop around", "out:\nfor {" + free + "switch {\ncase c:\nbreak out\ndefault:\nreturn\n}\n_ = b\n}", false},
		{"a case leaves the loop in it", free + "switch {\ndefault:\nfor {\nbreak\n}\nreturn\n}\n_ = b", false},
		{"a case leaves the switch", free + "switch {\ndefault:\nif c {\nbreak\n}\nreturn\n}\n_ = b", true},
		{"a case leaves the switch by name", free + "out:\nswitch {\ndefault:\nfor {\nbreak out\n}\nreturn\n}\n_ = b", true},
		{"a case leaves before its end", free + "switch {\ndefault:\nswitch {\ndefault:\nreturn\n}\nc = true\n}\n_ = b", false},
		{"behind a return in a case", free + "switch {\ncase c:\nreturn\n_ = b\n}", false},
		{"behind an if that leaves both ways, in a loop", free + "for {\nif c {\npanic(1)\n} else {\ngoto out\n}\n_ = b\n}\nout:\n{\n}", false},
		{"behind a label that is gone to", free + "for {\nif c {\ngoto in\n}\nreturn\nin:\n_ = b\n}", true},
		{"its address alone", free + "q := &b", false},
		{"assigned by a literal", "g := func() {\nb = mk()\n}" + free + "g()\n_ = b", false},
		{"in a literal that may never run", free + "g := func() {\n_ = b\n}", false},
		{"another of that name", free + "for _, b := range bs {\n_ = b\n}\nif b := mk(); b.Ok() {\n}", false},
		{"freed again", free + "if c {\nb.Free()\n}", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fixed := "package p\n\nfunc f(b, x buffer, err error, c bool) {\n" + tc.body + "\n}\n"
			require.Equal(t, tc.want, unreadable("package p", fixed) != nil)
			require.Empty(t, unreadable(fixed, fixed), "not inserted")
		})
	}
}
