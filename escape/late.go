package escape

// Late frees: the program frees on every path, but holds the memory through a
// loop, an allocation or a call that blocks. And raw pointers that outlive the
// last use of their buffer.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// blocking are functions known to wait.
var blocking = map[string]bool{
	"time.Sleep": true, "(*sync.WaitGroup).Wait": true, "(*sync.Cond).Wait": true,
	"(*golang.org/x/sync/errgroup.Group).Wait": true,
	"net/http.Get": true, "net/http.Post": true, "(*net/http.Client).Do": true, "net/http.ListenAndServe": true,
	"(*os/exec.Cmd).Run": true, "(*os/exec.Cmd).Wait": true, "(*os/exec.Cmd).Output": true, "(*os/exec.Cmd).CombinedOutput": true,
	"(*github.com/lastuse/lastuse/alloc.Stream).Sync":        true,
	"(*github.com/lastuse/lastuse/alloc.Stream).SyncContext": true,
	"(github.com/lastuse/lastuse/alloc.Event).Sync":          true,
}

// late reports buffers of a group whose frees come late.
func (d *decider) late(x *decision) {
	g := x.g
	if x.pl == nil || x.why != "" || len(x.frees) > 0 || len(x.pl.plan) > 0 {
		return
	}
	deferred, explicit := false, false
	for _, o := range g.objs {
		if o.coll {
			return
		}
		for _, evs := range o.events {
			for _, e := range evs {
				switch {
				case e.kind == evUse:
				case e.kind == evFree && e.when.K == Always && e.m == mWhole:
					explicit = true
				case e.kind == evDefer && e.when.K == Always && e.m == mWhole:
					deferred = true
				default:
					return
				}
			}
		}
	}
	if !deferred && !explicit {
		return
	}
	// Plan as if the program freed nothing.
	saved := make([]map[*value][]event, len(g.objs))
	for i, o := range g.objs {
		saved[i] = o.events
		o.events = map[*value][]event{}
		for at, evs := range saved[i] {
			if slices.ContainsFunc(evs, func(e event) bool { return e.kind == evUse }) {
				o.events[at] = []event{{kind: evUse, at: at}}
			}
		}
	}
	g2 := &group{w: g.w, objs: g.objs}
	var pl *planner
	if g2.prepare(); g2.why == "" {
		g2.liveness()
		pl = g2.newPlanner(false)
		if pl.run() != "" || len(pl.unfixed) > 0 {
			pl = nil
		}
	}
	for i, o := range g.objs {
		o.events = saved[i]
	}
	if pl == nil {
		return
	}
	type early struct {
		fp    freePoint
		cause string
		at    token.Pos
	}
	var points []early
	for _, fp := range pl.plan {
		cause, at := d.lateness(fp)
		points = append(points, early{fp, cause, at})
	}
	for _, o := range x.sites {
		become := g.feeds(o)
		var mine []early
		for _, p := range points {
			if slices.Contains(become, p.fp.obj) && p.cause != "" {
				mine = append(mine, p)
			}
		}
		if len(mine) == 0 {
			continue
		}
		b := o.buf
		fd := &Finding{Category: CategoryLate, Pos: b.Site, End: b.Site, Buffer: b}
		if c := d.callOf(o); c != nil && c.end.IsValid() {
			fd.End = c.end
		}
		what := b.Name
		if what == "" {
			what = "a " + b.Type
		}
		fd.Message = fmt.Sprintf("%s is freed late: %s at %s comes between its last use and its free", what, mine[0].cause, d.p.line(mine[0].at))
		if mine[0].cause == deferInLoop {
			fd.Message = fmt.Sprintf("%s is freed late: the call deferred in a loop at %s runs when the function returns", what, d.p.line(mine[0].at))
		}
		fd.Related = append(fd.Related, analysis.RelatedInformation{Pos: mine[0].fp.gap.pos, End: mine[0].fp.gap.pos, Message: "not used after this"})
		d.out.Findings = append(d.out.Findings, fd)
		if why := d.p.readOnly(d.f.node.Pos()); why != "" || d.src == nil {
			continue
		}
		repeatable := true
		for _, q := range become {
			repeatable = repeatable && x.pl.repeats[q]
		}
		var moved []*value // explicit frees that go
		if !deferred {
			for _, q := range become {
				for at := range q.events {
					if slices.ContainsFunc(q.events[at], func(e event) bool { return e.kind == evFree }) && !slices.Contains(moved, at) {
						moved = append(moved, at)
					}
				}
			}
			slices.SortFunc(moved, func(a, b *value) int { return int(a.pos - b.pos) })
		} else if !repeatable {
			fd.Message += "; no fix: a second free would be an error"
			continue
		}
		var edits []analysis.TextEdit
		ok := true
		for _, p := range points {
			if !slices.Contains(become, p.fp.obj) || deferred && p.cause == "" {
				continue
			}
			pl := d.w.nameAt(p.fp.obj, p.fp.gap)
			if pl == nil {
				ok = false
				break
			}
			text, why := d.w.freeText(p.fp.obj, pl.String(), pl.typ, p.fp.isNil, p.fp.gap.gap.scope)
			es, why2 := d.p.edits(d.src, d.f, p.fp.gap.gap, []string{text}, nil)
			if why != "" || why2 != "" || p.fp.gap.gap.kind == gapReturn {
				ok = false
				break
			}
			edits = append(edits, es...)
		}
		for _, at := range moved {
			e, can := d.deletion(at)
			if !can {
				ok = false
				break
			}
			edits = append(edits, e)
		}
		sortEdits(edits)
		if !ok || d.src.parses(edits) != "" || overlaps(edits, d.out.Edits) {
			continue
		}
		fd.Fix = "free " + what + " after its last use"
		fd.Edits = edits
		d.out.Edits = append(d.out.Edits, edits...)
		sortEdits(d.out.Edits)
	}
}

