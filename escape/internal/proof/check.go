package proof

// The verdicts: each free of the text is taken through the rules.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A free is F: a call that was put in, in one function.
type free struct {
	e  *edit
	at ssa.CallInstruction
	operand
	pts        set // what is freed
	repeatable bool
	nilOK      bool
	parts      []string         // fields of what arg points to that are freed; nil: all
	loop       bool             // it stands in an inserted loop over elements
	keep       bool             // it only keeps alive
	met        map[*object]bool // the sites whose resource a walk brought there
	captured   []capture        // what literals that are made behind it have of what it freed
	hands      *Result          // it is no free, but a call that hands that to a function, for the summary
}

// An operand is what F is given.
type operand struct {
	arg, whole ssa.Value // it, and what it is promoted from, if it is
	from       set       // memory that it points to or was read from, or what else it may lead to
	by         ssa.Value // what leads there
	value      bool      // arg is a struct that is given by value
	followed   bool      // arg is a pointer that is followed, and a walk with zeros says whether it is nil
}

// check judges all edits.
func (c *checker) check() *Report {
	for _, d := range c.diffs {
		if !d.proven {
			c.declaration(d)
		}
	}
	for _, d := range c.diffs {
		for _, e := range d.edits {
			c.report.Edits = append(c.report.Edits, c.verdict(d, e))
		}
	}
	return c.report
}

func (c *checker) verdict(d *differ, e *edit) Verdict {
	v := Verdict{Kind: e.kind, Func: declName(d.decl), Why: e.why, Pos: c.position(d.decl.Pos())}
	if e.kind != Whole {
		v.Pos, v.Text = c.position(e.stmt.Pos()), c.text(e.stmt)
	}
	return v
}

func declName(d ast.Decl) string {
	if f, ok := d.(*ast.FuncDecl); ok {
		return f.Name.Name
	}
	return "var"
}

// declaration judges the edits of one declaration. A panic withholds them.
func (c *checker) declaration(d *differ) {
	defer func() {
		if x := recover(); x != nil {
			for _, e := range d.edits {
				e.fail(&Reason{Rule: Limits, Words: fmt.Sprintf("the proof of %s failed: %v", declName(d.decl), x)})
			}
		}
	}()
	if len(d.edits) == 1 && d.edits[0].kind == Whole {
		return
	} else if !c.off[Same] {
		if why := c.namesFault(d); why != "" {
			for _, e := range d.edits {
				c.fail(e, Same, why, d.decl.Pos())
			}
			return
		}
		if len(d.hoists) > 0 {
			c.hoisted(d)
		}
	}
	found := map[*edit]bool{}
	if fn := c.root(d.decl); fn != nil {
		c.function(fn, d, found)
	}
	for _, e := range d.edits {
		if e.kind != Named && !found[e] {
			c.fail(e, Limits, "what is freed is not found in the program", e.stmt.Pos())
		}
	}
}

// hoisted judges what is computed earlier than it was.
func (c *checker) hoisted(d *differ) {
	vars := variablesOf(d.decl, c.info)
	for _, e := range d.edits {
		if e.kind != Named {
			continue
		}
		constant := func(x ast.Expr) bool { return c.info.Types[x].Value != nil }
		if slices.ContainsFunc(e.stmt.(*ast.AssignStmt).Rhs, constant) {
			c.fail(e, Same, "a constant has another type under a name", e.stmt.Pos())
		}
	}
	for _, h := range d.hoists {
		why := c.hoistFault(h, vars)
		for _, e := range d.edits {
			if e.kind != Named || why == "" {
				continue
			}
			for _, l := range e.stmt.(*ast.AssignStmt).Lhs {
				if id, ok := l.(*ast.Ident); ok && slices.Contains(h.names, id) {
					c.fail(e, Same, why, h.stmt.Pos())
				}
			}
		}
	}
}

// root returns the function of a declaration: that of variables is the package's init.
func (c *checker) root(d ast.Decl) *ssa.Function {
	f, ok := d.(*ast.FuncDecl)
	if !ok {
		return c.prog.Package(c.pkg).Func("init")
	}
	o, ok := c.info.Defs[f.Name].(*types.Func)
	if !ok {
		return nil
	}
	if fn := c.prog.FuncValue(o); fn != nil {
		return fn
	}
	// init functions and those named _ have no object of their own.
	for _, m := range c.prog.Package(c.pkg).Members {
		if fn, ok := m.(*ssa.Function); ok && fn.Syntax() == ast.Node(f) {
			return fn
		}
	}
	return nil
}

