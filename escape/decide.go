package escape

// The package decided by the rooms (docs/rooms.md), in the form of a Result.

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/find"
	"github.com/lastuse/lastuse/escape/internal/plan"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// decide decides the package. What panics there beside all functions leaves the package alone.
func (p *subject) decide(pass *analysis.Pass, res *Result) {
	in := p.input(pass)
	left := plan.Trees(in.Types, in.Left)
	sums, failed := p.summarizeProofs(pass, left)
	fact := &effect.Fact{}
	if why := plan.Contained(func() {
		r := plan.Run(in)
		r.Settle(&plan.Asker{GoVersion: p.types.GoVersion(), Sizes: pass.TypesSizes, Sums: sums,
			Facts: proofFacts(pass), Away: awayFacts(pass)})
		p.tell(r, res)
		fact = r.Fact
	}); why != "" {
		*res = Result{Pkg: res.Pkg, Skipped: []Skipped{{p.types.Path(), p.files[0].Name.Pos(), why}}}
	}
	pass.ExportPackageFact(fact)
	exportProofs(pass, sums)
	res.Skipped = append(res.Skipped, append(failed, p.exportAway(pass, left)...)...)
}

// input is the package as the rooms get it.
func (p *subject) input(pass *analysis.Pass) *plan.Input {
	facts := effect.NewFacts(func(q *types.Package) *effect.Fact {
		var f effect.Fact
		if !pass.ImportPackageFact(q, &f) {
			return nil
		}
		return &f
	})
	return &plan.Input{Fset: p.fset, Files: p.files, Left: p.left(), Types: p.types, Info: p.info, Set: p.set,
		Facts: facts, Locked: p.lockedBy, Keep: p.spared, Text: p.text, Told: p.told}
}

// tell makes the result of what the rooms found.
func (p *subject) tell(r *plan.Result, res *Result) {
	v := &view{p: p, r: r, out: map[ast.Node]*Func{}, ends: map[*Func]token.Pos{}, has: map[token.Pos]*Func{}}
	for _, f := range r.Funcs {
		v.add(f)
	}
	for _, fd := range r.Fields {
		v.field(fd)
	}
	v.gather()
	for _, f := range v.list {
		if len(f.Buffers)+len(f.Findings) > 0 {
			res.Funcs = append(res.Funcs, f)
		}
	}
	for _, s := range r.Skipped() {
		res.Skipped = append(res.Skipped, Skipped{s.Name, s.Pos, s.Why})
	}
	for _, s := range r.Bugs() {
		res.Bugs = append(res.Bugs, Bug{s.Name, s.Pos, s.Why})
	}
	p.say(res)
}

// text returns the text of a file; nil if it cannot be read.
func (p *subject) text(name string) []byte {
	text, err := p.read(name)
	if err != nil {
		return nil
	}
	return text
}

// A view makes a Result of what the rooms found.
type view struct {
	p    *subject
	r    *plan.Result
	out  map[ast.Node]*Func
	ends map[*Func]token.Pos
	has  map[token.Pos]*Func // by where a literal begins: whose frees stand there
	list []*Func
}

// add adds what becomes of the buffers of a function, and what is wrong with them.
func (v *view) add(f *plan.Func) {
	out := v.of(f.SSA)
	out.Edits = v.r.EditsOf(f) // of all bodies of ranges in it
	for _, fr := range f.Frees {
		if fr.In != nil {
			v.has[v.r.IR.Syntax(fr.In.SSA).Pos()] = out
		}
	}
	of := map[*pointsto.Site]*Buffer{}
	for k := range f.Verdicts {
		vd := &f.Verdicts[k]
		about := func(fd find.Finding) bool { return fd.Site == vd.Site }
		if vd.Site.Begun && !slices.ContainsFunc(f.Findings, about) {
			continue // its constructor's affair
		}
		of[vd.Site] = v.buffer(f, vd)
		out.Buffers = append(out.Buffers, of[vd.Site])
		if f.Taken[vd.Site] != nil {
			out.withheld++
		}
	}
	for _, fd := range f.Findings {
		if x := v.finding(f, fd, of[fd.Site]); x != nil {
			out.Findings = append(out.Findings, x)
		}
	}
	slices.SortStableFunc(out.Buffers, func(a, b *Buffer) int { return cmp.Compare(a.Site, b.Site) })
	slices.SortStableFunc(out.Findings, func(a, b *Finding) int { return cmp.Compare(a.Pos, b.Pos) })
}

// of returns what a function is told as: the body of a range over a function is a part of its own.
func (v *view) of(f *ssa.Function) *Func {
	n := v.r.IR.Syntax(f)
	for _, body := n.(*ast.RangeStmt); body; _, body = n.(*ast.RangeStmt) {
		f = f.Parent()
		n = v.r.IR.Syntax(f)
	}
	if out := v.out[n]; out != nil {
		return out
	}
	out := &Func{Name: f.String(), Pos: n.Pos(), Filename: v.p.fset.File(n.Pos()).Name()}
	v.out[n] = out
	v.ends[out] = n.End()
	v.list = append(v.list, out)
	return out
}

// gather hands the edits of a literal to the function around it where that edits the literal, too, or has
// frees there: they are good only together.
func (v *view) gather() {
	for k, out := range v.list { // what lies inside comes behind
		for _, in := range v.list[k+1:] {
			if in.Pos >= v.ends[out] {
				break
			}
			inside := func(e analysis.TextEdit) bool { return in.Pos < e.Pos && e.Pos < v.ends[in] }
			if len(in.Edits) > 0 && (v.has[in.Pos] == out || slices.ContainsFunc(out.Edits, inside)) {
				out.Edits = append(out.Edits, in.Edits...)
				rewrite.Sort(out.Edits)
				in.Edits = nil
			}
		}
	}
}
