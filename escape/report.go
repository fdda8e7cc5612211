package escape

// From plans to verdicts, findings and edits.

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// planned is a free that has its text.
type planned struct {
	freePoint
	text       string
	name       string
	place      *place
	repeatable bool
	keep       bool // runtime.KeepAlive, not a free
	deferred   bool // a deferred call
	save       bool // no free: keeps the buffer in a variable of its own over a statement

	before *planned // the save that this free needs
}

// decision is what is decided about one group.
type decision struct {
	g      *group
	pl     *planner
	why    string // not "": no plan
	frees  []planned
	sites  []*object
	bufs   map[*object]*Buffer
	noEdit string
	hoists []*hoist

	imports bool               // the plan needs the import of runtime
	names   map[*object]string // variables that the plan makes for buffers

	late    *lateness // what the program frees comes late
	deletes []*value  // frees that the plan replaces
	pl2     *planner  // the plan that does
}

// A decider turns the flow of one function into its report.
type decider struct {
	p    *pkg
	f    *fn
	w    *flow
	out  *Func
	src  *source
	skip func(o *object) bool // sites that are decided elsewhere
	bugs *[]Bug
	all  []*decision

	gapEdits map[*gap][]analysis.TextEdit
	hoists   map[ast.Stmt]*hoist
	used     map[string]bool

	hoistEdits map[*hoist][]analysis.TextEdit
	raws       map[*object]*value
}

func (d *decider) decide() {
	d.hoists = map[ast.Stmt]*hoist{}
	for _, g := range d.w.groups {
		x := &decision{g: g, bufs: map[*object]*Buffer{}}
		for _, o := range g.objs {
			if o.kind == objSite && !d.skip(o) {
				x.sites = append(x.sites, o)
			}
		}
		if len(x.sites) == 0 {
			continue
		}
		d.plan(x)
		d.all = append(d.all, x)
	}
	d.verify()
	d.realize()
	for _, x := range d.all {
		for _, o := range x.sites {
			d.buffer(x, o)
		}
	}
	d.findings()
	d.replaced()
	slices.SortStableFunc(d.out.Buffers, func(a, b *Buffer) int { return cmp.Compare(a.Site, b.Site) })
	slices.SortStableFunc(d.out.Findings, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.Category, b.Category))
	})
}

// plan decides one group.
func (d *decider) plan(x *decision) {
	g := x.g
	if g.why != "" {
		x.why = g.why
		return
	}
	for _, o := range x.sites {
		if reason := d.p.kept(o.def.pos); reason != "" {
			x.why = "kept by //lastuse:keep: " + reason
			return
		}
		if reason := d.w.expected(o); reason != "" {
			x.why = reason
			return
		}
	}
	g.liveness()
	x.pl = g.newPlanner(false)
	if why := x.pl.run(); why != "" {
		x.why, x.pl = why, nil
		return
	}
	if len(x.pl.unfixed) > 0 {
		d.hasten(x)
	}
	if len(x.pl.unfixed) > 0 {
		d.deferFree(x)
		g = x.g
	}
	d.outward(x)
	for _, fp := range x.pl.plan {
		p, why := d.give(x, fp)
		if why != "" {
			x.why = why
			x.frees = nil
			return
		}
		x.frees = append(x.frees, p.all()...)
	}
	if len(x.pl.unfixed) > 0 {
		for _, o := range g.objs {
			if at := x.pl.unfixed[o]; at != nil {
				x.why = "no place in the source where it is owned and dead on every path, before " + d.p.line(at.pos)
				x.frees = nil
				return
			}
		}
	}
	d.advance(x)
}

// hasten plans again for buffers that the program frees on some paths only, by
// calls that may be repeated: they are freed after their last use on all paths.
func (d *decider) hasten(x *decision) {
	g := x.g
	for _, o := range g.objs {
		if !x.pl.repeats[o] {
			return
		}
	}
	g.eager = true
	g.liveness()
	if pl := g.newPlanner(false); pl.run() == "" && len(pl.unfixed) == 0 {
		x.pl = pl
		return
	}
	g.eager = false
	g.liveness()
}

