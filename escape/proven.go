package escape

// What the proof says of the plans. All edits of the package are made in memory and
// proven together; a decision that has a part in one which is not accepted is withdrawn,
// with the proof's reason, and its functions are decided again without it. That ends:
// each round withdraws something, and after a few of them whole functions.

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/internal/proof"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// A proving is what was learned from the proof so far.
type proving struct {
	denied   map[token.Pos]refusal // by decision: why it is withdrawn
	cautious map[token.Pos]caution // by decision: what it is planned without
	again    map[token.Pos]bool    // decisions that are planned anew in the next round
	whole    map[ast.Decl]refusal  // declarations that are left alone
	texts    map[*fn][]traced      // where the text of each edit comes from
	made     map[*fn]*Func         // what was decided, as long as it stands
	bugs     map[*fn][]Bug

	memory proof.Memory
}

// A refusal says why a plan is withheld, and which step of the proof it failed.
type refusal struct {
	why  string // "": there is none
	rule proof.Rule
	try  caution   // with which it might be accepted
	at   token.Pos // the line that stands in the way; NoPos if there is none
}

// step is the refusal for -explain.
func (r refusal) step() Step {
	return Step{r.at, "the proof stops at " + string(r.rule) + ": that " + r.rule.Shows()}
}

// A traced text says that a decision has a part in the text of an edit.
type traced struct {
	edit analysis.TextEdit
	text string // the statement, in one line
	key  token.Pos
}

// maxProofs bounds how often a package is proven before whole declarations are left alone.
const maxProofs = 7

// decideProven decides all functions until the proof accepts what is left.
func (p *pkg) decideProven(pass *analysis.Pass, fns []*fn, res *Result, read func(string) ([]byte, error)) {
	p.proving = &proving{denied: map[token.Pos]refusal{}, cautious: map[token.Pos]caution{}, whole: map[ast.Decl]refusal{}, texts: map[*fn][]traced{},
		made: map[*fn]*Func{}, bugs: map[*fn][]Bug{}}
	for round := 0; ; round++ {
		*res = Result{Pkg: res.Pkg}
		p.decideAll(fns, res, read)
		p.fieldFindings(fns, p.held, res, read)
		edits := map[string][]analysis.TextEdit{}
		for _, f := range res.Funcs {
			edits[f.Filename] = append(edits[f.Filename], f.Edits...)
		}
		if len(p.unproven(pass, fns, res, edits, read, round >= maxProofs)) == 0 {
			return
		}
		if round > 2*maxProofs { // cannot be: declarations are left alone by now
			for _, f := range res.Funcs {
				f.strip("the proof does not come to an end")
			}
			return
		}
	}
}

// strip takes all edits from a function's findings.
func (f *Func) strip(why string) {
	f.Edits = nil
	for _, fd := range f.Findings {
		if len(fd.Edits) > 0 {
			fd.Edits, fd.Fix = nil, ""
			fd.Message += "; no fix: " + why
		}
	}
}

// unproven proves the edits and withdraws what is not accepted. It returns what it withdrew.
func (p *pkg) unproven(pass *analysis.Pass, fns []*fn, res *Result, edits map[string][]analysis.TextEdit, read func(string) ([]byte, error), whole bool) []proof.Verdict {
	in := p.proofInput(pass)
	in.Memory, in.Sums = &p.proving.memory, p.proofs
	places := map[string][]placed{}
	some := false
	for _, f := range p.files {
		tf := p.fset.File(f.FileStart)
		text, err := read(tf.Name())
		if err != nil {
			text = nil
		}
		pf := proof.File{Name: tf.Name(), Old: text}
		if es := edits[tf.Name()]; len(es) > 0 {
			some = true
			pf.New, places[tf.Name()] = applied(tf, text, es)
		}
		in.Files = append(in.Files, pf)
	}
	if !some {
		return nil
	}
	withheld := proof.Check(in).Withheld()
	p.proving.again = map[token.Pos]bool{}
	for _, v := range withheld {
		p.deny(fns, v, places[v.Pos.Filename], whole)
	}
	return withheld
}

