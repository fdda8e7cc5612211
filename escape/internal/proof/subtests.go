package proof

// Subtests. (*testing.T).Run returns when the function has that it is given, unless that calls Parallel on
// its test: then it goes on behind the call. A line that lends the function is believed where nobody who
// has the test is seen to do that: it is called by its other methods, and handed to assertions, of which
// lines say that they look at it, and to functions of this package that do no more with it.

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/spec"
)

// outlives reports whether the function that a call runs as a subtest may go on behind it.
func (c *checker) outlives(k *call) bool {
	if k.fn == nil || k.fn.Name() != "Run" || k.fn.FullName() != "(*testing.T).Run" {
		return false
	}
	m, ok := k.args[2].(*ssa.MakeClosure)
	return !ok || c.parallel(m.Fn.(*ssa.Function).Params[0], map[ssa.Value]bool{})
}

// parallel reports whether somebody may call Parallel who has the test v.
func (c *checker) parallel(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
			continue
		case *ssa.FieldAddr, *ssa.MakeInterface, *ssa.ChangeInterface:
			if !c.parallel(i.(ssa.Value), seen) {
				continue
			}
		case *ssa.Call:
			if !c.mayParallel(&i.Call, v, seen) {
				continue
			}
		}
		return true
	}
	return false
}

// mayParallel reports whether a call may lead to Parallel of the test v.
func (c *checker) mayParallel(com *ssa.CallCommon, v ssa.Value, seen map[ssa.Value]bool) bool {
	fn := com.StaticCallee()
	if fn == nil || origin(fn) == nil || fn.Name() == "Parallel" {
		return true
	}
	for n, a := range com.Args {
		if a != v || pathOf(origin(fn)) == "testing" {
			continue
		}
		said := false
		if c.in.Specs != nil {
			_, said = c.in.Specs.Lookup(spec.FullName(origin(fn)))
		}
		if said && !c.effect(origin(fn)).param(n).Keeps {
			continue
		}
		there := c.everywhere(origin(fn), harmless(fn.Signature)) // what it is in other builds
		if len(fn.Blocks) == 0 || there.param(n).Keeps || c.otherwise(fn, false) || c.parallel(fn.Params[n], seen) {
			return true
		}
	}
	return false
}
