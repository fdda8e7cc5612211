package plan

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/place"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
	"github.com/lastuse/lastuse/escape/internal/vars"
)

// An editor makes text edits of what is planned.
type editor struct {
	in    *Input
	ir    *ir.Package
	frees *effect.Frees
	pkg   *rewrite.Package
	texts map[*ast.File]*rewrite.Source
	files map[*token.File]*ast.File
	loops map[ast.Stmt]ast.Node // the function that a loop is in
	units map[ast.Node]*unit
	parts parts
	keeps *typeutil.Map // types of values that may be kept alive: see collected
	*failures

	tolerant func(free *types.Func) bool // whether what it frees may be nil
}

// A unit is a declared function or a literal, with the bodies of ranges over functions in it.
type unit struct {
	fn      *rewrite.Func
	src     *rewrite.Source
	calls   map[token.Pos]*ast.CallExpr       // by their left parenthesis
	returns map[token.Pos]*ast.ReturnStmt     // by where they begin
	inside  map[*ast.ReturnStmt]*ssa.Function // in the body of which range they stand
}

func newEditor(in *Input, frees *effect.Frees, failed *failures) *editor {
	e := &editor{in: in, frees: frees, failures: failed, texts: map[*ast.File]*rewrite.Source{},
		files: map[*token.File]*ast.File{}, loops: map[ast.Stmt]ast.Node{}, units: map[ast.Node]*unit{}}
	e.pkg = &rewrite.Package{Info: in.Info, Types: in.Types, Vars: vars.New(in.Info, in.Files),
		Resource: func(t types.Type) bool { return frees.Resource(t) && !frees.Collects(t) }}
	for _, f := range in.Files {
		tf := in.Fset.File(f.FileStart)
		e.files[tf] = f
		e.texts[f] = &rewrite.Source{File: tf, Text: in.Text(tf.Name()), Tree: f, Moved: map[token.Pos]bool{}}
		e.findLoops(f)
	}
	return e
}

// findLoops notes in which function the loops of a file are.
func (e *editor) findLoops(f *ast.File) {
	var around []ast.Node
	ast.PreorderStack(f, nil, func(n ast.Node, stack []ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			around = stack
			for i := len(around) - 1; i >= 0; i-- {
				switch around[i].(type) {
				case *ast.FuncDecl, *ast.FuncLit:
					e.loops[n.(ast.Stmt)] = around[i]
					return true
				}
			}
		}
		return true
	})
}

// heads reports whether a loop may have a place in its header.
func (e *editor) heads(loop ast.Stmt) bool {
	n := e.loops[loop]
	if n == nil {
		return false
	}
	u := e.unitAt(n)
	if u.fn.StartsWith(loop) == nil {
		return false
	}
	host, list, why := u.fn.Hosted(loop) // which asks of no call whether it frees
	return why == "" && !u.fn.JumpedOver(host.Pos(), list)
}

// unitAt returns the unit that a function or a literal is.
func (e *editor) unitAt(n ast.Node) *unit {
	if u := e.units[n]; u != nil {
		return u
	}
	u := &unit{src: e.texts[e.files[e.in.Fset.File(n.Pos())]], calls: map[token.Pos]*ast.CallExpr{},
		returns: map[token.Pos]*ast.ReturnStmt{}, inside: map[*ast.ReturnStmt]*ssa.Function{}}
	gotos := false
	ast.Inspect(n, func(m ast.Node) bool {
		switch m := m.(type) {
		case *ast.CallExpr:
			u.calls[m.Lparen] = m
		case *ast.BranchStmt:
			gotos = gotos || m.Tok == token.GOTO
		case *ast.ReturnStmt:
			u.returns[m.Return] = m
		case *ast.FuncLit:
			return m == n
		}
		return true
	})
	var sig *types.Signature
	if d, ok := n.(*ast.FuncDecl); ok {
		sig = e.in.Info.Defs[d.Name].(*types.Func).Signature()
	} else {
		sig = e.in.Info.TypeOf(n.(*ast.FuncLit)).(*types.Signature)
	}
	u.fn = rewrite.NewFunc(e.pkg, n, sig, gotos)
	e.units[n] = u
	return u
}