// proofInput is what the proof is told about the package.
func (p *pkg) proofInput(pass *analysis.Pass) *proof.Input {
	have := known{"unsafe": types.Unsafe}
	var add func(q *types.Package)
	add = func(q *types.Package) {
		for _, i := range q.Imports() {
			if have[i.Path()] == nil {
				have[i.Path()] = i
				add(i)
			}
		}
	}
	for _, f := range p.files {
		for _, im := range f.Imports {
			if n := p.info.PkgNameOf(im); n != nil {
				have[strings.Trim(im.Path.Value, "`\"")] = n.Imported()
			}
		}
	}
	add(p.types)
	return &proof.Input{Path: p.types.Path(), Import: have, Sizes: pass.TypesSizes, GoVersion: p.types.GoVersion(),
		Specs: p.set, Facts: proofFacts(pass)}
}

type known map[string]*types.Package

func (m known) Import(path string) (*types.Package, error) {
	if q := m[path]; q != nil {
		return q, nil
	}
	return nil, fmt.Errorf("package %s is not imported by the original", path)
}

// A placed edit has a place in the new text.
type placed struct {
	edit       analysis.TextEdit
	start, end int
}

// applied makes edits to text.
func applied(tf *token.File, text []byte, edits []analysis.TextEdit) ([]byte, []placed) {
	edits = slices.Clone(edits)
	rewrite.Sort(edits)
	var out []byte
	var at []placed
	from := 0
	for i, e := range edits {
		if i > 0 && e.Pos == edits[i-1].Pos && e.End == edits[i-1].End && string(e.NewText) == string(edits[i-1].NewText) {
			continue // two functions want the same import
		}
		start, end := tf.Offset(e.Pos), tf.Offset(e.Pos)
		if e.End.IsValid() {
			end = tf.Offset(e.End)
		}
		if start < from || start > len(text) || end > len(text) {
			return []byte("edits overlap"), nil // which does not parse
		}
		out = append(out, text[from:start]...)
		at = append(at, placed{e, len(out), len(out) + len(e.NewText)})
		out = append(out, e.NewText...)
		from = end
	}
	return append(out, text[from:]...), at
}

// deny withdraws the decisions that have a part in what is withheld; where these cannot be
// told, all of the declaration, or of the package.
func (p *pkg) deny(fns []*fn, v proof.Verdict, at []placed, whole bool) {
	no := refusal{why: "not proven: " + v.Why.Words, rule: v.Why.Rule, try: cautionFor(v.Why)}
	if v.Why.At.IsValid() {
		line := p.oldLine(v.Why.At, at)
		no.why += " (" + filepath.Base(v.Why.At.Filename) + ":" + itoa(line) + ")"
		no.at = p.lineStart(v.Why.At.Filename, line)
	}
	var in []placed
	for _, e := range at {
		if e.start <= v.Pos.Offset && v.Pos.Offset <= e.end {
			in = append(in, e)
		}
	}
	decls := p.declsAt(v, at)
	found := false
	if !whole && v.Kind != proof.Whole {
		for _, f := range fns {
			if !slices.ContainsFunc(decls, func(d ast.Decl) bool { return d.Pos() <= f.node.Pos() && f.node.End() <= d.End() }) {
				continue
			}
			for _, o := range p.proving.texts[f] {
				near := slices.ContainsFunc(in, func(e placed) bool { return e.edit.Pos == o.edit.Pos && e.edit.End == o.edit.End })
				switch {
				case v.Kind == proof.Inserted && near && o.text == v.Text,
					v.Kind == proof.Deleted && o.text == deletes,
					v.Kind == proof.Named && near:
					p.proving.refuse(o.key, no)
					found = true
				}
			}
		}
	}
	for _, d := range decls {
		if !found && p.proving.whole[d].why == "" {
			p.proving.whole[d] = no
		}
		for _, f := range fns { // they are decided again
			if d.Pos() <= f.node.Pos() && f.node.End() <= d.End() {
				delete(p.proving.made, f)
				f.flow = nil // it has marks of the plans that were made with it
			}
		}
	}
}

// refuse withdraws a decision, unless it can be tried again with more caution.
func (p *proving) refuse(key token.Pos, no refusal) {
	if p.again[key] || p.cautious[key]|no.try != p.cautious[key] {
		p.cautious[key] |= no.try
		p.again[key] = true
		return
	}
	p.denied[key] = cmp.Or(p.denied[key], no)
}

const deletes = "\x00deletes"