// outward moves frees out of literals in which no name for them is visible.
func (d *decider) outward(x *decision) {
	for range 50 {
		moved := false
		for _, fp := range x.pl.plan {
			if len(fp.gap.gap.inner) > 0 && d.w.nameAt(fp.obj, fp.gap) == nil {
				x.pl.forbid[gapKey{fp.obj, fp.gap}] = true
				moved = true
			}
		}
		if !moved {
			return
		}
		x.pl.accept = map[*block][]bool{}
		if why := x.pl.run(); why != "" {
			return
		}
	}
}

// give finds the words for one planned free.
func (d *decider) give(x *decision, fp freePoint) (planned, string) {
	pl := d.w.nameAt(fp.obj, fp.gap)
	var name string
	var t types.Type
	if pl != nil {
		name, t = pl.name, pl.typ
	} else {
		if p, ok := d.overwritten(x, fp); ok {
			return p, ""
		}
		h, why := d.hoistFor(fp.obj)
		if why == "" && !d.within(h, fp.gap.gap) {
			why = "no variable that is visible at " + d.p.line(fp.gap.pos) + " holds it there"
		}
		if why != "" {
			if p, ok := d.remembered(x, fp); ok {
				return p, ""
			}
			return planned{}, why
		}
		for _, it := range h.items {
			if it.obj == fp.obj {
				name, t = it.name, fp.obj.def.typ0()
			}
		}
		x.hoists = append(x.hoists, h)
	}
	text, why := d.w.freeText(fp.obj, name, t, fp.isNil, fp.gap.gap.scope)
	if why == "" && pl != nil && pl.via != "" && fp.isNil {
		text = guarded(pl.via, text)
	}
	keep := false
	if why != "" && pl != nil && d.w.rawLast(fp.obj) != nil {
		text, why, keep = d.keepAlive(name, fp.gap.gap.scope), "", true
		x.imports = d.p.importName(runtimePkg(d.p.types), fp.gap.gap.scope) == ""
	}
	if why != "" {
		return planned{}, why
	}
	p := planned{freePoint: fp, text: text, name: name, repeatable: x.pl.repeats[fp.obj], keep: keep}
	if pl != nil {
		p.place = pl.place
	}
	return p, ""
}

// all lists p and the save that it needs.
func (p planned) all() []planned {
	if p.before == nil {
		return []planned{p}
	}
	return []planned{p, *p.before}
}

// overwritten plans the free of a buffer whose variable gets another value in the
// statement that uses it last, as in b = b.Plus(c): the buffer is kept in a variable
// of its own over that statement.
func (d *decider) overwritten(x *decision, fp freePoint) (planned, bool) {
	g := fp.gap.gap
	as, ok := g.prev.(*ast.AssignStmt)
	if !ok || g.kind != gapStmt || as.Tok != token.ASSIGN || d.f.gotos || d.f.inLiteral(as.Pos()) {
		return planned{}, false
	}
	before := d.gapBefore(as)
	if before == nil || before.gap.list != g.list {
		return planned{}, false
	}
	pl := d.w.nameAt(fp.obj, before)
	if pl == nil || pl.via != "" {
		return planned{}, false
	}
	name := d.fresh("old")
	text, why := d.w.freeText(fp.obj, name, pl.typ, fp.isNil, g.scope)
	if why != "" {
		return planned{}, false
	}
	save := &planned{freePoint: freePoint{obj: fp.obj, gap: before}, text: name + " := " + pl.name, save: true}
	return planned{freePoint: fp, text: text, name: name, repeatable: x.pl.repeats[fp.obj], before: save}, true
}