// unit returns the unit that a function is, or is in.
func (e *editor) unit(f *ssa.Function) *unit {
	for {
		n := e.ir.Syntax(f)
		if _, body := n.(*ast.RangeStmt); !body {
			return e.unitAt(n)
		}
		f = f.Parent()
	}
}

// unitOf returns the unit in which a free of a function stands.
func (e *editor) unitOf(f *Func, fr *Free) *unit {
	if fr.In != nil {
		return e.unit(fr.In.SSA)
	}
	return e.unit(f.SSA)
}

// place takes what is known of the functions once they are built: which of them free, and the returns of
// each. Those in the body of a range over a function are its own.
func (e *editor) place(p *ir.Package, table *calls.Table) {
	e.tolerant = func(free *types.Func) bool { return table.Func(free).Params[0].TakesNil }
	e.ir = p
	e.pkg.Frees = func(call *ast.CallExpr) bool {
		f := typeutil.StaticCallee(e.in.Info, call)
		return f != nil && slices.ContainsFunc(table.Func(f).Params, func(p effect.Param) bool {
			return p.Freed.Cond == effect.Always
		})
	}
	for _, f := range p.Funcs { // what lies inside comes behind
		u, n := e.unit(f), p.Syntax(f)
		if r, ok := n.(*ast.RangeStmt); ok {
			n = r.Body
		}
		for _, r := range u.returns {
			if n.Pos() <= r.Pos() && r.End() <= n.End() {
				u.inside[r] = f
			}
		}
	}
}

// where returns where a place is in the text.
func (e *editor) where(u *unit, at place.Where) rewrite.Place {
	if at.Place == nil {
		r := u.returns[at.Return.Pos()]
		if u.fn.Settled(r) {
			return rewrite.In(u.fn.Up(r), r.Pos())
		}
		return rewrite.Place{Kind: rewrite.Return, Stmt: r, Scope: r.Pos()}
	}
	if at.Place.Kind == ir.Head {
		return rewrite.Place{Kind: rewrite.Head, Stmt: at.Place.Node.(ast.Stmt), Scope: at.Place.Pos}
	}
	switch n := at.Place.Node.(type) {
	case *ast.IfStmt:
		if at.Place.Kind == ir.ElseIf {
			return rewrite.Place{Kind: rewrite.ElseIf, Stmt: n.Else, Scope: n.Body.Lbrace}
		}
		return rewrite.Place{Kind: rewrite.Else, Stmt: n, Scope: n.Body.Lbrace}
	case *ast.SwitchStmt:
		return rewrite.Place{Kind: rewrite.Default, Stmt: n, List: n.Body, Scope: n.Body.Lbrace}
	case *ast.TypeSwitchStmt:
		return rewrite.Place{Kind: rewrite.Default, Stmt: n, List: n.Body, Scope: n.Body.Lbrace}
	default:
		return rewrite.In(n, at.Place.Pos)
	}
}

// A scribe answers what can be written in a function. Nothing is kept of what it tries.
type scribe struct {
	*editor
	f *ssa.Function
}

func (s scribe) Stands(at place.Where) *ssa.Function {
	if at.Place != nil {
		return s.f
	}
	u := s.unit(s.f)
	return u.inside[u.returns[at.Return.Pos()]]
}

func (s scribe) Names(n place.Name, at place.Where) bool {
	if n.Field != nil && !n.Field.Sayable(s.pkg.Types) {
		return false
	}
	if s.frees.Of(n.Type()) == nil && (s.keeps.At(n.Type()) == nil || at.Deferred) {
		return false // nothing could be done with it
	}
	u := s.unit(s.f)
	g := s.where(u, at)
	if at.Deferred && !at.Ends && (s.frees.Collects(n.Type()) || s.byAddress(n.Type())) {
		return false // what is there when the function ends would be freed
	}
	if free := s.frees.Of(n.Type()); free != nil && !s.says(u, free, g) {
		return false
	}
	if n.Result == nil && n.Save == nil {
		return s.pkg.Visible(n.Var, g)
	}
	return s.name(u, rewrite.NewHoists(u.fn, u.src), n, g).text != ""
}

