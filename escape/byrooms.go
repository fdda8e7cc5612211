package escape

// The package decided by the rooms that are to replace the analyzer (docs/rooms.md), in the
// form of a Result, so that all that drives the analyzer drives them, and what differs is theirs.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	placing "github.com/lastuse/lastuse/escape/internal/place"
	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
	"github.com/lastuse/lastuse/escape/internal/shadow"
)

// roomFacts says which packages the rooms have looked at. Of functions, facts are asked elsewhere.
type roomFacts struct{ pass *analysis.Pass }

func (roomFacts) summary(*types.Func) *Summary { return nil }

func (f roomFacts) reach(q *types.Package) *Reach {
	if !f.pass.ImportPackageFact(q, new(effect.Fact)) {
		return nil
	}
	return new(Reach)
}

// byRooms decides the package by the rooms.
func (p *pkg) byRooms(pass *analysis.Pass, res *Result) {
	facts := effect.NewFacts(func(q *types.Package) *effect.Fact {
		var f effect.Fact
		if !pass.ImportPackageFact(q, &f) {
			return nil
		}
		return &f
	})
	r := shadow.Run(&shadow.Input{Fset: p.fset, Files: p.files, Left: p.parsed(p.ignored), Tests: p.parsed(p.testFiles()),
		Types: p.types, Info: p.info, Set: p.set, Facts: facts, Locked: p.lockedBy, Keep: p.keepsAt,
		Text: func(name string) []byte {
			text, err := p.read(name)
			if err != nil {
				return nil
			}
			return text
		}})
	pass.ExportPackageFact(r.Fact)
	sums, failed := p.summarizeProofs(pass)
	for f, s := range sums {
		pass.ExportObjectFact(f, &Summary{Proof: s})
	}
	r.Settle(&shadow.Asker{GoVersion: p.types.GoVersion(), Sizes: pass.TypesSizes, Sums: sums, Facts: proofFacts(pass)})
	v := &roomsView{p: p, r: r, out: map[*ssa.Function]*Func{}}
	for _, f := range r.Funcs {
		v.add(f)
	}
	v.edits()
	for _, f := range v.list {
		if len(f.Buffers) > 0 {
			res.Funcs = append(res.Funcs, f)
		}
	}
	p.say(res)
	res.Skipped = failed
}

