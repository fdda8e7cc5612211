package escape

// One function's groups, decided: plans with their text, checked and realized.

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
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
	copies []*value // where the same statement stands, beside gap
}

// decision is what is decided about one group.
type decision struct {
	g       *group
	pl      *planner
	why     string  // not "": no plan
	refused refusal // by the proof
	frees   []planned
	sites   []*object
	bufs    map[*object]*Buffer
	noEdit  string
	hoists  []*rewrite.Hoist

	imports bool              // the plan needs the import of runtime
	names   map[gapKey]string // variables that the plan makes for buffers
	moved   map[*object]bool  // their frees were moved out of literals

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
	src  *rewrite.Source
	skip func(o *object) bool // sites that are decided elsewhere
	bugs *[]Bug
	all  []*decision

	before map[ast.Stmt]*value // the gap in front of a statement; nil until asked for
	calls  map[*block]map[ast.Expr]int

	lates    map[*object]*lateSearch // in the group at hand
	emptied  []ast.Stmt              // tests of which moving all frees leaves nothing; nil until asked for
	at       map[*gap][]int          // which decisions free there, by index
	freed    []token.Pos             // where something is freed, ascending
	gapEdits map[*gap][]analysis.TextEdit
	hoists   *rewrite.Hoists

	hoistEdits map[*rewrite.Hoist][]analysis.TextEdit
	raws       map[*object]*value
	idom       []*block // of each block, the one that dominates it next
}

func (d *decider) decide() {
	d.planAll()
	d.tighten()
	d.withhold()
	d.realize()
	d.trace()
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

// planAll plans every group of which some site is decided here.
func (d *decider) planAll() {
	d.hoists = rewrite.NewHoists(d.f.rewriter(), d.src)
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
			x.why = "//lastuse:keep " + reason
			return
		}
		if reason := d.w.expected(o); reason != "" {
			x.why = reason
			return
		}
		if n := d.p.numbered(o.def.typ0()); n != nil {
			x.why = "a " + types.TypeString(n, types.RelativeTo(d.p.types)) + " is a number, which is not followed"
			return
		}
	}
	if d.p.proving != nil {
		g.caution = d.p.proving.cautious[x.key()]
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
		d.insideNamed(x)
	}
	if len(x.pl.unfixed) > 0 {
		d.freeInside(x)
	}
	if len(x.pl.unfixed) > 0 {
		d.deferFree(x)
		g = x.g
	}
	d.outward(x)
	for _, fp := range x.pl.plan {
		if fp.gap.gap.deferred != nil {
			continue // done
		}
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
				x.why = "no place in the source where it is owned and dead on every path, before " + report.At(at.pos)
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

// insideNamed plans again with frees inside literals that have a name and are called by it,
// directly and in one place. They are left as they are as long as that will do, since
// a literal with a name may be called again when the program changes.
func (d *decider) insideNamed(x *decision) {
	if !d.f.named {
		return
	}
	pl := x.g.newPlanner(false)
	pl.named = true
	if pl.run() == "" && len(pl.unfixed) == 0 {
		x.pl = pl
	}
}

// outward moves frees out of literals in which no name for them is visible.
func (d *decider) outward(x *decision) {
	for range 50 {
		moved := false
		for _, fp := range x.pl.plan {
			if len(fp.gap.gap.inner) > 0 && fp.gap.gap.deferred == nil && d.w.nameAt(fp.obj, fp.gap) == nil {
				x.pl.forbid[gapKey{fp.obj, fp.gap}] = true
				if x.moved == nil {
					x.moved = map[*object]bool{}
				}
				x.moved[fp.obj], moved = true, true
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
	var name, via string
	var t types.Type
	if pl != nil {
		name, via, t = pl.name, pl.via, pl.typ
	} else if x.moved[fp.obj] {
		// With a variable of its own, it could have been freed inside the literal that
		// its free was moved out of: a second run would find that.
		return planned{}, "no variable holds it inside the literal that uses it last"
	} else {
		if p, ok := d.overwritten(x, fp); ok {
			return p, ""
		}
		var h *rewrite.Hoist
		if h, name, t = d.inHeader(fp.obj, fp.gap.gap); h == nil {
			var why string
			h, name, via, why = d.hoisted(fp.obj)
			if why == "" && !d.f.rewriter().Within(h, fp.gap.gap.where()) {
				why = "no variable that is visible at " + report.At(fp.gap.pos) + " holds it there"
			}
			if why != "" {
				if p, ok := d.remembered(x, fp); ok {
					return p, ""
				}
				return planned{}, why
			}
			t = fp.obj.def.typ0()
		}
		x.hoists = append(x.hoists, h)
	}
	g := fp.gap.gap
	if g.kind == rewrite.Head {
		h := d.hoists.Head(g.stmt)
		if h == nil {
			return planned{}, "what " + report.At(g.stmt.Pos()) + " starts with cannot move"
		}
		x.hoists = append(x.hoists, h)
	}
	text, why := d.w.freeText(fp.obj, name, t, fp.isNil, g)
	if why == "" && via != "" && fp.isNil {
		if !d.p.denotes("nil", types.Universe.Lookup("nil"), g) {
			return planned{}, nilShadowed
		}
		text = guarded(via, text)
	}
	keep := false
	if why != "" && pl != nil && d.w.rawLast(fp.obj) != nil {
		text, why, keep = d.keepAlive(name, g), "", true
		x.imports = d.p.importName(runtimePkg(d.p.types), g) == ""
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
	if !ok || g.kind != rewrite.InList || as.Tok != token.ASSIGN || d.f.rewriter().JumpedOver(as.Pos(), g.list) || d.f.inLiteral(as.Pos()) {
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
	name := d.hoists.Fresh("old")
	text, why := d.w.freeText(fp.obj, name, pl.typ, fp.isNil, g)
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
func (d *decider) keepAlive(name string, g *gap) string {
	q := d.p.importName(runtimePkg(d.p.types), g)
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

// feeds returns the objects that o may become, itself first.
func (g *group) feeds(o *object) []*object {
	if len(g.objs) > maxGroup {
		return []*object{o} // it is not decided, and all that it may become is too much to tell of each
	}
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