func (s scribe) Tests(n place.Name, at place.Where) bool {
	free := s.frees.Of(n.Type())
	tolerant := !n.Through() && free != nil && !slices.ContainsFunc(free.All(), func(f *effect.Free) bool {
		return f.Func == nil || !s.tolerant(f.Func)
	})
	return tolerant || s.pkg.Denotes("nil", types.Universe.Lookup("nil"), s.where(s.unit(s.f), at))
}

// says reports whether nothing at a place hides what a free is called. A package that the file does not
// import nothing hides: see unfreed.
func (e *editor) says(u *unit, free *effect.Free, g rewrite.Place) bool {
	if free = free.Made(nil); free == nil { // it depends on who made it
		return true
	}
	return !slices.ContainsFunc(free.All(), func(free *effect.Free) bool {
		switch {
		case free.Method || !e.imports(u, free):
			return false
		case free.Func.Pkg() == e.pkg.Types:
			return !e.pkg.Denotes(free.Func.Name(), free.Func, g)
		}
		return e.pkg.ImportName(u.src.Tree, free.Func.Pkg(), g) == ""
	})
}

// imports reports whether a file has a name for what frees something.
func (e *editor) imports(u *unit, free *effect.Free) bool {
	return !slices.ContainsFunc(free.All(), func(free *effect.Free) bool {
		q := free.Func.Pkg()
		return !free.Method && q != e.pkg.Types && len(e.pkg.Imports(u.src.Tree, q)) == 0
	})
}

// elem returns the type of what is in a slice or a map.
func elem(t types.Type) types.Type {
	if m, ok := t.Underlying().(*types.Map); ok {
		return m.Elem()
	}
	return t.Underlying().(*types.Slice).Elem()
}

// A made name is one that was not there before: of a hoist, or of a statement at a place.
type made struct {
	text  string // "": there is none
	hoist *rewrite.Hoist
	save  rewrite.Place
}

// name makes a name that is visible at a place.
func (e *editor) name(u *unit, hs *rewrite.Hoists, n place.Name, g rewrite.Place) made {
	if n.Save != nil {
		at := e.where(u, place.Where{Place: n.Save})
		if !u.fn.Reaches(at, g) || !e.pkg.Visible(n.Var, at) {
			return made{}
		}
		return made{text: hs.Fresh("old"), save: at}
	}
	call, index := u.call(n.Result)
	if call == nil {
		return made{}
	}
	if n.Var != nil {
		h, name := hs.Header(n.Var, call.Pos(), n.Var.Pos(), g)
		return made{text: name, hoist: h}
	}
	h, why := hs.Call(call, index)
	if why != "" || !u.fn.Within(h, g) {
		return made{}
	}
	return made{text: h.Named(call, index), hoist: h}
}

// call returns the call that v is a result of, and which of its results it is.
func (u *unit) call(v ssa.Value) (*ast.CallExpr, int) {
	switch v := v.(type) {
	case *ssa.Call:
		return u.calls[v.Pos()], 0
	case *ssa.Extract:
		return u.calls[v.Tuple.Pos()], v.Index
	case *memory.Dropped:
		return u.calls[v.Pos()], v.N
	}
	return nil, 0
}

// edits makes the edits of all files. Those in literals come first: a statement that moves
// takes them along.
func (e *editor) edits(funcs []*Func) map[*ast.File][]analysis.TextEdit {
	for _, src := range e.texts {
		src.Inner = nil
		clear(src.Moved)
	}
	e.parts = parts{map[*Free]*part{}, map[token.Pos][]*part{}, map[*unit][]analysis.TextEdit{}, importers{}}
	by := map[*unit][]*Func{}
	var order []*unit
	for _, f := range funcs {
		for _, fr := range f.Frees { // what stands inside may come outside after all
			for _, u := range []*unit{e.unitOf(f, fr), e.unit(f.SSA)} {
				if by[u] == nil {
					order = append(order, u)
				}
				if !slices.Contains(by[u], f) {
					by[u] = append(by[u], f)
				}
			}
		}
	}
	slices.SortStableFunc(order, func(a, b *unit) int { return cmp.Compare(b.fn.Node.Pos(), a.fn.Node.Pos()) })
	for _, u := range order {
		why := ""
		if e.in.Locked != nil {
			why = e.in.Locked(u.src.Tree)
		}
		var es []analysis.TextEdit
		var parts []*part
		imports := e.parts.imports[u.src]
		if why == "" {
			es, parts, why = e.written(u, by[u])
		}
		if why != "" {
			e.parts.imports[u.src] = imports
			for _, f := range by[u] {
				if e.unit(f.SSA) == u {
					f.Refused = why
					continue
				}
				for _, fr := range slices.Clone(f.Frees) {
					if e.unitOf(f, fr) == u {
						f.stay(fr.Late, why)
					}
				}
			}
			clear(u.src.Moved)
			continue
		}
		u.src.Take(es)
		e.parts.add(u, es, parts)
	}
	out := map[*ast.File][]analysis.TextEdit{}
	for f, src := range e.texts {
		out[f] = src.Inner
	}
	return out
}