// function judges the edits of d that stand in a family.
func (c *checker) function(root *ssa.Function, d *differ, found map[*edit]bool) {
	f := c.family(root)
	puts, back := placesOf(d)
	words := "the function is too large"
	var g *graph
	if !f.tooBig {
		g = newGraph(f, puts, back)
		words = c.unfit(g)
	}
	if words != "" {
		for _, e := range d.edits {
			found[e] = true
			c.fail(e, Limits, words, e.stmt.Pos())
		}
		return
	}
	byPos := map[token.Pos]*edit{}
	for _, e := range d.edits {
		if e.kind != Named {
			byPos[e.free.Lparen] = e
		}
	}
	var frees []*free
	var gone []*edit
	for i := range f.instrs() {
		call := callOf(i)
		if call == nil {
			continue
		}
		e := byPos[call.Common().Pos()]
		switch {
		case e == nil:
			continue
		case found[e]:
			c.fail(e, Limits, "it is in the program twice", e.stmt.Pos())
			continue
		case e.kind == Deleted:
			gone = append(gone, e)
		}
		found[e] = true
		if x := c.fresh(g, e, call); x != nil && e.kind == Inserted {
			frees = append(frees, x)
		}
	}
	for i := range f.instrs() {
		if r, ok := i.(*ssa.DebugRef); ok {
			c.reads(g, d, r)
		}
	}
	c.follow(g, frees)
	c.readBehind(g, d, frees)
	c.unmet(g, frees)
	c.raced(g, d)
	for _, e := range gone {
		c.replaced(g, e, frees)
	}
}

// placesOf returns the statements of d that were put in, and the calls of frees that were put back.
func placesOf(d *differ) (puts [][2]token.Pos, back map[token.Pos]bool) {
	back = map[token.Pos]bool{}
	for _, e := range d.edits {
		if e.kind == Named && !isSave(e.stmt) {
			continue // the value that a name is made of is read by the program, not by us
		}
		puts = append(puts, [2]token.Pos{e.stmt.Pos(), e.stmt.End()})
		if e.kind == Deleted {
			back[e.free.Lparen] = true
		}
	}
	return puts, back
}

// unfit says why nothing is shown of a family, "" if something may be.
func (c *checker) unfit(g *graph) string {
	for i := range g.f.instrs() {
		if k := g.calls[callOf(i)]; k != nil && k.sum != nil && k.sum.Failed != "" {
			return "the proof of " + k.fn.Name() + ", which it calls, failed: " + k.sum.Failed
		}
	}
	if why := g.strange(); why != "" && !c.off[Limits] {
		return why
	}
	if c.otherwise(g.f.root, true) {
		return "a name in it may mean something else in other builds"
	}
	return ""
}

// unmet withholds the frees to which no walk brought what they free.
func (c *checker) unmet(g *graph, frees []*free) {
	for _, x := range frees {
		if len(x.met) == 0 && !c.off[Fresh] {
			c.fail(x.e, Fresh, "nothing that was made here gets there", x.e.stmt.Pos())
		}
		if !g.spawned[x.at.Parent()] {
			continue
		}
		for e := range g.f.leads(x.pts) {
			if e.obj.kind == siteObj && !x.met[e.obj] {
				c.fail(x.e, Joins, "a goroutine may get another one there later", e.obj.at.Pos())
			}
		}
	}
}

// reads judges what a statement that was put in reads, the name for a path of names among them: nothing
// that leads there may be nil, and a loop calls nobody.
func (c *checker) reads(g *graph, d *differ, r *ssa.DebugRef) {
	for _, e := range d.edits {
		_, test := e.stmt.(*ast.IfStmt)
		inside := e.stmt.Pos() <= r.Expr.Pos() && r.Expr.End() <= e.stmt.End()
		if !inside || e.kind == Deleted && !test || e.kind == Named && !isSave(e.stmt) || c.off[Same] {
			continue
		}
		why := g.steps(r.X, r.Block(), 0)
		ast.Inspect(r.Expr, func(n ast.Node) bool {
			id, _ := n.(*ast.Ident)
			if v, ok := c.info.Uses[id].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				why = "a variable of a package is read"
			}
			return true
		})
		if e.loop != nil && e.loop == r.Expr {
			switch r.X.Type().Underlying().(type) {
			case *types.Slice, *types.Array, *types.Map:
			default:
				why = "the loop that was put in may do more than free"
			}
		}
		if why != "" {
			c.fail(e, Same, why, e.stmt.Pos())
		}
		if e.loop == r.Expr && g.mayRepeat(r.X) && !c.off[Once] {
			c.fail(e, Once, sameMemory, e.stmt.Pos())
		}
	}
}