// oldLine returns the line in the old text of a position in the new one.
func (p *pkg) oldLine(at token.Position, edits []placed) int {
	line := at.Line
	for _, e := range edits {
		if e.start >= at.Offset {
			break
		}
		tf := p.fset.File(e.edit.Pos)
		line -= strings.Count(string(e.edit.NewText[:min(len(e.edit.NewText), at.Offset-e.start)]), "\n")
		if e.edit.End.IsValid() {
			line += tf.Line(e.edit.End) - tf.Line(e.edit.Pos)
		}
	}
	return max(line, 1)
}

// declsAt returns the declaration that a verdict is about; all where that is the package.
func (p *pkg) declsAt(v proof.Verdict, at []placed) []ast.Decl {
	var all, here []ast.Decl
	for _, f := range p.files {
		tf := p.fset.File(f.FileStart)
		for _, d := range f.Decls {
			all = append(all, d)
			if tf.Name() != v.Pos.Filename {
				continue
			}
			start, end := newOffset(at, tf, d.Pos()), newOffset(at, tf, d.End())
			if start <= v.Pos.Offset && v.Pos.Offset <= end {
				here = append(here, d)
			}
		}
	}
	if v.Func == "" || len(here) == 0 {
		return all
	}
	return here
}

// newOffset returns where a position of the old text is in the new one.
func newOffset(at []placed, tf *token.File, pos token.Pos) int {
	o := tf.Offset(pos)
	shift := 0
	for _, e := range at {
		if e.edit.Pos >= pos {
			break
		}
		shift += len(e.edit.NewText)
		if e.edit.End.IsValid() {
			shift -= int(e.edit.End - e.edit.Pos)
		}
	}
	return o + shift
}

// withhold withdraws the decisions that the proof did not accept.
func (d *decider) withhold() {
	if d.p.proving == nil {
		return
	}
	whole := d.p.deniedAt(d.f.node)
	for _, x := range d.all {
		no := cmp.Or(whole, d.p.proving.denied[x.key()])
		if no.why == "" || len(x.frees) == 0 && len(x.deletes) == 0 {
			continue
		}
		planned := x.pl != nil && len(x.pl.plan) > 0
		x.frees, x.deletes, x.hoists = nil, nil, nil
		if x.late != nil {
			x.late.noFix, x.late.fixed = no.why, false
		}
		x.refused = no
		if planned {
			x.why = no.why
		}
		d.out.withheld++
	}
}

// lineStart returns where a line of a file of the package begins, NoPos if there is none.
func (p *pkg) lineStart(name string, line int) token.Pos {
	for _, f := range p.files {
		if tf := p.fset.File(f.FileStart); tf.Name() == name && line <= tf.LineCount() {
			return tf.LineStart(line)
		}
	}
	return token.NoPos
}

// deniedAt returns why the declaration around n is left alone.
func (p *pkg) deniedAt(n ast.Node) refusal {
	if p.proving != nil {
		for d, no := range p.proving.whole {
			if d.Pos() <= n.Pos() && n.End() <= d.End() {
				return no
			}
		}
	}
	return refusal{}
}

// key tells a decision from others, in each round.
func (x *decision) key() token.Pos { return x.sites[0].def.pos }

// trace notes which decisions have a part in which edit.
func (d *decider) trace() {
	if d.p.proving == nil {
		return
	}
	var all []traced
	one := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, x := range d.all {
		if x.noEdit != "" {
			continue
		}
		if len(x.deletes) > 0 {
			all = append(all, traced{text: deletes, key: x.key()})
		}
		for _, p := range x.frees {
			for _, e := range d.gapEdits[p.gap.gap] {
				all = append(all, traced{e, one(p.text), x.key()})
			}
		}
	}
	for _, h := range byPlace(d.hoistEdits) {
		for _, e := range d.hoistEdits[h] {
			for _, x := range d.all {
				mine := slices.Contains(x.hoists, h)
				for _, p := range x.frees {
					if text := one(p.text); mine || strings.Contains(one(string(e.NewText)), text) {
						all = append(all, traced{e, text, x.key()})
					}
				}
			}
		}
	}
	d.p.proving.texts[d.f] = all
}

func byPlace(m map[*rewrite.Hoist][]analysis.TextEdit) []*rewrite.Hoist {
	var out []*rewrite.Hoist
	for h := range m {
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b *rewrite.Hoist) int { return cmp.Compare(a.Stmt.Pos(), b.Stmt.Pos()) })
	return out
}