// written returns the edits of one unit, if they can be made and parse.
func (e *editor) written(u *unit, funcs []*Func) (es []analysis.TextEdit, parts []*part, why string) {
	if bug := Contained(func() { es, parts, why = e.unitEdits(u, funcs) }); e.skip(funcs[0].SSA, bug) {
		return nil, nil, bug
	}
	if why == "" {
		rewrite.Sort(es)
		if why = u.src.Parses(es, u.fn.Node); why != "" {
			e.bugs[funcs[0].SSA] = why
		}
	}
	return es, parts, why
}

// A spot is what is done at one place of the text.
type spot struct {
	at    rewrite.Place
	saves []string
	frees []string
	of    [][]*Free // what each of them is of
	part  part
}

// A draft is the edits of one unit in the making.
type draft struct {
	*editor
	u      *unit
	hoists *rewrite.Hoists
	live   map[ast.Stmt]*rewrite.Hoist
	named  map[ast.Stmt]*part // that has the names which a hoist makes
	spots  map[place.Where]*spot
	order  []*spot
	saved  map[place.Name]string

	imports []*part // that are needed for the first time
}

func newDraft(e *editor, u *unit) *draft {
	return &draft{editor: e, u: u, hoists: rewrite.NewHoists(u.fn, u.src), live: map[ast.Stmt]*rewrite.Hoist{},
		named: map[ast.Stmt]*part{}, spots: map[place.Where]*spot{}, saved: map[place.Name]string{}}
}

// unitEdits returns the edits of one unit, or why it has none.
func (e *editor) unitEdits(u *unit, funcs []*Func) ([]analysis.TextEdit, []*part, string) {
	d := newDraft(e, u)
	var frees []*Free
	for _, f := range funcs {
		for _, fr := range f.Frees {
			if e.unitOf(f, fr) == u {
				frees = append(frees, fr)
			}
		}
	}
	slices.Reverse(frees)
	slices.SortStableFunc(frees, func(a, b *Free) int { // what was made last is freed first, so deferred last
		order := cmp.Compare(b.Sites[0].Pos(), a.Sites[0].Pos())
		switch {
		case a.At.Deferred && b.At.Deferred:
			return -order
		case a.At.Deferred:
			return 1
		case b.At.Deferred:
			return -1
		}
		return order
	})
	for _, fr := range frees {
		s := d.spot(fr.At)
		s.part.frees = append(s.part.frees, fr)
		if !d.names(fr.Name, s) {
			return nil, nil, "a name cannot be made after all"
		}
	}
	d.number()
	for _, fr := range frees {
		if why := d.write(fr); why != "" {
			return nil, nil, why
		}
	}
	if why := d.between(); why != "" {
		return nil, nil, why
	}
	es, parts, why := d.edits()
	gone := d.removals(funcs)
	for _, p := range gone {
		es = append(es, p.edits...)
	}
	for _, p := range d.imports {
		es = append(es, p.edits...)
	}
	return es, slices.Concat(parts, gone, d.imports), why
}

func (d *draft) spot(at place.Where) *spot {
	if s := d.spots[at]; s != nil {
		return s
	}
	s := &spot{at: d.where(d.u, at)}
	d.spots[at] = s
	d.order = append(d.order, s)
	return s
}

