package ir

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// stopping are functions of the standard library that do not come back.
var stopping = map[string]bool{
	"os.Exit": true, "runtime.Goexit": true, "syscall.Exit": true,
	"log.Fatal": true, "log.Fatalf": true, "log.Fatalln": true,
	"log.Panic": true, "log.Panicf": true, "log.Panicln": true,
	"(*log.Logger).Fatal": true, "(*log.Logger).Fatalf": true, "(*log.Logger).Fatalln": true,
	"(*log.Logger).Panic": true, "(*log.Logger).Panicf": true, "(*log.Logger).Panicln": true,
	"(*testing.common).Fatal": true, "(*testing.common).Fatalf": true, "(*testing.common).FailNow": true,
	"(*testing.common).Skip": true, "(*testing.common).Skipf": true, "(*testing.common).SkipNow": true,
	"(testing.TB).Fatal": true, "(testing.TB).Fatalf": true, "(testing.TB).FailNow": true,
	"(testing.TB).Skip": true, "(testing.TB).Skipf": true, "(testing.TB).SkipNow": true,
}

// NeverReturns reports whether nothing runs behind a call of a function.
func NeverReturns(f *types.Func) bool {
	if f.Pkg() == nil {
		return false
	}
	switch f.Pkg().Path() { // a full name takes time, and most functions are of others
	case "log", "os", "runtime", "syscall", "testing":
		return stopping[f.FullName()]
	}
	return false
}

// Stops reports whether nothing runs behind an instruction: the program ends there, or the goroutine, or it
// waits for ever.
func Stops(i ssa.Instruction) bool {
	switch i := i.(type) {
	case *ssa.Call:
		f := i.Call.Method
		if fn := i.Call.StaticCallee(); f == nil && fn != nil {
			f, _ = fn.Object().(*types.Func)
		}
		return f != nil && NeverReturns(f)
	case *ssa.Select:
		return i.Blocking && len(i.States) == 0
	}
	return false
}

// ComesToAnEnd reports whether a block is one that the program wrote and runs to its end: none in which it
// stops, nor one that go/ssa makes for a body that is called when it must not be.
func ComesToAnEnd(b *ssa.BasicBlock) bool {
	if b == b.Parent().Recover || slices.ContainsFunc(b.Instrs, Stops) {
		return false
	}
	p, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Panic)
	return !ok || p.Pos().IsValid() && !slices.ContainsFunc(b.Instrs, func(i ssa.Instruction) bool {
		c, ok := i.(*ssa.Call)
		return ok && c.Pos() == p.Pos() // one that never returns
	})
}
