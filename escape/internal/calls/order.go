package calls

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Round is declared functions that call one another, with the literals in them.
type Round struct {
	Funcs  []*ssa.Function
	Circle bool // one of them calls one of them
}

// Order returns the functions of a package that have a body in rounds, those that are called first; callees
// says whose bodies a call runs.
func Order(fns []*ssa.Function, callees func(*ssa.CallCommon) []*types.Func) []Round {
	o := &orderer{callees: callees, bodies: map[*types.Func][]*ssa.Function{}, index: map[*types.Func]int{},
		low: map[*types.Func]int{}, closed: map[*types.Func]bool{}}
	var names []*types.Func
	for _, f := range fns {
		fn := owner(f)
		if fn == nil || len(f.Blocks) == 0 {
			continue
		}
		if o.bodies[fn] == nil {
			names = append(names, fn)
		}
		o.bodies[fn] = append(o.bodies[fn], f)
	}
	for _, fn := range names {
		if o.index[fn] == 0 {
			o.visit(fn)
		}
	}
	return o.rounds
}

// owner returns the declared function that f stands in.
func owner(f *ssa.Function) *types.Func {
	for f.Parent() != nil {
		f = f.Parent()
	}
	return Declared(f)
}

type orderer struct {
	callees func(*ssa.CallCommon) []*types.Func
	bodies  map[*types.Func][]*ssa.Function
	index   map[*types.Func]int
	low     map[*types.Func]int
	open    []*types.Func
	closed  map[*types.Func]bool
	seen    int
	rounds  []Round
}

// calls lists the functions of the package that fn calls, in order.
func (o *orderer) calls(fn *types.Func) []*types.Func {
	var out []*types.Func
	seen := map[*types.Func]bool{}
	for _, f := range o.bodies[fn] {
		for _, b := range f.Blocks {
			for _, i := range b.Instrs {
				c, ok := i.(ssa.CallInstruction)
				if !ok {
					continue
				}
				for _, to := range o.callees(c.Common()) {
					if o.bodies[to] != nil && !seen[to] {
						seen[to] = true
						out = append(out, to)
					}
				}
			}
		}
	}
	return out
}

// visit is Tarjan's algorithm, with a stack of its own.
func (o *orderer) visit(root *types.Func) {
	type frame struct {
		fn    *types.Func
		calls []*types.Func
	}
	var stack []frame
	enter := func(fn *types.Func) {
		o.seen++
		o.index[fn], o.low[fn] = o.seen, o.seen
		o.open = append(o.open, fn)
		stack = append(stack, frame{fn, o.calls(fn)})
	}
	for enter(root); len(stack) > 0; {
		f := &stack[len(stack)-1]
		if len(f.calls) > 0 {
			to := f.calls[0]
			f.calls = f.calls[1:]
			switch {
			case o.index[to] == 0:
				enter(to)
			case !o.closed[to]:
				o.low[f.fn] = min(o.low[f.fn], o.index[to])
			}
			continue
		}
		fn := f.fn
		stack = stack[:len(stack)-1]
		if len(stack) > 0 {
			up := stack[len(stack)-1].fn
			o.low[up] = min(o.low[up], o.low[fn])
		}
		if o.low[fn] != o.index[fn] {
			continue
		}
		var round Round
		for done := false; !done; {
			last := o.open[len(o.open)-1]
			o.open = o.open[:len(o.open)-1]
			o.closed[last] = true
			round.Funcs = append(round.Funcs, o.bodies[last]...)
			round.Circle = round.Circle || last != fn || slices.Contains(o.calls(fn), fn)
			done = last == fn
		}
		o.rounds = append(o.rounds, round)
	}
}
