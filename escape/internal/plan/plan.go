// Package plan runs the rooms of the analyzer over a package: from its syntax to edits that the proof
// accepts, findings, and the reason of each buffer that is kept.
//
// # The way through
//
// [Run] builds the form and takes functions in the order in which they call one another. First it
// looks for methods that free what they are called on, and at nothing but what they lead to.
// Then it solves all functions, infers their summaries, and again for circles until nothing gets worse; it
// places frees, and makes edits of them. [Result.Text] is a file with its edits. [Result.Settle]
// asks the proof about them, and takes back what it does not accept.
//
// # What is not decided
//
// A function in which a room panics, or that is too large, is skipped ([Result.Skipped]): as callers see it,
// it may do anything, and it has no frees. If only its edits cannot be made, it keeps what is known of it. A
// reason in words goes with each, to callers in other packages as well.
package plan

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/find"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/member"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/place"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/spec"
)

// An Input is a package that was type-checked without errors, and specs with its directives.
type Input struct {
	Fset  *token.FileSet
	Files []*ast.File
	Left  []calls.File // of the package, that are not looked at with it; not type-checked
	Types *types.Package
	Info  *types.Info
	Set   *spec.Set
	Text  func(file string) []byte // what was parsed, by the name of the file
	Facts *effect.Facts            // of packages that it imports; may be nil
	Limit int                      // instructions of a function that is decided; 0 for the usual one
	Told  bool                     // nobody asks for more than the fact

	Locked func(f *ast.File) string      // why a file is not edited; may be nil, "" if it is
	Keep   func(s *pointsto.Site) string // why what it makes is to be left alone; may be nil, "" if it is not
}

// A Func is what the rooms found out about a function or literal.
type Func struct {
	SSA      *ssa.Function
	Own      *own.Func
	Summary  *effect.Summary // of declared functions
	Frees    []*Free
	Verdicts []place.Verdict
	Lates    []*Late
	Findings []find.Finding
	Refused  string                      // why its frees are not written; "" if they are
	Taken    map[*pointsto.Site]*Refusal // what is not freed after all on some way, and what the proof says
	Kept     map[*pointsto.Site]string   // what is to be left alone, and why
	Unfreed  map[*pointsto.Site]string   // what no function is known to free, and why
}

// A Free is a free with the text of its statement, and behind or in front of what that stands.
type Free struct {
	place.Free
	Text string
	Pos  token.Pos
	Edge bool  // it stands in front of all that a way does behind a branch
	Late *Late // of which it is a part; nil if of none
	In   *Func // the literal in which it stands, whose text that is; nil: its function
}

// A Late is what is freed late, by the program or by a plan. Without a fix, its buffers are freed as if it
// were not.
type Late struct {
	*place.Late
	No      string // why there is no fix; "" if there is one
	Without []*Free
}

// A Result is the functions of a package, in the order of the text.
type Result struct {
	IR    *ir.Package
	Funcs []*Func
	Fact  *effect.Fact // what packages that import it are told
	Why   *report.Reasons
	// What methods of the package's types forget and lose.
	Fields []member.Finding
	Edits  map[*ast.File][]analysis.TextEdit // sorted
	in     *Input
	ed     *editor
	failed *failures
}

// Run runs the rooms over a package.
func Run(in *Input) *Result {
	frees := effect.NewFrees(in.Set, in.Types, in.Facts)
	to := &memory.Input{Frees: frees}
	failed := &failures{skipped: map[*ssa.Function]string{}, bugs: map[*ssa.Function]string{}}
	ed := newEditor(in, frees, failed)
	ed.keeps = collected(in, frees)
	promises := promises(in)
	owns := owners(in, frees, promises)
	follow := func(t types.Type) bool {
		return frees.Named(t) || ed.keeps.At(t) != nil || owns(t) || effect.Leads(t, owns)
	}
	p := ir.Build(&ir.Input{Fset: in.Fset, Files: in.Files, Types: in.Types, Info: in.Info, Follow: follow,
		Heads: ed.heads, Frees: frees.Silent})
	away := &calls.Elsewhere{}
	for _, f := range in.Files {
		away.Built(f)
	}
	for _, f := range in.Left {
		away.Left(f)
	}
	to.IR = p
	s := &solver{in: in, to: to, frees: frees, owns: owns, world: calls.NewWorld(p.SSA, away), promises: promises,
		failures: failed}
	s.begin()
	fns := calls.Functions(p.SSA)
	order := calls.Order(fns, s.table.Callees)
	s.findFrees(order)
	s.begin()
	for _, round := range order {
		s.round(round)
		for _, f := range round.Funcs {
			if sf := s.of[f]; in.Told && sf.Own != nil {
				sf.Own = &own.Func{Func: sf.Own.Func} // states are for who decides
			}
		}
	}
	r := &Result{IR: p, in: in, ed: ed, failed: failed}
	r.Why = &report.Reasons{Funcs: map[*types.Func]*pointsto.Func{}, Runs: s.table.Runs, Names: p.Names, Known: s.told}
	for f, sf := range s.of {
		if fn := calls.Declared(f); fn != nil && sf.Own != nil {
			r.Why.Funcs[fn] = sf.Own.Func
		}
	}
	r.Fact = s.table.Fact(frees, r.Why.Given)
	if !in.Told {
		r.decide(s, fns)
	}
	return r
}

