package place

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// A run is the moments of a node at which a token is due, without a break. At its first
// place the token passes, so that the run ends.
type run struct {
	node  int
	start int  // index of its first moment; 0: it begins where the node does
	ends  bool // it does not go on in the nodes behind
	left  bool // deferred calls run, or have run
	spot  *spot
}

// A spot is where a free of a token may stand, and the value that it frees.
type spot struct {
	node  int
	at    Where
	point *own.Point
	value ssa.Value
	name  Name
	// Of an operand that the value may be as well: see operand.
	unless Name
	since  *origin // nil if that is where ways begin
	empty  bool    // deferred before the name holds anything, which may be nil then
}

// same reports whether two spots are one statement.
func (s *spot) same(r *spot) bool { return s.node == r.node && s.at == r.at && s.value == r.value }

// A planner places the frees of one group.
type planner struct {
	ir    *ir.Package
	f     *own.Func
	g     *own.Group
	text  Text
	moves map[int][]*own.Point // by node
	edges []crossing           // see crossings
	alone map[own.Token]bool   // that are freed by names which hold nothing else that is due
}

// runs lists the runs of a token in a node.
func (pl *planner) runs(node int, t own.Token) []run {
	if !pl.f.Runs(node) {
		return nil
	}
	points := pl.moves[node]
	var out []run
	open := false
	for k, p := range points {
		if !p.Due(t) {
			open = false
			continue
		}
		if !open {
			out = append(out, run{node: node, start: k})
			open = true
		}
		r := &out[len(out)-1]
		if r.spot == nil {
			// What is freed on each way there once; or what may be where ways meet.
			clean := func(v ssa.Value) bool { return pl.current(node, r.start, v) }
			r.spot = pl.spot(points, k, moment{t: t, clean: clean, due: p.Due})
			if r.spot == nil && r.start == 0 {
				r.spot = pl.spot(points, k, moment{t: t, clean: func(ssa.Value) bool { return true }, due: p.Due})
			}
		}
		gap, _ := pl.f.Graph.Next(node, p.At)
		r.ends = k < len(points)-1 || gap != nil || len(pl.f.Graph.Succs[node]) == 0
		r.left = pl.leaving(node)
	}
	return out
}

// current reports whether, at the start of a run in a node, a value holds nothing that was due before. What a
// slot held before it is given something in the run is what it held at the start, if it is given nothing in
// between.
func (pl *planner) current(node, start int, v ssa.Value) bool {
	if start == 0 {
		return pl.cleanBefore(node, v)
	}
	points := pl.moves[node]
	if m, ok := v.(*memory.Former); ok && !points[start].Sets(v) {
		n, at, _ := pl.f.Graph.Where(m.At)
		return n == points[start].Node && pl.clean(points[start-1], m.Slot) &&
			!slices.ContainsFunc(points[start:], func(p *own.Point) bool { return p.At <= at && p.Sets(m.Slot) })
	}
	return pl.clean(points[start-1], v) || points[start].Sets(v)
}

// spot returns where a free of a token may stand between a point and the next, nil if nowhere.
func (pl *planner) spot(points []*own.Point, k int, m moment) *spot {
	p := points[k]
	graph := pl.f.Graph
	node := graph.Nodes[p.Node]
	end := len(node.Instrs)
	if k+1 < len(points) {
		end = points[k+1].At - 1
	}
	for at := p.At; at < end; {
		gap, i := graph.Next(p.Node, at)
		if gap == nil || i >= end {
			break
		}
		if s := pl.named(p, m, gap, Where{Place: gap}); s != nil {
			if gap.Kind == ir.InList {
				return s
			}
			if next, _ := graph.Next(p.Node, i+1); next != nil && pl.ir.Beside(gap, next) {
				if r := pl.named(p, m, next, Where{Place: next}); r != nil {
					return r // the same moment, and it reads better
				}
			}
			return s
		}
		at = i + 1
	}
	if k+1 == len(points) || pl.begins(p) {
		if r := pl.returns(p); r != nil && pl.stands(r) {
			return pl.named(p, m, pl.before(node.Block), Where{Return: r})
		}
	}
	return nil
}

// returns returns the return at the end of a node whose results are known behind a point there: what is
// deferred runs behind that moment. It is nil if the node ends otherwise.
func (pl *planner) returns(p *own.Point) *ssa.Return {
	n := pl.f.Graph.Nodes[p.Node]
	rest := n.Block.Instrs[n.First:]
	r, ok := rest[len(rest)-1].(*ssa.Return)
	switch {
	case !ok:
		return nil
	case pl.begins(p):
		return r
	case pl.leaving(p.Node):
		return nil
	}
	if len(rest) > len(n.Instrs) { // the rest must be what runs deferred calls, and the return
		if !runsDeferred(rest[len(n.Instrs)]) {
			return nil
		}
	}
	return r
}

