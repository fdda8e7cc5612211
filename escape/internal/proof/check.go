package proof

// The verdicts: each free of the text is taken through the rules.

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A free is F: a call that was put in, in one function.
type free struct {
	e          *edit
	at         ssa.CallInstruction
	arg        ssa.Value
	pts        set // what is freed
	repeatable bool
	nilOK      bool
	parts      []string         // fields of what arg points to that are freed; nil: all
	loop       bool             // it stands in an inserted loop over elements
	keep       bool             // it only keeps alive
	met        map[*object]bool // the sites whose resource a walk brought there
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
	v := Verdict{Kind: e.kind, Func: declName(d.decl), Why: e.why}
	switch {
	case e.kind == Whole:
		v.Pos = c.position(d.decl.Pos())
	default:
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
	withhold := func(why *Reason) {
		for _, e := range d.edits {
			if e.why == nil {
				e.why = why
			}
		}
	}
	defer func() {
		if x := recover(); x != nil {
			withhold(&Reason{Rule: Limits, Words: fmt.Sprintf("the proof of %s failed: %v", declName(d.decl), x)})
		}
	}()
	if len(d.edits) == 1 && d.edits[0].kind == Whole {
		return
	}
	why := ""
	if !c.off[Same] {
		if why = c.namesFault(d); why == "" && len(d.hoists) > 0 {
			c.hoisted(d)
		}
	}
	if why != "" {
		withhold(&Reason{Rule: Same, Words: why, At: c.position(d.decl.Pos())})
		return
	}
	roots := c.roots(d.decl)
	found := map[*edit]bool{}
	for _, fn := range roots {
		c.function(fn, d, found)
	}
	for _, e := range d.edits {
		if e.kind != Named && !found[e] && e.why == nil {
			e.why = &Reason{Rule: Limits, Words: "what is freed is not found in the program", At: c.position(e.stmt.Pos())}
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
		if slices.ContainsFunc(e.stmt.(*ast.AssignStmt).Rhs, func(x ast.Expr) bool { return c.info.Types[x].Value != nil }) {
			e.fail(&Reason{Rule: Same, Words: "a constant has another type under a name", At: c.position(e.stmt.Pos())})
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
					e.fail(&Reason{Rule: Same, Words: why, At: c.position(h.stmt.Pos())})
				}
			}
		}
	}
}