// names makes the name of what is freed at a spot, if it has none; false if it cannot.
func (d *draft) names(n place.Name, at *spot) bool {
	if at.at.Kind == rewrite.Head {
		d.needs(d.hoists.Head(at.at.Stmt), at)
	}
	if n.Result == nil && n.Save == nil {
		return true
	}
	m := d.name(d.u, d.hoists, n, at.at)
	switch {
	case m.hoist != nil:
		d.needs(m.hoist, at)
	case m.text != "":
		s := d.spot(place.Where{Place: n.Save})
		at.part.needs = append(at.part.needs, &s.part)
		d.saved[n] = ""
	}
	return m.text != ""
}

// number gives the names that are made in the order of the text.
func (d *draft) number() {
	d.hoists.Number()
	for _, n := range slices.SortedFunc(maps.Keys(d.saved), func(a, b place.Name) int {
		return cmp.Or(cmp.Compare(a.Save.Pos, b.Save.Pos), cmp.Compare(a.Var.Pos(), b.Var.Pos()), cmp.Compare(a.Text(), b.Text()))
	}) {
		d.saved[n] = d.hoists.Fresh("old")
		s := d.spot(place.Where{Place: n.Save})
		s.saves = append(s.saves, d.saved[n]+" := "+n.Text())
	}
}

// called returns what a buffer is called at a spot.
func (d *draft) called(n place.Name, at *spot) string {
	switch {
	case n.Save != nil:
		return d.saved[n]
	case n.Result == nil:
		return n.Text()
	case n.Field != nil:
		return d.name(d.u, d.hoists, n, at.at).text + n.Field.Text()
	}
	return d.name(d.u, d.hoists, n, at.at).text
}

// write adds the text of a free to its spot, or returns why there is none.
func (d *draft) write(fr *Free) string {
	s := d.spot(fr.At)
	text, why := d.statement(d.u, fr.Free, d.called(fr.Name, s), s)
	if why != "" {
		return why
	}
	fr.Text, fr.Pos = text, s.at.At()
	fr.Edge = s.at.Prev == nil && s.at.Kind != rewrite.Return && s.at.Kind != rewrite.Head
	k := slices.Index(s.frees, text)
	if k < 0 {
		k = len(s.frees)
		s.frees, s.of = append(s.frees, text), append(s.of, nil)
	}
	s.of[k] = append(s.of[k], fr)
	return ""
}

// needs notes that what stands at a spot needs a hoist.
func (d *draft) needs(h *rewrite.Hoist, s *spot) {
	d.live[h.Stmt] = h
	if d.named[h.Stmt] == nil {
		d.named[h.Stmt] = new(part)
	}
	s.part.hoists = append(s.part.hoists, h.Stmt)
}

// edits puts everything in its place.
func (d *draft) edits() ([]analysis.TextEdit, []*part, string) {
	var out []analysis.TextEdit
	var parts []*part
	for _, s := range d.order {
		parts = append(parts, &s.part)
		if s.at.Kind == rewrite.Head {
			h := d.hoists.HeadOf(s.at.Stmt)
			for _, text := range s.frees {
				h.Free(len(h.Items)-1, text)
			}
			continue
		}
		of := s.at.Prev
		if s.at.Kind == rewrite.Return {
			of = s.at.Stmt
		}
		h := d.live[of]
		if h != nil && (h.Braces || s.at.Kind == rewrite.Return && len(s.frees) > 0) {
			delete(d.live, of)
			d.named[of].needs = append(d.named[of].needs, &s.part)
		} else {
			h = nil
		}
		if h == nil && len(s.saves)+len(s.frees) == 0 {
			continue // all stand in front of the statement
		}
		es, why := d.hoists.Edits(s.at, append(s.saves, s.frees...), h)
		if why != "" {
			return nil, nil, why
		}
		s.part.edits = es
		out = append(out, es...)
	}
	for _, h := range d.live {
		es := d.u.src.Hoist(h)
		d.named[h.Stmt].edits = es
		out = append(out, es...)
	}
	for _, p := range parts {
		for _, stmt := range p.hoists {
			p.needs = append(p.needs, d.named[stmt])
		}
	}
	for _, p := range d.named {
		parts = append(parts, p)
	}
	return out, parts, ""
}

