package main

import (
	"context"
	"fmt"
	"io"

	"github.com/lastuse/lastuse/escape/oracle/gen"
)

// shrinkBatch is the number of smaller programs tried at once.
const shrinkBatch = 60

// Shrink returns the smallest program it finds that still fails as o does, and
// what became of it. It runs batches of smaller programs until none of them
// fails, or ctx ends.
func (or *Oracle) Shrink(ctx context.Context, o *Outcome, same func(a, b *Outcome) bool, log io.Writer) *Outcome {
	best := o
	if len(o.Fails) > 0 && o.Fails[0].Kind == Unstable { // only a second rewrite shows it
		c := *or
		c.Stable = true
		or = &c
	}
	for round := 1; ctx.Err() == nil; round++ {
		list := gen.Smaller(best.Prog, shrinkBatch)
		if len(list) == 0 {
			break
		}
		res, err := or.Run(ctx, list)
		if err != nil {
			fmt.Fprintf(log, "shrink: %v\n", err)
			break
		}
		found := best
		for _, r := range res {
			if same(o, r) && (found == best || gen.Size(r.Prog) < gen.Size(found.Prog)) {
				found = r
			}
		}
		if found == best {
			break
		}
		best = found
		fmt.Fprintf(log, "shrink: round %d: %d statements\n", round, gen.Size(best.Prog))
	}
	return best
}

// sameKind reports whether b fails in the way that weighs most in a.
func sameKind(a, b *Outcome) bool {
	if len(a.Fails) == 0 || len(b.Fails) == 0 {
		return false
	}
	if b.Fails[0].Kind == Model && a.Fails[0].Kind != Model {
		return false // it is no valid program
	}
	for _, f := range b.Fails {
		if f.Kind == a.Fails[0].Kind {
			return true
		}
	}
	return false
}