func overlaps(a, b []analysis.TextEdit) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Pos < y.End && y.Pos < x.End {
				return true
			}
		}
	}
	return false
}

const deferInLoop = "a deferred call in a loop"

// lateness finds what comes between an early free and the program's own.
func (d *decider) lateness(fp freePoint) (string, token.Pos) {
	o := fp.obj
	for at, evs := range o.events {
		for _, e := range evs {
			if e.kind == evDefer && at.blk.loopDepth > 0 && o.def.blk.loopDepth > 0 {
				return deferInLoop, at.pos
			}
		}
	}
	seen := map[*block]bool{}
	type item struct {
		b *block
		i int
	}
	stack := []item{{fp.gap.blk, fp.gap.at + 1}}
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		stopped := false
		for i := it.i; i < len(it.b.instrs) && !stopped; i++ {
			v := it.b.instrs[i]
			for _, e := range o.events[v] {
				if e.kind == evFree {
					stopped = true
				}
			}
			if stopped || v == o.def.where() {
				stopped = true
				break
			}
			switch v.op {
			case opCall:
				for _, r := range v.call.sum.Res {
					if r.Owned {
						return "the allocation by " + v.call.name, v.pos
					}
				}
				if v.fn != nil && blocking[v.fn.FullName()] {
					return "the call of " + v.call.name + ", which waits,", v.pos
				}
			case opRecv, opSend:
				return "a channel operation", v.pos
			}
		}
		if stopped {
			continue
		}
		for _, s := range it.b.succs {
			if seen[s] {
				continue
			}
			seen[s] = true
			if s.order > it.b.order && s != o.def.blk {
				for _, p := range s.preds {
					if p.order >= s.order && p.order >= 0 {
						return "the loop", firstPos(s)
					}
				}
			}
			stack = append(stack, item{s, 0})
		}
	}
	return "", token.NoPos
}

func firstPos(b *block) token.Pos {
	for range 10 {
		for _, v := range b.instrs {
			if v.pos.IsValid() && v.op != opPhi {
				return v.pos
			}
		}
		if len(b.succs) == 0 {
			break
		}
		b = b.succs[0]
	}
	return token.NoPos
}