// begins reports whether a point is in front of a block that runs deferred calls and returns.
func (pl *planner) begins(p *own.Point) bool {
	n := pl.f.Graph.Nodes[p.Node]
	return p.At == 0 && n.First == 0 && len(n.Instrs) > 0 && runsDeferred(n.Instrs[0])
}

func runsDeferred(i ssa.Instruction) bool {
	_, ok := i.(*ssa.RunDefers)
	return ok
}

// stands reports whether statements may stand between the results of a return and the return. In the body of
// a range over a function they may if that function has nothing to do with the group, nor a body around that
// which returns: it does not run again, and what the function does when it has returned comes behind them.
func (pl *planner) stands(r *ssa.Return) bool {
	body := pl.text.Stands(Where{Return: r})
	switch {
	case body == nil || body == pl.f.SSA:
		return body != nil
	case slices.ContainsFunc(pl.g.Sites, (*pointsto.Site).Turns): // a second run finds them in a literal
		return false
	}
	inner := body
	for body.Parent() != pl.f.SSA {
		if body = body.Parent(); body == nil {
			return false
		}
	}
	for _, n := range pl.g.Nodes() {
		instrs := pl.f.Graph.Nodes[n].Instrs // none where a panic runs what is deferred
		for _, p := range pl.moves[n] {
			if p.At > 0 && len(instrs) > 0 && pl.meddles(instrs[p.At-1], body, body == inner) {
				return false
			}
		}
	}
	return true
}

// meddles reports whether an instruction that does something to the group is a call with a literal of body as
// an argument, and gives the group to somebody else than that, or to that if it does not return.
func (pl *planner) meddles(i ssa.Instruction, body *ssa.Function, returns bool) bool {
	c, ok := i.(*ssa.Call)
	if !ok {
		return false
	}
	runs, more := false, pl.leadsTo(c.Call.Value)
	for _, a := range c.Call.Args {
		if m, ok := a.(*ssa.MakeClosure); ok && m.Fn == body || a == ssa.Value(body) {
			runs = true
		} else {
			more = more || pl.leadsTo(a)
		}
	}
	return runs && (more || !returns)
}

// leadsTo reports whether an operand is in the group, or a part of it is.
func (pl *planner) leadsTo(x ssa.Value) bool {
	v := pl.f.Origin(x)
	return pl.g.Has(v) || slices.ContainsFunc(pl.f.Fields(v), func(p *memory.Field) bool { return pl.g.Has(p) })
}

// leaving reports whether deferred calls run in a node, or have run: no statement stands
// there.
func (pl *planner) leaving(node int) bool {
	n := pl.f.Graph.Nodes[node]
	return slices.ContainsFunc(n.Block.Instrs[:n.First+1], runsDeferred)
}

// before returns the last place in front of the end of a block: that in front of its last
// statement, whose names hold there what they do when its results are known.
func (pl *planner) before(b *ssa.BasicBlock) *ir.Place {
	for ; b != nil; b = b.Idom() {
		if gap := pl.ir.LastBefore(b, len(b.Instrs)); gap != nil {
			return gap
		}
	}
	return nil
}

// A moment is when a token is to be freed.
type moment struct {
	t     own.Token
	clean func(ssa.Value) bool // it holds nothing that was due before
	due   func(own.Token) bool // it may be freed as well
	part  bool                 // what is owned may be something else
	only  func(ssa.Value) bool // by what values it is freed; nil: by any
}

// named returns the spot at a place if something there goes by a name that holds the token and, of
// all else that it may hold, only what may be freed as well. Names hold there what they do at gap.
func (pl *planner) named(p *own.Point, m moment, gap *ir.Place, at Where) *spot {
	if gap == nil {
		return nil
	}
	var values, fields []ssa.Value
	for _, v := range p.Values(m.t) {
		if m.only != nil && !m.only(v) || !pl.frees(p, v, m) {
			continue
		}
		if _, ok := v.(*memory.Field); ok {
			fields = append(fields, v)
		} else {
			values = append(values, v)
		}
	}
	spotOf := func(v ssa.Value, n Name) *spot {
		s := &spot{node: p.Node, at: at, point: p, value: v, name: n}
		if (pl.nothing(s, p, m.t) || p.Status(m.t)&own.Holed != 0) && !pl.text.Tests(n, at) {
			return nil
		}
		return s
	}
	for _, v := range append(values, fields...) {
		if n, ok := pl.holder(v, gap, at); ok {
			return spotOf(v, n)
		}
	}
	for _, call := range []bool{false, true} { // a call moves only where no variable has what it gives
		for _, v := range values {
			for _, n := range pl.makeable(v, gap) {
				if call == (n.Var == nil) && pl.text.Names(n, at) {
					return spotOf(v, n)
				}
			}
		}
	}
	for _, v := range fields {
		field := v.(*memory.Field)
		if n := (Name{Result: field.Root, Field: field}); isResult(field.Root) && pl.text.Names(n, at) {
			return spotOf(v, n)
		}
	}
	return pl.besideOperand(p, m, gap, at, spotOf)
}