// guarded is the statement text where via is not nil.
func guarded(via, text string) string {
	cond, body, ok := strings.Cut(text, " {\n")
	if ok && strings.HasPrefix(cond, "if ") && strings.Count(text, "\n") == 2 {
		return "if " + via + " != nil && " + strings.TrimPrefix(cond, "if ") + " {\n" + body
	}
	return "if " + via + " != nil {\n\t" + strings.ReplaceAll(text, "\n", "\n\t") + "\n}"
}

// keepAlive is the statement that keeps what name holds alive up to here.
func (d *decider) keepAlive(name string, pos token.Pos) string {
	q := d.p.importName(runtimePkg(d.p.types), pos)
	if q == "" {
		q = "runtime"
	}
	return q + ".KeepAlive(" + name + ")"
}

// runtimePkg is package runtime if p imports it.
func runtimePkg(p *types.Package) *types.Package {
	for _, q := range p.Imports() {
		if q.Path() == "runtime" {
			return q
		}
	}
	return nil
}

// within reports whether a name that h introduces is visible at g.
func (d *decider) within(h *hoist, g *gap) bool {
	if g.kind == gapReturn && g.stmt == h.stmt || g.kind == gapStmt && g.prev == h.stmt {
		return true
	}
	at := g.scope
	if g.kind == gapStmt {
		at = g.anchor
	}
	if at <= h.stmt.Pos() || at > h.list.End() {
		return false
	}
	switch h.stmt.(type) {
	case *ast.IfStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.ForStmt, *ast.RangeStmt:
	default:
		if at < h.stmt.End() {
			return false
		}
	}
	// A function literal may run at another time.
	same := true
	ast.Inspect(h.list, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok && lit.Pos() < at && at < lit.End() {
			same = false
		}
		return same && (n == nil || n.Pos() <= at)
	})
	return same
}

// feeds returns the objects that o may become, itself first.
func (g *group) feeds(o *object) []*object {
	if g.next == nil {
		g.next = map[*object][]*object{}
		for _, q := range g.objs {
			if q.kind != objPhi && !q.coll {
				continue
			}
			for _, a := range slices.Concat(g.w.stores[q.def], q.def.args) {
				if p := g.w.byDef[origin(a)]; p != nil && p != q {
					g.next[p] = append(g.next[p], q)
				}
			}
		}
	}
	seen := map[*object]bool{o: true}
	out := []*object{o}
	for i := 0; i < len(out); i++ {
		for _, q := range g.next[out[i]] {
			if !seen[q] {
				seen[q] = true
				out = append(out, q)
			}
		}
	}
	return out
}

// typeName prints an object's type for people.
func (d *decider) typeName(t types.Type) string { return d.p.typeName(t) }

// typeName prints a type as the source writes it.
func (p *pkg) typeName(t types.Type) string {
	return strings.ReplaceAll(types.TypeString(t, p.qualifier), "_Ctype_", "C.")
}

// unnamed words a buffer that no variable holds.
func (d *decider) unnamed(o *object) string {
	if c := d.callOf(o); c != nil {
		return "the result of " + c.call.name
	}
	return "the " + d.typeName(o.def.typ0())
}

// holder returns the variable that holds o first.
func (d *decider) holder(o *object) string {
	for _, m := range o.def.users {
		for _, u := range m.users {
			if m.op == opPart && u.op == opSet && u.place.root.obj != nil && types.Identical(u.place.root.typ, o.def.typ0()) {
				return u.place.root.name // a struct that is followed field by field
			}
		}
	}
	for _, m := range o.order {
		if origin(m) != o.def {
			continue
		}
		for _, u := range m.users {
			switch {
			case u.op != opSet:
			case u.place.root.obj != nil:
				return u.place.String()
			case o.def.op == opOut:
				if p := d.pointer(u.place.root); p != "" {
					return p + u.place.name
				}
			}
		}
	}
	return ""
}