// deletion removes the statement that is the call at.
func (d *decider) deletion(at *value) (analysis.TextEdit, bool) {
	var none analysis.TextEdit
	call, ok := at.expr.(*ast.CallExpr)
	if !ok {
		return none, false
	}
	stmt, _, why := d.statementOf(call)
	ex, isExpr := stmt.(*ast.ExprStmt)
	if why != "" || !isExpr || ex.X != ast.Expr(call) {
		return none, false
	}
	from, to := d.src.off(stmt.Pos()), d.src.off(stmt.End())
	_, first := d.src.indent(from)
	end, clean := d.src.restIsComment(to)
	if !first || !clean || strings.TrimSpace(string(d.src.text[to:end])) != "" {
		return none, false
	}
	if end < len(d.src.text) && d.src.text[end] == '\r' {
		end++
	}
	if end < len(d.src.text) {
		end++
	}
	return d.src.edit(d.src.lineStart(from), end, ""), true
}

// Raw pointers.

func rawType(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && (b.Kind() == types.UnsafePointer || b.Kind() == types.Uintptr)
}

// raw reports whether member m of o was reached through a raw pointer.
func (o *object) raw(m *value) bool {
	for i := 0; m != nil && m != o.def && i < 100; i++ {
		if rawType(m.typ0()) {
			return !rawType(o.def.typ0())
		}
		m = o.from[m]
	}
	return false
}

// rawLast returns a use through a raw pointer after which the buffer is not
// used otherwise, nil if there is none.
func (w *flow) rawLast(o *object) *value {
	if rawType(o.def.typ0()) {
		return nil
	}
	isRaw := func(at *value) bool {
		any := false
		for _, a := range at.args {
			if _, ok := o.members[a]; ok {
				if !o.raw(a) {
					return false
				}
				any = true
			}
		}
		return any
	}
	var raws []*value
	for at := range o.events {
		if isRaw(at) && (at.op == opCall || at.op == opUse) {
			raws = append(raws, at)
		}
	}
	slices.SortFunc(raws, func(a, b *value) int { return int(a.pos - b.pos) })
	for _, at := range raws {
		if !w.usedAfter(o, at, isRaw) {
			return at
		}
	}
	return nil
}

// usedAfter reports whether an event of o that is not raw can be reached from at.
func (w *flow) usedAfter(o *object, at *value, isRaw func(*value) bool) bool {
	seen := map[*block]bool{}
	type item struct {
		b *block
		i int
	}
	stack := []item{{at.blk, at.at + 1}}
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		stopped := false
		for i := it.i; i < len(it.b.instrs); i++ {
			v := it.b.instrs[i]
			if v == o.def.where() {
				stopped = true
				break
			}
			if len(o.events[v]) > 0 && !isRaw(v) {
				return true
			}
			if v.op == opPhi && w.owner[v] && slices.ContainsFunc(v.args, func(a *value) bool { return origin(a) == o.def }) {
				return true // goes on under another name
			}
		}
		if stopped {
			continue
		}
		for _, s := range it.b.succs {
			if !seen[s] {
				seen[s] = true
				stack = append(stack, item{s, 0})
			}
		}
	}
	return false
}

// importEdit adds an import of path to the file; nil if it has one.
func (p *pkg) importEdit(s *source, path string) []analysis.TextEdit {
	quoted := `"` + path + `"`
	for _, im := range s.tree.Imports {
		if im.Path.Value == quoted {
			return nil
		}
	}
	nl := s.newline()
	for _, d := range s.tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		if !g.Lparen.IsValid() {
			o := s.off(g.End())
			return []analysis.TextEdit{s.edit(o, o, nl+"import "+quoted)}
		}
		// Into the first group, in order.
		at := s.off(g.Lparen) + 1
		for i, sp := range g.Specs {
			im := sp.(*ast.ImportSpec)
			if i > 0 && s.file.Line(im.Pos()) > s.file.Line(g.Specs[i-1].End())+1 || im.Path.Value > quoted {
				break
			}
			at = s.off(im.End())
		}
		return []analysis.TextEdit{s.edit(at, at, nl+"\t"+quoted)}
	}
	o := s.off(s.tree.Name.End())
	return []analysis.TextEdit{s.edit(o, o, nl+nl+"import "+quoted)}
}