// statement returns the text of a free, or why there is none.
func (d *draft) statement(u *unit, f place.Free, name string, s *spot) (text, why string) {
	free, g := d.frees.Of(f.Name.Type()), s.at
	if free == nil {
		return d.alive(name, s)
	}
	free = free.Made(makers(f.Sites))
	var tests []string
	if f.Guard && f.Name.Through() && !f.At.NonNil(f.Name.Field.Root) {
		tests = append(tests, strings.TrimSuffix(strings.TrimPrefix(name, "&"), f.Name.Field.Text())+" != nil")
	}
	if free.Each == nil {
		if f.Guard && f.Name.Nillable() && !d.tolerant(free.Func) {
			tests = append(tests, strings.TrimPrefix(name, "&")+" != nil")
		}
		if f.Unless.Var != nil {
			tests = append(tests, name+" != "+f.Unless.Text())
		}
		text = d.call(u, free, f.Name.Type(), name, g)
	} else {
		text = d.loop(u, free.Each, f, name, g)
	}
	if f.At.Deferred && !f.At.Ends {
		text = "defer " + text
	}
	if len(tests) > 0 {
		if !d.pkg.Denotes("nil", types.Universe.Lookup("nil"), g) { // the proof asks for a test
			return "", "it may be nil, and nil means something else here"
		}
		text = block("if "+strings.Join(tests, " && ")+" {", text)
	}
	if f.At.Ends && !strings.Contains(text, "\n") {
		return "defer func() { " + text + " }()", ""
	} else if f.At.Ends {
		return block("defer func() {", text) + "()", ""
	}
	return text, ""
}

// block puts statements into braces behind a head.
func block(head, text string) string {
	return head + "\n\t" + strings.ReplaceAll(text, "\n", "\n\t") + "\n}"
}

// call returns the text of the call that frees a value of a type.
func (d *draft) call(u *unit, free *effect.Free, t types.Type, name string, g rewrite.Place) string {
	if free.Method {
		return name + "." + free.Func.Name() + "()"
	}
	fn := free.Func.Name()
	if p := free.Func.Pkg(); p != d.pkg.Types {
		fn = d.pkg.ImportName(u.src.Tree, p, g) + "." + fn
	}
	if pointer(free.Func.Signature().Params().At(0).Type()) && !pointer(t) {
		name = "&" + name
	}
	return fn + "(" + name + ")"
}

// loop returns the text of a loop that frees each element of a slice or a map.
func (d *draft) loop(u *unit, each []effect.Owned, f place.Free, name string, g rewrite.Place) string {
	elem := elem(f.Name.Type())
	x := "b" // nothing else in the loop has that name
	if len(each[0].Path) > 0 {
		x = "x"
	}
	root, _, _ := strings.Cut(name, ".")
	if root == x || slices.ContainsFunc(each, func(o effect.Owned) bool {
		return !o.Method && strings.HasPrefix(d.call(u, o.Free, elem, x, g), x)
	}) {
		x = d.hoists.Fresh("x")
	}
	var lines []string
	for _, o := range each {
		of, t := x+effect.PathText(elem, o.Path), effect.At(elem, o.Path)
		text := d.call(u, o.Free, t, of, g)
		if f.Holes && effect.Nillable(t) && !d.tolerant(o.Func) {
			text = block("if "+of+" != nil {", text)
		}
		lines = append(lines, text)
	}
	return block("for _, "+x+" := range "+name+" {", strings.Join(lines, "\n"))
}

// byAddress reports whether what frees a value of type t gets the address of its variable.
func (e *editor) byAddress(t types.Type) bool {
	free := e.frees.Of(t)
	if free == nil || free.Func == nil || pointer(t) {
		return false
	}
	sig := free.Func.Signature()
	if free.Method {
		return pointer(sig.Recv().Type())
	}
	return pointer(sig.Params().At(0).Type())
}

func pointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// Text returns a file with its edits.
func (r *Result) Text(f *ast.File) string {
	text, ok := r.ed.texts[f].Apply(r.Edits[f])
	if !ok {
		panic("edit: edits overlap")
	}
	return text
}