// pointer returns the first variable that holds the address of r.
func (d *decider) pointer(r *root) string {
	for _, b := range d.f.rpo {
		for _, v := range b.instrs {
			if v.op == opSet && v.place.root.obj != nil && len(v.place.path) == 0 {
				if a := errRoot(v.args[0]); a.op == opAddr && a.place.root == r && len(a.place.path) == 0 {
					return v.place.root.name
				}
			}
		}
	}
	return ""
}

func (d *decider) callOf(o *object) *value {
	if o.def.op == opResult || o.def.op == opOut {
		return o.def.args[0]
	}
	return nil
}

// buffer writes the verdict on site o.
func (d *decider) buffer(x *decision, o *object) {
	b := &Buffer{Site: o.def.pos, Name: d.holder(o), Type: d.typeName(o.def.typ0())}
	if c := d.callOf(o); c != nil {
		b.Maker = c.call.name
		b.Site = c.pos
	}
	x.bufs[o] = b
	o.buf = b
	d.out.Buffers = append(d.out.Buffers, b)
	become := x.g.feeds(o)
	var frees, moves, returns, uses int
	var sink *event
	var sinkOwner *object
	for _, q := range become {
		q.eachEvent(func(e event) {
			switch e.kind {
			case evFree, evDefer:
				if e.ours {
					break
				}
				if e.own != nil && q != e.own {
					moves++
					if sink == nil {
						ev := e
						ev.why = "it is in a collection, one element of which is freed by another name"
						sink, sinkOwner = &ev, q
					}
					break
				}
				frees++
			case evMove:
				moves++
				if sink == nil || e.at.pos < sink.at.pos {
					ev := e
					sink, sinkOwner = &ev, q
				}
			case evReturn:
				if e.m == mView && !q.returned(e.at) {
					moves++
					if sink == nil {
						ev := e
						ev.why = "a view of it is returned"
						sink, sinkOwner = &ev, q
					}
				} else {
					returns++
				}
			case evRetain:
				moves++
				ev := e
				ev.why = "reference counted: retained by " + e.call.call.name
				sink, sinkOwner = &ev, q
			case evUse:
				uses++
			}
		})
	}
	keep := func(why string) {
		b.Verdict = Kept
		b.Reason = why
		if sink != nil {
			b.Sink = sink.at.pos
			b.Callee = sink.callee
			b.Path = d.w.path(sinkOwner, d.memberAt(sinkOwner, sink.at))
		}
	}
	var mine, saves []planned
	for _, p := range x.frees {
		switch {
		case !slices.Contains(become, p.obj):
		case p.save:
			saves = append(saves, p)
		default:
			mine = append(mine, p)
		}
	}
	switch {
	case x.why != "" && (x.pl == nil || len(x.pl.plan) == 0 && len(x.pl.unfixed) == 0):
		keep(x.why)
		if sink != nil && x.g.why != "" {
			b.Reason = sink.why
		}
	case x.why != "":
		// Owned to the end on some path, and no fix.
		if !d.ownsPlan(x, become) {
			d.settled(x, become, b, frees, moves, returns, sink, keep)
			return
		}
		b.Verdict = Reported
		b.Reason = x.why
		d.report(x, o, b, frees+moves+returns > 0, nil)
	case len(mine) > 0 || x.late != nil && x.late.fixed:
		b.Verdict = Inserted
		for _, p := range mine {
			b.Frees = append(b.Frees, Free{Pos: p.gap.pos, Text: oneLine([]string{p.text}), Why: d.whyHere(p)})
		}
		slices.SortStableFunc(b.Frees, func(a, c Free) int { return cmp.Compare(a.Pos, c.Pos) })
		if x.noEdit != "" {
			b.Verdict, b.Reason = Reported, x.noEdit
			d.report(x, o, b, frees+moves+returns > 0, nil)
			return
		}
		d.report(x, o, b, frees+moves+returns > 0, mine, saves...)
	default:
		if retains, frees := d.countIn(o); len(become) == 1 && frees < 1+retains && frees > 0 {
			b.Verdict = Reported
			b.Reason = fmt.Sprintf("made with one reference, retained %s, released %s", times(retains), times(frees))
			d.miscounted(o, b)
			return
		}
		d.settled(x, become, b, frees, moves, returns, sink, keep)
		if x.late != nil {
			d.reportLate(x, o, b, nil)
		}
	}
}