// holder returns a variable, or a field of one, that holds a value at a place.
func (pl *planner) holder(v ssa.Value, gap *ir.Place, at Where) (n Name, ok bool) {
	field, of := (*memory.Field)(nil), v
	if f, ok := v.(*memory.Field); ok {
		field, of = f, f.Root
	}
	for _, x := range pl.ir.Names(of) {
		n := Name{Var: x, Field: field}
		if held, _ := pl.ir.Value(gap, x); held == of && pl.text.Names(n, at) {
			return n, true
		}
	}
	return Name{}, false
}

// isResult reports whether v is a result of a call.
func isResult(v ssa.Value) bool {
	switch v := v.(type) {
	case *memory.Dropped:
		return true
	case *ssa.Call:
		_, builtin := v.Call.Value.(*ssa.Builtin)
		return !builtin
	case *ssa.Extract:
		_, call := v.Tuple.(*ssa.Call)
		return call
	}
	return false
}

// makeable lists the names that may be made for a value: of what a header gives, of what a variable
// holds in front of a place, and of the result of a call.
func (pl *planner) makeable(v ssa.Value, gap *ir.Place) []Name {
	result := isResult(v)
	var out []Name
	switch v := v.(type) {
	case *memory.Former:
		return pl.formerly(v.Slot, v.At, gap)
	case *ssa.UnOp:
		if s := pl.f.Origin(v.X); v.Op == token.MUL && pl.f.IsSlot(s) && pl.f.Reaches(v.X, s) == memory.Same {
			return pl.formerly(s, v, gap)
		}
	}
	names := pl.ir.Names(v)
	for _, x := range names {
		if result {
			out = append(out, Name{Var: x, Result: v})
		}
	}
	for _, x := range names {
		for _, at := range pl.ir.Held(gap, x, v) {
			out = append(out, Name{Var: x, Save: at})
		}
	}
	if result {
		out = append(out, Name{Result: v})
	}
	return out
}

// formerly lists the names that may be made for what a slot held when an instruction gave it something else,
// or read it: in front of that statement, if nothing in there gives it something before.
func (pl *planner) formerly(slot ssa.Value, by ssa.Instruction, gap *ir.Place) []Name {
	b := by.Block()
	at := slices.Index(b.Instrs, by)
	q := pl.ir.LastBefore(b, at)
	if q == nil || q.Kind != ir.InList || !b.Dominates(gap.Block) {
		return nil
	}
	from := slices.Index(b.Instrs, ssa.Instruction(q.At))
	if slices.ContainsFunc(b.Instrs[from:at], func(i ssa.Instruction) bool { return pl.f.Gives(i, slot) }) {
		return nil
	}
	field, of := (*memory.Field)(nil), slot
	if f, ok := slot.(*memory.Field); ok {
		field, of = f, f.Root
	}
	var out []Name
	for _, x := range pl.ir.Names(of) {
		if held, cell := pl.ir.Value(q, x); held == of && cell {
			out = append(out, Name{Var: x, Field: field, Save: q})
		}
	}
	return out
}

// spent reports whether a token must not be freed once more: what the plan has freed, and what the program
// has, unless that may be repeated and is asked for itself. Else a second run would see more than the first.
func (pl *planner) spent(st own.Status, itself bool) bool {
	again := itself && pl.g.Harmless()&own.Unsure != 0
	return st&own.Passed != 0 || st&own.Freed != 0 && !again
}

// frees reports whether a free of v frees what may be freed, and all of it.
func (pl *planner) frees(p *own.Point, v ssa.Value, m moment) bool {
	ts, whole := p.Held(v)
	return whole && !pl.f.Foreign(v) && pl.freesAll(p, v, m, ts)
}

// freesAll reports that of the tokens that v holds.
func (pl *planner) freesAll(p *own.Point, v ssa.Value, m moment, ts []own.Token) bool {
	return !slices.ContainsFunc(ts, func(u own.Token) bool {
		st := p.Status(u)
		return pl.g.IsParam(u) || st&^pl.g.Harmless() != 0 ||
			st&own.Owned != 0 && (!m.due(u) || !m.part && !p.Is(v, u) || pl.alone[m.t] && u != m.t) || pl.spent(st, u == m.t) && !m.clean(v)
	})
}