// decide decides the functions of a package, of which what callers see is known.
func (r *Result) decide(s *solver, fns []*ssa.Function) {
	r.ed.place(r.IR, s.table)
	var solved []*own.Func
	for _, f := range fns { // those that have nothing to free as well
		if sf := s.of[f]; sf != nil && sf.Own != nil {
			solved = append(solved, sf.Own)
		}
	}
	var torn []member.Finding
	r.failed.whole = Contained(func() { torn = member.Torn(solved, s.frees) })
	keep := untorn(torn, r.in.Keep)
	for _, f := range r.IR.Funcs {
		sf := s.of[f]
		if sf == nil || sf.Own == nil || r.failed.skip(f, Contained(func() { sf.decide(r.ed, keep, s.of) })) {
			continue
		}
		sf.Findings = slices.DeleteFunc(sf.Findings, func(fd find.Finding) bool { return tornOf(torn, fd.Site) >= 0 })
		r.Funcs = append(r.Funcs, sf)
	}
	if r.failed.whole == "" {
		r.failed.whole = Contained(func() { r.Fields = append(torn, member.Fields(solved, s.frees)...) })
	}
	r.Edits = r.ed.edits(r.Funcs)
}

// untorn adds to what is kept what two types lay claim to.
func untorn(torn []member.Finding, keep func(*pointsto.Site) string) func(*pointsto.Site) string {
	return func(s *pointsto.Site) string {
		if k := tornOf(torn, s); k >= 0 {
			return torn[k].Said + " says who frees it, and somebody else frees what its fields own"
		}
		if keep == nil {
			return ""
		}
		return keep(s)
	}
}

// tornOf returns the number of what lays claim to what a site makes beside a line; -1 if nothing does. When
// that is over nobody knows, so nothing is wrong with it.
func tornOf(torn []member.Finding, s *pointsto.Site) int {
	of := member.Named(s.Value.Type())
	return slices.IndexFunc(torn, func(fd member.Finding) bool { return fd.Type == of })
}

// decide places the frees of a function that is solved, and finds what is wrong in it.
func (f *Func) decide(ed *editor, keep func(*pointsto.Site) string, of map[*ssa.Function]*Func) {
	var frees []place.Free
	text := scribe{ed, f.SSA}
	frees, f.Verdicts = place.Plan(ed.ir, f.Own, text)
	for _, fr := range frees {
		f.Frees = append(f.Frees, &Free{Free: fr})
	}
	f.keep(func(s *pointsto.Site) string {
		if i := shared(f.Own, s); i != nil {
			return fmt.Sprintf("what it is made of is freed by itself in line %d", ed.in.Fset.Position(i.Pos()).Line)
		}
		return keep(s)
	})
	f.unfreed(ed)
	lates := place.Lates(ed.ir, f.Own, text, frees, text.rooms(f.Frees))
	f.advance(ed, lates)
	f.Findings = find.Find(f.Own, frees, f.Verdicts, lates)
	f.keepAlive(ed)
	f.inside(ed, of)
}

// keep leaves alone what why has a reason for, and what is freed together with that.
func (f *Func) keep(why func(*pointsto.Site) string) {
	f.Kept = map[*pointsto.Site]string{}
	for k := range f.Verdicts {
		s := f.Verdicts[k].Site
		if why == nil || f.Kept[s] != "" {
			continue
		}
		if text := why(s); text != "" {
			f.Kept[s] = text
			f.without([]*pointsto.Site{s}, func(s *pointsto.Site) { f.Kept[s] = text })
		}
	}
}

// unfreed leaves alone what no function frees, whoever made it, or one of a package that is not imported, and
// that of which somebody may have a part: if he counts on its owner, it is not over where the function needs
// it last.
func (f *Func) unfreed(e *editor) {
	f.Unfreed = map[*pointsto.Site]string{}
	for _, fr := range slices.Clone(f.Frees) {
		why, free := "", e.frees.Of(fr.Name.Type())
		if free != nil {
			free = free.Made(makers(fr.Sites))
		}
		switch {
		case free == nil && e.frees.Of(fr.Name.Type()) != nil:
			why = e.noFree(fr.Name.Type())
		case free != nil && !e.imports(e.unit(f.SSA), free):
			why = "the package of what frees it is not imported here"
		case slices.ContainsFunc(fr.Sites, func(s *pointsto.Site) bool { return s.Parts }):
			why = "somebody may have a part of it"
		}
		if why != "" {
			f.without(fr.Sites, func(s *pointsto.Site) { f.Unfreed[s] = why })
		}
	}
}

// noFree says that nothing is known to free a type, and which line names a method for it that is not there.
func (e *editor) noFree(t types.Type) string {
	text := "no function is known to free " + t.String()
	if n := member.Named(t); n != nil {
		if l := e.in.Set.Absent(n); l != nil {
			text += fmt.Sprintf("; %s:%d names %s, which is not there", filepath.Base(l.Pos.Filename), l.Pos.Line, l.Name)
		}
	}
	return text
}

// makers lists the packages whose functions make what sites stand for; nil among them for what none makes.
func makers(sites []*pointsto.Site) (out []*types.Package) {
	for _, s := range sites {
		var by *types.Package
		if c := s.Call(); c != nil {
			if fn := calls.Called(c); fn != nil {
				by = fn.Pkg()
			}
		}
		out = append(out, by)
	}
	return out
}

// without drops the frees of some sites, and those of all sites that are freed with them. It tells each.
func (f *Func) without(sites []*pointsto.Site, tell func(*pointsto.Site)) {
	gone := map[*pointsto.Site]bool{}
	for len(sites) > 0 {
		for _, s := range sites {
			gone[s] = true
			tell(s)
		}
		sites = nil
		f.Frees = slices.DeleteFunc(f.Frees, func(fr *Free) bool {
			if !slices.ContainsFunc(fr.Sites, func(s *pointsto.Site) bool { return gone[s] }) {
				return false
			}
			for _, s := range fr.Sites {
				if !gone[s] {
					sites = append(sites, s)
				}
			}
			return true
		})
	}
}