// perhaps returns a free that may or may not happen and after which nobody knows
// whether the buffer is owned; nil if the program is sure to free it.
func (d *decider) perhaps(x *decision, become []*object) *event {
	if x.pl == nil {
		return nil
	}
	lost := false
	for _, e := range x.pl.exits {
		for _, q := range become {
			if j := x.g.index(q); j >= 0 {
				for c := range x.g.n {
					lost = lost || e.st[j*x.g.n+c]&sMoved != 0
				}
			}
		}
	}
	var found *event
	for _, q := range become {
		q.eachEvent(func(e event) {
			if !lost || found != nil || e.kind != evFree && e.kind != evDefer || e.ours {
				return
			}
			switch {
			case e.when.K == IfTrue || e.when.K == IfFalse:
				e.why = fmt.Sprintf("%s frees it if %s is %t, which is not known here", e.call.call.name, e.call.operandName(int(e.when.Arg)), e.when.K == IfTrue)
			case e.why == "a part":
				e.why = e.call.call.name + " frees a part of what it holds"
			case e.m == mMaybe && q.holder:
				e.why = "what it holds is freed piece by piece"
			case e.when.K == Maybe:
				e.why = e.call.call.name + " frees it on some paths"
			default:
				return
			}
			e.callee = ""
			if e.call != nil {
				e.callee = e.call.call.name
			}
			found = &e
		})
	}
	return found
}

// operandName names operand i of the summary of call v.
func (v *value) operandName(i int) string {
	if v.call.sum.Recv {
		i--
	}
	if v.fn != nil && i >= 0 && i < v.fn.Signature().Params().Len() {
		if n := v.fn.Signature().Params().At(i).Name(); n != "" && n != "_" {
			return n
		}
	}
	return "argument " + itoa(i)
}

// returned reports whether o itself is among the results of the return at.
func (o *object) returned(at *value) bool {
	for _, e := range o.events[at] {
		if e.kind == evReturn && e.m == mWhole {
			return true
		}
	}
	return false
}

func (d *decider) ownsPlan(x *decision, become []*object) bool {
	for _, q := range become {
		if x.pl.unfixed[q] != nil {
			return true
		}
		for _, fp := range x.pl.plan {
			if fp.obj == q {
				return true
			}
		}
	}
	return false
}

// settled is the verdict on a buffer that needs nothing.
func (d *decider) settled(x *decision, become []*object, b *Buffer, frees, moves, returns int, sink *event, keep func(string)) {
	switch {
	case sink != nil:
		keep(sink.why)
	case returns > 0:
		b.Verdict, b.Reason = Moved, "returned to the caller"
	case frees > 0:
		if e := d.perhaps(x, become); e != nil {
			sink = e
			keep(e.why)
			return
		}
		b.Verdict = Freed
	default:
		keep("it lives until the program, or its goroutine, ends")
	}
}

// countIn counts how often o is retained and freed, if all of that happens in the
// block that makes it, once each, and nothing else may hold a reference; else it
// returns zeros.
func (d *decider) countIn(o *object) (retains, frees int) {
	if d.w.shared(o) {
		return 0, 0
	}
	same := true
	o.eachEvent(func(e event) {
		switch {
		case e.kind == evUse:
		case e.at.blk != o.def.where().blk || e.m != mWhole || e.kind != evRetain && e.when.K != Always:
			same = false
		case e.kind == evRetain:
			retains++
		case e.kind == evFree, e.kind == evDefer:
			frees++
		default:
			same = false
		}
	})
	if !same || retains == 0 {
		return 0, 0
	}
	return retains, frees
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return itoa(n) + " times"
}