func isSave(s ast.Stmt) bool {
	return !slices.ContainsFunc(s.(*ast.AssignStmt).Rhs, func(x ast.Expr) bool { return base(x) == nil })
}

// fail withholds an edit; the first reason stays.
func (e *edit) fail(why *Reason) {
	if e.why == nil {
		e.why = why
	}
}

// fail withholds an edit for a rule, and says what stands in the way where.
func (c *checker) fail(e *edit, rule Rule, words string, at token.Pos) {
	e.fail(&Reason{Rule: rule, Words: words, At: c.position(at)})
}

// follow walks with each resource that one of the frees may free, and with zeros: those of resources that the
// same frees may free, together. Whether other frees stand must make no difference to one.
func (c *checker) follow(g *graph, frees []*free) {
	var done set
	for _, x := range frees {
		sites := g.resources(x)
		if sites.meets(done) {
			continue
		}
		for again := true; again; {
			again = false
			for _, y := range frees {
				if s := g.resources(y); s.meets(sites) {
					again = sites.union(s) || again
				}
			}
		}
		done.union(sites)
		c.followSites(g, frees, sites)
	}
}

// resources returns the numbers of the objects of which x may free the resource.
func (g *graph) resources(x *free) set {
	var out set
	for e := range g.f.leads(x.pts) {
		if e.obj.kind == siteObj {
			out.add(e.obj.id)
		}
	}
	return out
}

func (c *checker) followSites(g *graph, frees []*free, sites set) {
	var class set
	for n := range sites.all() {
		class.union(setOf(g.f.objs[n].ids))
	}
	insists := slices.ContainsFunc(frees, func(x *free) bool { return !x.nilOK && g.resources(x).meets(sites) })
	writes, stood := c.mayWrite(g, frees, sites), map[stand]*set{}
	for n := range sites.all() {
		o := g.f.objs[n]
		c.walk(g, frees, o, false, setOf(o.ids), stood)
		if (insists || writes) && g.mayFail(o) {
			c.walk(g, frees, o, true, class, stood)
		}
	}
	if insists || c.mayBeEmpty(g, frees, sites) {
		c.walk(g, frees, nil, true, class, stood)
	}
	for _, nothing := range []bool{false, true} {
		c.goBehind(g, frees, stood, nothing)
	}
}

// mayFail reports whether a site may yield zero.
func (g *graph) mayFail(o *object) bool {
	beside := o.beside()
	return g.made(o).Zero || beside.Len() > 1 && isError(beside.At(beside.Len()-1).Type())
}

// walk follows one resource, or zero.
func (c *checker) walk(g *graph, frees []*free, site *object, zero bool, class set, stood map[stand]*set) {
	w := c.walker(g, frees, site, zero, class)
	w.stood = stood
	w.fault = func(i int, rule Rule, words string, at ssa.Instruction) {
		if !c.off[rule] && (!zero || frees[i].pts.meets(class)) {
			frees[i].e.fail(&Reason{Rule: rule, Words: words, Nil: zero, At: c.position(posOf(at))})
		}
	}
	w.run()
	c.givenUp(w)
}

// givenUp withholds the frees that a walk which was given up is about.
func (c *checker) givenUp(w *walker) {
	for _, x := range w.frees {
		if w.over != "" && w.f.reach(x.pts).meets(w.class) {
			c.fail(x.e, Limits, w.over, x.e.stmt.Pos())
		}
	}
}

func (c *checker) walker(g *graph, frees []*free, site *object, zero bool, class set) *walker {
	w := &walker{g: g, f: g.f, frees: frees, isF: map[token.Pos]int{}, class: class,
		about: map[*ssa.Function]bool{}, followed: followed{site, g.f.instance(site), zero},
		hears: hears{fault: func(int, Rule, string, ssa.Instruction) {}}}
	for n, x := range frees {
		w.isF[x.at.Common().Pos()] = n
		w.isF[x.at.Pos()] = n
	}
	return w
}
