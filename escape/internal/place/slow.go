package place

import (
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// A Cause is what comes between what needs a buffer last and its free.
type Cause uint8

const (
	None      Cause = iota // nothing does
	Loop                   // a loop
	Allocates              // a call that makes a buffer
	Waits                  // a call that is known to wait
	Channel                // something is sent or received
	InLoop                 // nothing else: it is deferred in a loop, and all turns make theirs before
)

// waits has the functions that are known to wait. Of others nothing is assumed.
var waits = map[string]bool{
	"time.Sleep": true, "(*sync.WaitGroup).Wait": true, "(*sync.Cond).Wait": true,
	"(*golang.org/x/sync/errgroup.Group).Wait": true,
	"net/http.Get": true, "net/http.Post": true, "(*net/http.Client).Do": true, "net/http.ListenAndServe": true,
	"(*os/exec.Cmd).Run": true, "(*os/exec.Cmd).Wait": true, "(*os/exec.Cmd).Output": true,
	"(*os/exec.Cmd).CombinedOutput":                          true,
	"(*github.com/lastuse/lastuse/alloc.Stream).Sync":        true,
	"(*github.com/lastuse/lastuse/alloc.Stream).SyncContext": true,
	"(github.com/lastuse/lastuse/alloc.Event).Sync":          true,
}

// between returns what comes between an early free of t and that of the program; nil if nothing does.
func (e *ending) between(early *planner, s *spot, t own.Token) *Late {
	site := e.pl.g.Sites[t/2]
	if at := e.inLoop(t); at.IsValid() {
		return &Late{Site: site, Cause: InLoop, At: at}
	}
	part := e.room(s)
	if s.at.Place == nil && part == nil || s.at.Deferred || e.planned(s.at, t) {
		return nil
	}
	graph := e.pl.f.Graph
	made, madeAt, _ := e.pl.f.Where(site.Value)
	seen := map[int]bool{}
	type item struct{ node, at int }
	var from item
	if part != nil {
		from = item{s.since.from.Node, s.since.from.At}
	} else {
		from.node, from.at, _ = graph.Where(s.at.Place.At)
	}
	for open := []item{from}; len(open) > 0; {
		it := open[len(open)-1]
		open = open[:len(open)-1]
		over := false
		for i := it.at; i < len(graph.Nodes[it.node].Instrs) && !over; i++ {
			if over = e.at[t][[2]int{it.node, i}] || it.node == made && i == madeAt; over {
				break
			}
			if gap, at := graph.Next(it.node, i); gap != nil && at == i && e.planned(Where{Place: gap}, t) {
				over = true
				break
			}
			if l := e.slow(graph.Nodes[it.node].Instrs[i]); l != nil && !within(part, l.At) && e.after(t, it.node, i+1) {
				l.Site, l.Room = site, part != nil
				return l
			}
		}
		if over {
			continue
		}
		for out, to := range graph.Succs[it.node] {
			if to == graph.Panic || seen[to] || early.none(it.node, out, t) {
				continue
			}
			seen[to] = true
			if at := e.loop(it.node, to); at.IsValid() && to != made && e.after(t, to, 0) {
				return &Late{Site: site, Cause: Loop, At: at}
			}
			open = append(open, item{to, 0})
		}
	}
	return nil
}

func within(e ast.Expr, pos token.Pos) bool { return e != nil && e.Pos() <= pos && pos < e.End() }

// slow returns what an instruction does that takes long; nil if nothing is known of that.
func (e *ending) slow(i ssa.Instruction) *Late {
	switch i := i.(type) {
	case *ssa.Call:
		if fn := calls.Called(&i.Call); fn != nil && waits[fn.FullName()] {
			return &Late{Cause: Waits, At: i.Pos(), Call: &i.Call}
		}
		for k, r := range e.pl.f.Summary(&i.Call).Results {
			// One more reference to what it is given is no allocation.
			counts := e.pl.f.In.Counted(i.Call.Signature().Results().At(k).Type()) && e.pl.f.Gets(&i.Call, nil)
			if r.Owned.Cond != effect.Never && !counts {
				return &Late{Cause: Allocates, At: i.Pos(), Call: &i.Call}
			}
		}
	case *ssa.Send, *ssa.Select:
		return &Late{Cause: Channel, At: i.Pos()}
	case *ssa.UnOp:
		if i.Op == token.ARROW {
			return &Late{Cause: Channel, At: i.Pos()}
		}
	}
	return nil
}

// loop returns where a loop is that an edge enters, if it does that, and the loop does more than to free each
// element of something.
func (e *ending) loop(from, to int) token.Pos {
	nodes := e.pl.f.Graph.Nodes
	a, b := nodes[from].Block, nodes[to].Block
	if b == nil || nodes[to].First > 0 || b.Dominates(a) {
		return token.NoPos
	}
	circle := false
	for _, p := range b.Preds {
		circle = circle || b.Dominates(p)
	}
	for _, i := range a.Instrs {
		if yes, _ := e.pl.f.FreesEach(i); yes {
			return token.NoPos
		}
	}
	for k := 0; circle && k < 10; k++ {
		for _, i := range b.Instrs {
			if _, phi := i.(*ssa.Phi); !phi && i.Pos().IsValid() && !e.pl.f.Marks(i) {
				return e.pl.text.Loop(i.Pos())
			}
		}
		if len(b.Succs) == 0 {
			break
		}
		b = b.Succs[0]
	}
	return token.NoPos
}

// inLoop returns where a call that frees what a site makes is deferred in the loop in which it is made, if
// nothing else frees it.
func (e *ending) inLoop(t own.Token) token.Pos {
	s := e.pl.g.Sites[t/2]
	made, _, _ := e.pl.f.Where(s.Value)
	first := token.NoPos
	for _, d := range e.defers[s] {
		n, _, ok := e.pl.f.Graph.Where(d)
		if ok && e.pl.f.InLoop(made, n) && (!first.IsValid() || d.Pos() < first) {
			first = d.Pos()
		}
	}
	if len(e.at[t&^1])+len(e.at[t|1]) > 0 {
		return token.NoPos
	}
	return first
}

// after reports whether the program frees t on some path from an instruction on, before it is made again.
func (e *ending) after(t own.Token, node, at int) bool {
	if len(e.defers[e.pl.g.Sites[t/2]]) > 0 {
		return true
	}
	made, madeAt, _ := e.pl.f.Where(e.pl.g.Sites[t/2].Value)
	anew := func(from, to int) bool { return node == made && from <= madeAt && madeAt < to }
	for w := range e.at[t] {
		if w[0] == node && w[1] >= at && !anew(at, w[1]) {
			return true
		}
	}
	behind := e.behind(t)
	return !anew(at, len(e.pl.f.Graph.Nodes[node].Instrs)) &&
		slices.ContainsFunc(e.pl.f.Graph.Succs[node], func(n int) bool { return behind[n] })
}

// behind returns the nodes from whose entry on the program frees t on some path, before it is made again.
func (e *ending) behind(t own.Token) map[int]bool {
	if have := e.reach[t]; have != nil {
		return have
	}
	in := map[int]bool{}
	e.reach[t] = in
	made, madeAt, _ := e.pl.f.Where(e.pl.g.Sites[t/2].Value)
	var open []int
	for w := range e.at[t] {
		if !in[w[0]] && (w[0] != made || w[1] <= madeAt) {
			in[w[0]] = true
			open = append(open, w[0])
		}
	}
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		for _, p := range e.pl.f.Graph.Preds[n] {
			if p != made && !in[p] {
				in[p] = true
				open = append(open, p)
			}
		}
	}
	return in
}

// none reports whether there is nothing of t on an edge.
func (pl *planner) none(from, out int, t own.Token) bool {
	p := pl.g.OnEdge(from, out)
	return p != nil && p.Status(t)&(own.Owned|own.Passed) == 0
}