// miscounted reports a buffer of which more references are taken than given back.
func (d *decider) miscounted(o *object, b *Buffer) {
	what := b.Name
	if what == "" {
		what = d.unnamed(o)
	}
	fd := &Finding{Category: CategoryLeak, Pos: b.Site, End: b.Site, Buffer: b, Message: what + " keeps a reference: " + b.Reason}
	if c := d.callOf(o); c != nil && c.end.IsValid() {
		fd.End = c.end
	}
	d.out.Findings = append(d.out.Findings, fd)
}

func (d *decider) memberAt(o *object, at *value) *value {
	for _, a := range at.args {
		if _, ok := o.members[a]; ok {
			return a
		}
	}
	return nil
}

func (d *decider) whyHere(p planned) string {
	if p.deferred {
		return "before the deferred call that reads it is registered, so that it runs after it"
	}
	switch p.gap.gap.kind {
	case gapElse, gapElseIf, gapDefault:
		return "where this path needs it no longer"
	case gapReturn:
		return "after the returned expression is evaluated"
	}
	if p.gap.gap.prev == nil {
		return "where this path needs it no longer"
	}
	return "after its last use"
}

// report adds a finding about site o.
func (d *decider) report(x *decision, o *object, b *Buffer, partly bool, mine []planned, saves ...planned) {
	if x.late != nil && len(x.pl.plan) == 0 {
		d.reportLate(x, o, b, mine)
		return
	}
	fd := &Finding{Category: CategoryUnfreed, Pos: b.Site, Buffer: b}
	fd.End = fd.Pos
	if c := d.callOf(o); c != nil && c.end.IsValid() {
		fd.End = c.end
	}
	what := b.Name
	if what == "" {
		what = d.unnamed(o)
	}
	if partly {
		fd.Category = CategoryLeak
		fd.Message = what + " is not freed on every path"
		if at := d.leakAt(x, o); at.IsValid() {
			fd.Message = fmt.Sprintf("%s is not freed on the path through %s", what, d.p.line(at))
		}
	} else {
		fd.Message = what + " is never freed"
	}
	if raw := d.rawOf(x, o); raw != nil && !partly {
		fd.Category = CategoryKeepAlive
		fd.Message = what + " is not kept alive until its raw pointer is used at " + d.p.line(raw.pos)
	}
	switch {
	case b.Name != "" && b.Maker != "":
		fd.Message += " (" + b.Type + " made by " + b.Maker + ")"
	case b.Maker != "":
		fd.Message += " (" + b.Type + ")"
	}
	if b.Verdict == Reported {
		fd.Message += "; no fix: " + b.Reason
	}
	for _, p := range mine {
		fd.Related = append(fd.Related, analysis.RelatedInformation{Pos: p.gap.pos, End: p.gap.pos, Message: oneLine([]string{p.text}) + " " + d.whyHere(p)})
	}
	if len(mine) > 0 {
		fd.Fix = "free " + what + " at its last use"
		if len(mine) > 1 {
			fd.Fix = fmt.Sprintf("free %s at its last use on each of %d paths", what, len(mine))
		}
		fd.Edits = d.together(slices.Concat(mine, saves))
	}
	d.out.Findings = append(d.out.Findings, fd)
}

// reportLate adds a finding of category late.
func (d *decider) reportLate(x *decision, o *object, b *Buffer, mine []planned) {
	if !slices.Contains(x.g.feeds(o), x.late.obj) {
		return
	}
	what := b.Name
	if what == "" {
		what = d.unnamed(o)
	}
	fd := &Finding{Category: CategoryLate, Pos: b.Site, End: b.Site, Buffer: b, Message: x.late.String(d, what)}
	if c := d.callOf(o); c != nil && c.end.IsValid() {
		fd.End = c.end
	}
	fd.Related = append(fd.Related, analysis.RelatedInformation{Pos: x.late.after, End: x.late.after, Message: "not used after this"})
	if x.late.fixed && x.noEdit == "" {
		fd.Fix = "free " + what + " after its last use"
		fd.Edits = d.together(mine)
	}
	d.out.Findings = append(d.out.Findings, fd)
}