// parsed parses files that are not decided here. One that cannot be parsed is part of no build.
func (p *pkg) parsed(names []string) []*ast.File {
	var out []*ast.File
	for _, name := range names {
		if filepath.Ext(name) != ".go" {
			continue
		}
		text, err := p.read(name)
		if err != nil {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err == nil && f.Name.Name == p.types.Name() {
			out = append(out, f)
		}
	}
	return out
}

// keepsAt reports whether a directive leaves alone what is made in a line.
func (p *pkg) keepsAt(pos token.Pos) bool {
	f := p.file(pos)
	have, ok := p.keeps[f]
	if !ok {
		have = keeps(p.fset, f)
		p.keeps[f] = have
	}
	return have[p.fset.PositionFor(pos, false).Line] != ""
}

// A roomsView makes a Result of what the rooms found.
type roomsView struct {
	p    *pkg
	r    *shadow.Result
	out  map[*ssa.Function]*Func
	list []*Func
}

// add adds what becomes of the buffers of a function.
func (v *roomsView) add(f *shadow.Func) {
	out := v.of(f.SSA)
	for k := range f.Verdicts {
		vd := &f.Verdicts[k]
		b := v.buffer(f, vd)
		out.Buffers = append(out.Buffers, b)
		for _, fr := range f.Frees {
			if f.Refused == "" && slices.Contains(fr.Sites, vd.Site) {
				b.Frees = append(b.Frees, Free{Pos: fr.Pos, Text: fr.Text, Why: whyThere(&fr.Free)})
			}
		}
		switch no := f.Taken[vd.Site]; {
		case len(b.Frees) > 0:
			b.Verdict, b.Reason = Inserted, ""
		case no != nil:
			b.Reason = "not proven: " + no.Why.String()
			out.withheld++
		case vd.Due && f.Refused != "" && !vd.Held:
			b.Reason = f.Refused
		}
		if b.Verdict == Inserted {
			out.Findings = append(out.Findings, v.finding(f, vd, b))
		}
	}
	slices.SortStableFunc(out.Buffers, func(a, b *Buffer) int { return int(a.Site - b.Site) })
}

// of returns what a function is told as: the body of a range over a function is a part of its own.
func (v *roomsView) of(f *ssa.Function) *Func {
	n := v.r.IR.Syntax(f)
	for _, body := n.(*ast.RangeStmt); body; _, body = n.(*ast.RangeStmt) {
		f = f.Parent()
		n = v.r.IR.Syntax(f)
	}
	if out := v.out[f]; out != nil {
		return out
	}
	out := &Func{Name: f.String(), Pos: n.Pos(), Filename: v.p.fset.File(n.Pos()).Name()}
	v.out[f] = out
	v.list = append(v.list, out)
	return out
}

// buffer says what a site makes, and what becomes of it.
func (v *roomsView) buffer(f *shadow.Func, vd *placing.Verdict) *Buffer {
	why := v.r.Why.Of(f.Own.Func, vd)
	b := &Buffer{Site: v.r.CallAt(f, vd.Site.Pos()), Reason: why.String(), Sink: why.Pos,
		Type: types.TypeString(vd.Site.Value.Type(), func(q *types.Package) string { return q.Name() })}
	if names := v.r.IR.Names(vd.Site.Value); len(names) > 0 {
		b.Name = names[0].Name()
	}
	if c := vd.Site.Call(); c != nil && calls.Called(c) != nil {
		b.Maker = calls.Called(c).Origin().FullName()
	}
	if why.Func != nil {
		b.Callee = why.Func.FullName()
	}
	switch why.Cause {
	case report.Unmoved:
		b.Verdict, b.Reason = Freed, ""
	case report.Returned:
		b.Verdict = Moved
	}
	return b
}

// whyThere says why a free stands where it does.
func whyThere(f *placing.Free) string {
	switch {
	case f.At.Deferred:
		return "before the deferred call that reads it is registered, so that it runs after it"
	case f.At.Place == nil:
		return "after the returned expression is evaluated"
	}
	return "after its last use, or where this path needs it no longer"
}

// finding says that frees are inserted.
func (v *roomsView) finding(f *shadow.Func, vd *placing.Verdict, b *Buffer) *Finding {
	what := b.Name
	if what == "" {
		what = "the result of " + b.Maker
	}
	fd := &Finding{Category: CategoryUnfreed, Pos: b.Site, End: b.Site, Buffer: b, Fix: "free " + what + " at its last use",
		Message: what + " is not freed on every path (" + b.Type + ")"}
	for _, fr := range b.Frees {
		text := rewrite.OneLine([]string{fr.Text})
		fd.Related = append(fd.Related, analysis.RelatedInformation{Pos: fr.Pos, End: fr.Pos, Message: strings.TrimSpace(text) + " " + fr.Why})
	}
	return fd
}

// edits gives each declaration the edits in it, and those to its first finding: they are good together only.
func (v *roomsView) edits() {
	for file, edits := range v.r.Edits {
		for _, d := range file.Decls {
			var es []analysis.TextEdit
			for _, e := range edits {
				if d.Pos() <= e.Pos && e.Pos <= d.End() {
					es = append(es, e)
				}
			}
			for _, f := range v.list {
				if len(es) > 0 && d.Pos() <= f.Pos && f.Pos < d.End() && len(f.Findings) > 0 {
					f.Edits, es = es, nil
					f.Findings[0].Edits = f.Edits
				}
			}
		}
	}
}