// roots returns the functions of a declaration.
func (c *checker) roots(d ast.Decl) []*ssa.Function {
	if f, ok := d.(*ast.FuncDecl); ok {
		if o, ok := c.info.Defs[f.Name].(*types.Func); ok {
			if fn := c.prog.FuncValue(o); fn != nil {
				return []*ssa.Function{fn}
			}
			// init functions and those named _ have no object of their own.
			for _, m := range c.prog.Package(c.pkg).Members {
				if fn, ok := m.(*ssa.Function); ok && fn.Syntax() == ast.Node(f) {
					return []*ssa.Function{fn}
				}
			}
		}
		return nil
	}
	if fn := c.prog.Package(c.pkg).Func("init"); fn != nil {
		return []*ssa.Function{fn}
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
			e.fail(&Reason{Rule: Limits, Words: words, At: c.position(e.stmt.Pos())})
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
			e.fail(&Reason{Rule: Limits, Words: "it is in the program twice", At: c.position(e.stmt.Pos())})
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
	c.unmet(g, frees)
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
	return ""
}

// unmet withholds the frees to which no walk brought what they free.
func (c *checker) unmet(g *graph, frees []*free) {
	for _, x := range frees {
		if len(x.met) == 0 && !c.off[Fresh] {
			x.e.fail(&Reason{Rule: Fresh, Words: "nothing that was made here gets there", At: c.position(x.e.stmt.Pos())})
		}
		if !g.alone(x) && !c.off[Joins] {
			x.e.fail(&Reason{Rule: Joins, Words: "another run of the same literal may have it at the same time", At: c.position(x.e.stmt.Pos())})
		}
		if !g.spawned[x.at.Parent()] {
			continue
		}
		for id := range x.pts.all() {
			if o := g.f.elems[id].obj; o.kind == siteObj && !x.met[o] {
				x.e.fail(&Reason{Rule: Joins, Words: "a goroutine may get another one there later", At: c.position(o.at.Pos())})
			}
		}
	}
}

// reads judges what a statement that was put in reads, the name for a path of names among them: nothing
// that leads there may be nil, and a loop calls nobody.
func (c *checker) reads(g *graph, d *differ, r *ssa.DebugRef) {
	for _, e := range d.edits {
		_, test := e.stmt.(*ast.IfStmt)
		if e.kind == Deleted && !test || e.kind == Named && !isSave(e.stmt) || r.Expr.Pos() < e.stmt.Pos() || r.Expr.End() > e.stmt.End() || c.off[Same] {
			continue
		}
		why := g.steps(r.X, r.Block(), 0)
		if e.loop != nil && e.loop == r.Expr {
			switch r.X.Type().Underlying().(type) {
			case *types.Slice, *types.Array, *types.Map:
			default:
				why = "the loop that was put in may do more than free"
			}
		}
		if why != "" {
			e.fail(&Reason{Rule: Same, Words: why, At: c.position(e.stmt.Pos())})
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

// fresh reads a free and shows what can be shown without order: that the callee frees and
// does nothing else, and that what it frees was made here.
func (c *checker) fresh(g *graph, e *edit, at ssa.CallInstruction) *free {
	k := g.calls[at]
	here := c.position(at.Common().Pos())
	x := &free{e: e, at: at, keep: e.keep, loop: e.loop != nil, met: map[*object]bool{}}
	if len(k.args) == 0 || slices.ContainsFunc(k.args[1:], func(a ssa.Value) bool { _, fixed := a.(*ssa.Const); return !fixed }) {
		e.fail(&Reason{Rule: Same, Words: "it is given nothing, or more than what it frees", At: here})
		return nil
	}
	x.arg = k.args[0]
	lent := false // that it is a parameter says more
	for id := range g.f.of(x.arg).all() {
		lent = lent || g.f.elems[id].obj.kind == paramObj
	}
	whole := g.selected(k.fn, x.arg)
	if why := g.steps(whole, at.Block(), 0); why != "" && !lent && !c.off[Fresh] {
		e.fail(&Reason{Rule: Fresh, Words: why, Nil: true, At: here})
		return nil
	}
	if e.keep {
		if k.fn == nil || k.fn.FullName() != "runtime.KeepAlive" {
			e.fail(&Reason{Rule: Same, Words: "it does not keep alive", At: here})
		}
		return nil // it does nothing
	}
	if k.sum == nil || !k.sum.param(0).Frees || k.fn == nil {
		e.fail(&Reason{Rule: Silent, Words: "what is called there is not known to free", At: here})
		return nil
	}
	p := k.sum.param(0)
	if p.FreesIf != 0 {
		e.fail(&Reason{Rule: Silent, Words: "what is called there frees on a condition", At: here})
		return nil
	}
	if !p.Silent && !c.off[Silent] {
		e.fail(&Reason{Rule: Silent, Words: k.fn.Name() + " does more than free, or may", At: here})
		return nil
	}
	x.repeatable, x.nilOK = p.Repeatable || c.off[Once], p.NilOK || c.off[Fresh]
	x.nilOK = x.nilOK && (whole == x.arg || c.off[Fresh])
	x.pts = g.freed(whole, p.Parts)
	if x.parts = p.Parts; g.fields(x.arg) { // what is freed is not the operand: its fields are
		if why := g.through(x.arg, at.Block()); why != "" && !x.nilOK {
			e.fail(&Reason{Rule: Fresh, Words: why, Nil: true, At: here})
			return nil
		}
		x.nilOK = p.PartsNil || c.off[Fresh]
	}
	some := false
	for id := range x.pts.all() {
		switch el := g.f.elems[id]; {
		case el.obj.kind == siteObj && el.path == "" && (fits(whole.Type(), p.Parts, el.obj.typ) || c.off[Fresh]):
			some = true
		case el.obj.kind == zeroObj || c.off[Fresh]:
		default:
			e.fail(&Reason{Rule: Fresh, Words: "what is freed may be " + el.words(), At: here})
			return nil
		}
	}
	if !some && !c.off[Fresh] {
		e.fail(&Reason{Rule: Fresh, Words: "what is freed is not known", At: here})
		return nil
	}
	return x
}

// fits reports whether a free of a value of type t, or of what it points to, or of parts of that, may free a
// resource of type r, and not what a field of that has.
func fits(t types.Type, parts []string, r types.Type) bool {
	all := []types.Type{t}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		all = append(all, p.Elem())
	}
	for _, path := range parts {
		all = append(all, fieldType(t, path))
	}
	return types.IsInterface(r) || slices.ContainsFunc(all, func(t types.Type) bool { return types.IsInterface(t) || types.ConvertibleTo(r, t) })
}

// selected returns what a method was selected on, if that is a resource: one that is promoted from embedded
// fields is the free of the whole, which must not be nil.
func (g *graph) selected(fn *types.Func, arg ssa.Value) ssa.Value {
	if fn == nil {
		return arg
	}
	v, depth := arg, 1
	for f, ok := v.(*ssa.FieldAddr); ok; f, ok = v.(*ssa.FieldAddr) {
		v, depth = f.X, depth+1
	}
	for id := range g.f.of(v).all() {
		if el := g.f.elems[id]; (el.obj.kind != siteObj || el.path != "") && el.obj.kind != zeroObj {
			return arg
		}
	}
	m, index, _ := types.LookupFieldOrMethod(v.Type(), false, fn.Pkg(), fn.Name())
	if f, ok := m.(*types.Func); !ok || f.Origin() != fn.Origin() || len(index) != depth {
		return arg
	}
	return v
}

// fields reports whether arg may lead to memory of the family.
func (g *graph) fields(arg ssa.Value) bool {
	for id := range g.f.of(arg).all() {
		if g.f.elems[id].obj.kind == memObj {
			return true
		}
	}
	return false
}

// freed returns what a free of arg frees: arg itself, or what it is the address of, or parts of that.
func (g *graph) freed(arg ssa.Value, parts []string) set {
	s := g.f.of(arg)
	var out set
	for id := range s.all() {
		if g.f.elems[id].obj.kind != memObj {
			out.add(id)
			continue
		}
		if len(parts) == 0 {
			out.union(g.f.load(single(id)))
		}
		for _, path := range parts {
			e := g.f.elems[id]
			out.union(g.f.load(single(g.f.elem(e.obj, e.path+path))))
		}
	}
	return out
}

func (e elem) words() string {
	switch e.obj.kind {
	case unknownObj:
		return "something that was not made here"
	case paramObj:
		return "a parameter, or a part of it"
	case siteObj:
		return "a view of something"
	}
	return "something else"
}

// through says why following pointer p in block b might panic; "" if it cannot.
func (g *graph) through(p ssa.Value, b *ssa.BasicBlock) string {
	switch p.(type) {
	case *ssa.Alloc, *ssa.FreeVar, *ssa.Global, *ssa.FieldAddr, *ssa.IndexAddr:
		return ""
	}
	for id := range g.f.of(p).all() {
		if g.f.elems[id].obj.kind != memObj && !g.notNil(p, b) {
			return "a pointer that leads to it may be nil"
		}
	}
	return ""
}

// steps says why reading v as the operand of a free in block b might panic; "" if it cannot.
func (g *graph) steps(v ssa.Value, b *ssa.BasicBlock, depth int) string {
	if depth > 8 {
		return "what is freed is too deep"
	}
	through := func(p ssa.Value) string {
		return cmp.Or(g.through(p, b), g.steps(p, b, depth+1))
	}
	switch x := v.(type) {
	case *ssa.UnOp:
		return through(x.X)
	case *ssa.FieldAddr:
		return through(x.X)
	case *ssa.IndexAddr:
		if toArray(x.X) {
			return through(x.X)
		} else if _, fixed := x.Index.(*ssa.Const); fixed { // others stand in a loop over it
			return "what is freed is in a slice, which may be shorter"
		}
		return g.steps(x.X, b, depth+1)
	case *ssa.Field:
		return g.steps(x.X, b, depth+1)
	case *ssa.Index:
		return g.steps(x.X, b, depth+1)
	}
	return ""
}

// toArray reports whether v is a pointer to an array.
func toArray(v ssa.Value) bool {
	p, ok := v.Type().Underlying().(*types.Pointer)
	if !ok {
		return false
	}
	_, ok = p.Elem().Underlying().(*types.Array)
	return ok
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
	for id := range x.pts.all() {
		if o := g.f.elems[id].obj; o.kind == siteObj {
			out.add(o.id)
		}
	}
	return out
}

func (c *checker) followSites(g *graph, frees []*free, sites set) {
	var class set
	for n := range sites.all() {
		for _, q := range g.f.objs[n].ids {
			class.add(q)
		}
	}
	insists := slices.ContainsFunc(frees, func(x *free) bool { return !x.nilOK && g.resources(x).meets(sites) })
	for n := range sites.all() {
		o := g.f.objs[n]
		var own set
		for _, q := range o.ids {
			own.add(q)
		}
		c.walk(g, frees, o, false, own)
		if insists && g.mayFail(o) {
			c.walk(g, frees, o, true, class)
		}
	}
	if insists {
		c.walk(g, frees, nil, true, class)
	}
}

// mayFail reports whether a site may yield zero.
func (g *graph) mayFail(o *object) bool {
	call := o.at.(*ssa.Call)
	n := call.Call.Signature().Results().Len()
	return g.made(o).Zero || n > 1 && isError(g.calls[call].resultType(n-1))
}

// walk follows one resource, or zero.
func (c *checker) walk(g *graph, frees []*free, site *object, zero bool, class set) {
	w := c.walker(g, frees, site, zero, class)
	w.fault = func(i int, rule Rule, words string, at ssa.Instruction) {
		if !c.off[rule] && (!zero || frees[i].pts.meets(class)) {
			frees[i].e.fail(&Reason{Rule: rule, Words: words, Nil: zero, At: c.position(posOf(at))})
		}
	}
	w.run()
	if w.over {
		for _, x := range frees {
			x.e.fail(&Reason{Rule: Limits, Words: "too many states", At: c.position(x.e.stmt.Pos())})
		}
	}
}

func (c *checker) walker(g *graph, frees []*free, site *object, zero bool, class set) *walker {
	w := &walker{g: g, f: g.f, site: site, zero: zero, frees: frees, isF: map[token.Pos]int{},
		class: class, about: map[*ssa.Function]bool{}, reach: map[ssa.Value]set{},
		fault: func(int, Rule, string, ssa.Instruction) {}}
	for n, x := range frees {
		w.isF[x.at.Common().Pos()] = n
		w.isF[x.at.Pos()] = n
	}
	return w
}

// posOf returns a position for an instruction, its own or that of something near it.
func posOf(i ssa.Instruction) token.Pos {
	if i == nil {
		return token.NoPos
	}
	if d, ok := i.(*ssa.DebugRef); ok {
		return d.Expr.Pos()
	}
	if p := i.Pos(); p.IsValid() {
		return p
	}
	for _, x := range i.Block().Instrs {
		if p := x.Pos(); p.IsValid() {
			return p
		}
	}
	if i.Parent().Synthetic != "" && i.Parent().Synthetic != yield {
		return token.NoPos // of a method value: it stands elsewhere
	}
	return i.Parent().Pos()
}

// family returns the graph of locations of a function.
func (c *checker) family(fn *ssa.Function) *family {
	if f := c.fams[fn]; f != nil {
		return f
	}
	f := c.newFamily(fn)
	c.fams[fn] = f
	return f
}