// together returns the edits that frees need to stand alone. The text at a gap holds
// all frees that are due there, so what those of other buffers need comes along: the
// variables that hoists and saves make, and where a plan replaces frees of the
// program, that plan as a whole.
func (d *decider) together(frees []planned) []analysis.TextEdit {
	var gaps []*gap
	seen := map[*gap]bool{}
	take := func(p planned) {
		if g := p.gap.gap; !seen[g] {
			seen[g] = true
			gaps = append(gaps, g)
		}
	}
	for _, p := range frees {
		take(p)
	}
	var with []*decision
	for again := true; again; {
		again = false
		for _, x := range d.all {
			if x.noEdit != "" || slices.Contains(with, x) || !slices.ContainsFunc(x.frees, func(p planned) bool { return seen[p.gap.gap] }) {
				continue
			}
			again = true
			with = append(with, x)
			for _, p := range x.frees {
				if p.save || len(x.deletes) > 0 {
					take(p)
				}
			}
		}
	}
	var out []analysis.TextEdit
	add := func(es []analysis.TextEdit) {
		for _, e := range es {
			if !slices.ContainsFunc(out, func(y analysis.TextEdit) bool { return y.Pos == e.Pos && y.End == e.End }) {
				out = append(out, e)
			}
		}
	}
	for _, g := range gaps {
		out = append(out, d.gapEdits[g]...)
	}
	for _, x := range with {
		for _, h := range x.hoists {
			add(d.hoistEdits[h])
		}
		add(d.deletions(x))
		if x.imports && len(out) > 0 {
			add(d.p.importEdit(d.src, "runtime"))
		}
	}
	sortEdits(out)
	return out
}

// rawOf returns the last use of what o becomes if it is through a raw pointer.
func (d *decider) rawOf(x *decision, o *object) *value {
	if d.raws == nil {
		d.raws = map[*object]*value{}
	}
	for _, q := range x.g.feeds(o) {
		at, done := d.raws[q]
		if !done {
			at = d.w.rawLast(q)
			d.raws[q] = at
		}
		if at != nil {
			return at
		}
	}
	return nil
}

// leakAt is where the path that leaks ends.
func (d *decider) leakAt(x *decision, o *object) token.Pos {
	become := x.g.feeds(o)
	for _, fp := range x.pl.plan {
		if slices.Contains(become, fp.obj) {
			return fp.gap.pos
		}
	}
	for _, q := range become {
		if at := x.pl.unfixed[q]; at != nil {
			return at.pos
		}
	}
	return token.NoPos
}

// kept returns the reason of a //lastuse:keep on the line of pos.
func (p *pkg) kept(pos token.Pos) string {
	f := p.file(pos)
	if f == nil {
		return ""
	}
	m, ok := p.keeps[f]
	if !ok {
		m = keeps(p.fset, f)
		p.keeps[f] = m
	}
	return m[p.fset.PositionFor(pos, false).Line]
}

// readOnly says why the file at pos must not be edited.
func (p *pkg) readOnly(pos token.Pos) string {
	f := p.file(pos)
	if f == nil {
		return "its file is not known"
	}
	for _, im := range f.Imports {
		if im.Path.Value == `"C"` {
			return "a cgo file is not edited"
		}
	}
	if ast.IsGenerated(f) {
		switch {
		case fromCgo(f) && p.cgo:
			return ""
		case fromCgo(f):
			return "a cgo file is not edited"
		}
		return "a generated file is not edited"
	}
	return ""
}

// fromCgo reports whether f is cgo's translation of a file that imports "C".
func fromCgo(f *ast.File) bool {
	for _, g := range f.Comments {
		if g.Pos() < f.Package && strings.Contains(g.Text(), "cmd/cgo") {
			return true
		}
	}
	return false
}
