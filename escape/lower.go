package escape

// Source to flow form: statements.

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// maxSplice bounds the literals spliced into one function, maxValues the size
// of a function that is decided at all.
const (
	maxSplice = 200
	maxDepth  = 6
	maxValues = 400000
)

type lower struct {
	p        *pkg
	f        *fn
	cur      *block
	roots    map[*types.Var]*root
	once     map[*types.Var]bool   // function variables that are assigned where they are declared, only
	lits     map[*types.Var]*value // and the literal that they hold
	targets  []target
	labels   map[types.Object]*labelTarget
	defers   []*deferred
	depth    int // loops around
	splices  int
	splice   *splice // the literal being spliced, nil in the function's own body
	scope    ast.Node
	exposeds []exposure
	fallto   *block
	indexed  []indexedElem
	joins    []*join

	deferring *ast.DeferStmt // whose call is being lowered where it runs
}

// indexedElem says that coll[index] is elem, for variables that stay as they are.
type indexedElem struct {
	coll, index *types.Var
	elem        *value
}

type exposure struct {
	r   *root
	why string
	pos token.Pos
}

// A target is what break and continue go to.
type target struct {
	label      types.Object
	brk, cont  *block
	isSwitch   bool
	deferDepth int
}

type labelTarget struct {
	blk *block
}

// A deferred call runs at each exit where it was registered.
type deferred struct {
	reg  *place // holds const true once registered
	lit  *ast.FuncLit
	args []*place
	call *value // the opDefer, for calls that are not literals
	stmt *ast.DeferStmt
	late bool // it has the address of a variable: lowered as a call where it runs
}

// splice is the body of a literal that stands in its caller's blocks.
type splice struct {
	up      *splice
	lit     *ast.FuncLit
	sig     *types.Signature
	results []*place // where its results go
	exit    *block
	targets int
	defers  int
}

func (p *pkg) lower(f *fn) {
	l := &lower{p: p, f: f, roots: map[*types.Var]*root{}, labels: map[types.Object]*labelTarget{}}
	entry := f.newBlock("entry")
	entry.sealed = true
	l.cur = entry
	l.f.gotos = hasGoto(f.body)
	l.once, l.lits = p.assignedOnce(f.body), map[*types.Var]*value{}
	if f.sig.Recv() != nil {
		l.param(f.sig.Recv(), 0)
	}
	for i := range f.sig.Params().Len() {
		l.param(f.sig.Params().At(i), i)
	}
	for i := range f.sig.Results().Len() {
		if v := f.sig.Results().At(i); v.Name() != "" && v.Name() != "_" {
			l.declare(v)
		}
	}
	l.scope = f.body
	l.stmtList(f.body, f.body.List, f.body.Lbrace+1)
	if l.cur != nil {
		l.ret(nil, f.body.Rbrace)
	}
	for _, b := range f.blocks {
		f.seal(b)
	}
	l.closures()
	l.addresses()
	for _, e := range l.exposeds {
		if e.r.exposed == "" {
			e.r.exposed, e.r.sink = e.why, e.pos
		}
	}
	f.finish()
	if f.declined == "" && f.gotos && f.irreducible() {
		f.declined = "irreducible control flow"
	}
}

// addresses decides which variables can be reached through a pointer that is
// not followed: one that is stored, chosen by a branch, or kept in a struct.
func (l *lower) addresses() {
	sets := map[*root]int{}
	for _, b := range l.f.blocks {
		for _, v := range b.instrs {
			if v.op == opSet {
				sets[v.place.root]++
			}
		}
	}
	var pointed func(v *value, depth int) *root
	pointed = func(v *value, depth int) *root {
		v = v.find()
		switch {
		case v.op == opAddr && v.place != nil:
			return v.place.root
		case v.op == opCopy && depth < 10:
			return pointed(v.args[0], depth+1)
		}
		return nil
	}
	for _, b := range l.f.blocks {
		for _, v := range b.instrs {
			why := ""
			switch v.op {
			case opPhi:
				why = "a pointer to it is chosen by a branch"
			case opPack, opAppend:
				why = "a pointer to it is stored"
			case opStore, opSend, opGo:
				why = "a pointer to it is handed on"
			case opBound:
				why = "a pointer to it is bound to a method value"
			case opSet:
				if v.place.root.exposed != "" {
					why = "a pointer to it is stored"
				}
			}
			if why == "" || v.fwd != nil {
				continue
			}
			for i, a := range v.args {
				if v.op == opStore && i > 0 {
					continue
				}
				if r := pointed(a, 0); r != nil && r.exposed == "" && sets[r] > len(r.leaves) {
					l.exposeds = append(l.exposeds, exposure{r, why, v.pos})
				}
			}
		}
	}
}

// assignedOnce lists the variables of function type that get a value where they
// are declared and nowhere else.
func (p *pkg) assignedOnce(body *ast.BlockStmt) map[*types.Var]bool {
	n := map[*types.Var]int{}
	target := func(e ast.Expr) {
		if id, ok := ast.Unparen(e).(*ast.Ident); ok {
			if v, ok := p.info.ObjectOf(id).(*types.Var); ok {
				n[v]++
			}
		}
	}
	ast.Inspect(body, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.AssignStmt:
			for _, e := range x.Lhs {
				target(e)
			}
		case *ast.ValueSpec:
			if len(x.Values) > 0 {
				for _, e := range x.Names {
					target(e)
				}
			}
		case *ast.UnaryExpr:
			if x.Op == token.AND {
				target(x.X)
				target(x.X)
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{x.Key, x.Value} {
				if e != nil {
					target(e)
					target(e)
				}
			}
		}
		return true
	})
	once := map[*types.Var]bool{}
	for v, k := range n {
		if _, ok := v.Type().Underlying().(*types.Signature); ok && k == 1 {
			once[v] = true
		}
	}
	return once
}

// closures decides which literals are only called where they stand spliced; of
// the others, what they capture can be reached by whoever has them.
func (l *lower) closures() {
	leaves := map[*value]bool{}
	for _, b := range l.f.blocks {
		for _, v := range b.instrs {
			for _, a := range v.args {
				if a = a.find(); a.op == opClosure && v.op != opSet && v.op != opCmp && v.op != opDiscard {
					leaves[a] = true
				}
			}
			if v.op == opSet && v.place.root.exposed != "" && v.args[0].find().op == opClosure {
				leaves[v.args[0].find()] = true
			}
		}
	}
	for _, b := range l.f.blocks {
		for _, v := range b.instrs {
			if v.op != opClosure {
				continue
			}
			if !leaves[v] {
				v.args, v.captures = nil, nil
				continue
			}
			for _, r := range v.captures {
				l.exposeds = append(l.exposeds, exposure{r, "captured by a function literal at " + l.p.line(v.pos) + " that is not only called here", v.pos})
			}
		}
	}
}

func hasGoto(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BranchStmt:
			found = found || n.Tok == token.GOTO
		}
		return true
	})
	return found
}

func (l *lower) param(v *types.Var, i int) {
	x := l.emit(opParam, v.Type(), v.Pos())
	x.index = len(l.f.params)
	l.f.params = append(l.f.params, x)
	if v.Name() == "" || v.Name() == "_" {
		return
	}
	l.writeRoot(l.declare(v), x, v.Pos())
}

// declare makes the places of a new local variable.
func (l *lower) declare(v *types.Var) *root {
	r := l.newRoot(v, v.Name(), v.Type())
	l.roots[v] = r
	return r
}

func (l *lower) newRoot(v *types.Var, name string, t types.Type) *root {
	r := &root{obj: v, name: name, typ: t, depth: l.depth}
	l.p.leaves(t, 0, nil, "", func(path []int, t types.Type, name string) {
		r.leaves = append(r.leaves, &place{root: r, path: path, typ: t, name: name})
	})
	l.f.roots = append(l.f.roots, r)
	return r
}

// leaves calls add for each part of a variable of type t that is followed
// apart: structs are split down to fields if they hold a resource and are
// none themselves.
func (p *pkg) leaves(t types.Type, depth int, path []int, name string, add func([]int, types.Type, string)) {
	if st, ok := t.Underlying().(*types.Struct); ok && depth < 3 && st.NumFields() <= 32 && p.splits(t) {
		for i := range st.NumFields() {
			p.leaves(st.Field(i).Type(), depth+1, append(path[:len(path):len(path)], i), name+"."+st.Field(i).Name(), add)
		}
		return
	}
	add(path, t, name)
}

// root returns the variable's root, nil for package-level variables.
func (l *lower) root(v *types.Var) *root {
	if r := l.roots[v]; r != nil {
		return r
	}
	if v.IsField() || v.Parent() == nil || v.Parent() == l.p.types.Scope() || v.Pkg() != l.p.types {
		return nil
	}
	// A variable of an enclosing function, or one that goto jumped over.
	r := l.declare(v)
	if v.Pos() < l.f.node.Pos() || v.Pos() > l.f.node.End() {
		r.outer = true
		r.exposed, r.sink = "stored in captured variable "+v.Name(), v.Pos()
	}
	return r
}

func (l *lower) emit(o op, t types.Type, pos token.Pos, args ...*value) *value {
	v := l.f.newValue(o, t, args...)
	v.pos = pos
	l.add(v)
	return v
}

func (l *lower) add(v *value) {
	if l.cur == nil {
		l.cur = l.f.newBlock("dead")
		l.cur.sealed = true
	}
	v.blk = l.cur
	v.deferred = l.deferring
	l.cur.instrs = append(l.cur.instrs, v)
}

func (l *lower) block(label string) *block {
	b := l.f.newBlock(label)
	b.loopDepth = l.depth
	return b
}

// jump ends the current block; the next instructions are unreachable until
// start is called.
func (l *lower) jump(to *block) {
	if l.cur != nil {
		link(l.cur, to)
	}
	l.cur = nil
}

func (l *lower) start(b *block) {
	l.cur = b
}

func (l *lower) sealAndStart(b *block) {
	l.f.seal(b)
	l.cur = b
}

// readRoot returns the value of the whole variable.
func (l *lower) readRoot(r *root, pos token.Pos) *value {
	if len(r.leaves) == 1 && len(r.leaves[0].path) == 0 {
		return l.readPlace(r.leaves[0])
	}
	return l.pack(r, nil, r.typ, pos)
}

// pack gathers the leaves under path.
func (l *lower) pack(r *root, path []int, t types.Type, pos token.Pos) *value {
	v := l.f.newValue(opPack, t)
	v.pos = pos
	for _, p := range r.leaves {
		if hasPrefix(p.path, path) {
			v.args = append(v.args, l.readPlace(p))
		}
	}
	v.note = "struct"
	v.place = &place{root: r, path: path, typ: t}
	l.add(v)
	return v
}

func hasPrefix(p, prefix []int) bool {
	if len(p) < len(prefix) {
		return false
	}
	for i := range prefix {
		if p[i] != prefix[i] {
			return false
		}
	}
	return true
}

func (l *lower) readPlace(p *place) *value {
	if l.cur == nil {
		l.cur = l.f.newBlock("dead")
		l.cur.sealed = true
	}
	return l.f.read(p, l.cur)
}

func (l *lower) writePlace(p *place, v *value, pos token.Pos) {
	s := l.emit(opSet, p.typ, pos, v)
	s.place = p
	l.f.write(p, l.cur, v)
}

func (l *lower) writeRoot(r *root, v *value, pos token.Pos) {
	if x := v.find(); r.obj != nil && l.once[r.obj] && x.op == opClosure {
		l.lits[r.obj] = x
	}
	l.writeUnder(r, nil, v, pos)
}

// writeUnder assigns v to the part of r at path.
func (l *lower) writeUnder(r *root, path []int, v *value, pos token.Pos) {
	var under []*place
	for _, p := range r.leaves {
		if hasPrefix(p.path, path) {
			under = append(under, p)
		}
	}
	if len(under) == 1 && len(under[0].path) == len(path) {
		l.writePlace(under[0], v, pos)
		return
	}
	v = v.find()
	if v.op == opPack && v.note == "struct" && len(v.args) == len(under) {
		for i, p := range under {
			l.writePlace(p, v.args[i], pos)
		}
		return
	}
	for _, p := range under {
		if v.op == opNil {
			l.writePlace(p, l.nilValue(p.typ, pos), pos)
			continue
		}
		x := l.emit(opPart, p.typ, pos, v)
		x.note = p.name
		l.writePlace(p, x, pos)
	}
}

func (l *lower) nilValue(t types.Type, pos token.Pos) *value {
	return l.emit(opNil, t, pos)
}

func (l *lower) constBool(b bool) *value {
	v := l.emit(opConst, types.Typ[types.Bool], token.NoPos)
	v.index = 0
	if b {
		v.index = 1
	}
	v.note = "bool"
	return v
}

func (l *lower) gap(g *gap, pos token.Pos) {
	if l.cur == nil {
		return
	}
	if l.splice != nil {
		g.kind = gapNone
	}
	v := l.emit(opGap, nil, pos)
	v.gap = g
}

// stmtList lowers a list of statements with a gap before, between and after.
func (l *lower) stmtList(list ast.Node, stmts []ast.Stmt, head token.Pos) {
	var prev ast.Stmt
	anchor := head
	for _, s := range stmts {
		// A label's gap stands before the label: goto does not pass it.
		l.gap(&gap{kind: gapStmt, anchor: anchor, list: list, prev: prev, next: s, scope: anchor}, anchor)
		l.stmt(s)
		prev, anchor = s, s.End()
	}
	l.gap(&gap{kind: gapStmt, anchor: anchor, list: list, prev: prev, scope: anchor}, anchor)
}

func (l *lower) blockStmt(b *ast.BlockStmt) {
	l.stmtList(b, b.List, b.Lbrace+1)
}

func (l *lower) stmt(s ast.Stmt) {
	if l.f.declined != "" {
		return
	}
	if l.f.nvals > maxValues {
		l.f.declined = "too large to decide in bounded work"
		return
	}
	switch s := s.(type) {
	case *ast.BadStmt:
		l.f.declined = "does not parse"
	case *ast.EmptyStmt:
	case *ast.DeclStmt:
		l.decl(s)
	case *ast.LabeledStmt:
		l.labeled(s)
	case *ast.ExprStmt:
		v := l.exprN(s.X)
		if len(v) > 0 {
			d := l.emit(opDiscard, nil, s.Pos(), v...)
			d.expr = s.X
		}
	case *ast.SendStmt:
		ch := l.expr(s.Chan)
		v := l.expr(s.Value)
		l.emit(opSend, nil, s.Arrow, v, ch)
	case *ast.IncDecStmt:
		v := l.expr(s.X)
		x := l.emit(opPure, l.p.typeOf(s.X), s.Pos(), v)
		l.assign(s.X, x)
	case *ast.AssignStmt:
		l.assignStmt(s)
	case *ast.GoStmt:
		l.goStmt(s)
	case *ast.DeferStmt:
		l.deferStmt(s)
	case *ast.ReturnStmt:
		l.returnStmt(s)
	case *ast.BranchStmt:
		l.branch(s)
	case *ast.BlockStmt:
		l.blockStmt(s)
	case *ast.IfStmt:
		l.ifStmt(s)
	case *ast.SwitchStmt:
		l.switchStmt(s, nil)
	case *ast.TypeSwitchStmt:
		l.typeSwitch(s, nil)
	case *ast.SelectStmt:
		l.selectStmt(s, nil)
	case *ast.ForStmt:
		l.forStmt(s, nil)
	case *ast.RangeStmt:
		l.rangeStmt(s, nil)
	default:
		l.f.declined = "statement of an unknown kind"
	}
}

func (l *lower) decl(s *ast.DeclStmt) {
	d, ok := s.Decl.(*ast.GenDecl)
	if !ok || d.Tok != token.VAR {
		return
	}
	for _, sp := range d.Specs {
		vs, ok := sp.(*ast.ValueSpec)
		if !ok {
			continue
		}
		var vals []*value
		switch {
		case len(vs.Values) == 1 && len(vs.Names) > 1:
			vals = l.tuple(vs.Values[0], len(vs.Names))
		default:
			for _, e := range vs.Values {
				vals = append(vals, l.expr(e))
			}
		}
		for i, n := range vs.Names {
			v, _ := l.p.info.Defs[n].(*types.Var)
			if v == nil {
				if i < len(vals) {
					l.emit(opDiscard, nil, n.Pos(), vals[i])
				}
				continue
			}
			var x *value
			if i < len(vals) {
				x = vals[i]
			} else {
				x = l.nilValue(v.Type(), n.Pos())
			}
			if n.Name == "_" {
				l.emit(opDiscard, nil, n.Pos(), x)
				continue
			}
			l.writeRoot(l.declareAgain(v), x, n.Pos())
		}
	}
}

// declareAgain declares v, or finds its root where the same declaration is
// lowered a second time (a loop has one root for all iterations; a literal
// may be spliced twice).
func (l *lower) declareAgain(v *types.Var) *root {
	if r := l.roots[v]; r != nil {
		return r
	}
	return l.declare(v)
}

func (l *lower) labeled(s *ast.LabeledStmt) {
	obj := l.p.info.Defs[s.Label]
	lt := l.label(obj)
	l.jump(lt.blk)
	l.start(lt.blk)
	if !l.f.gotos {
		l.f.seal(lt.blk)
	}
	switch b := s.Stmt.(type) {
	case *ast.ForStmt:
		l.forStmt(b, obj)
	case *ast.RangeStmt:
		l.rangeStmt(b, obj)
	case *ast.SwitchStmt:
		l.switchStmt(b, obj)
	case *ast.TypeSwitchStmt:
		l.typeSwitch(b, obj)
	case *ast.SelectStmt:
		l.selectStmt(b, obj)
	case *ast.BlockStmt, *ast.IfStmt:
		done := l.block("label.done")
		l.targets = append(l.targets, target{label: obj, brk: done, isSwitch: true})
		l.stmt(s.Stmt)
		l.targets = l.targets[:len(l.targets)-1]
		l.jump(done)
		l.sealAndStart(done)
	default:
		l.stmt(s.Stmt)
	}
}

func (l *lower) label(obj types.Object) *labelTarget {
	lt := l.labels[obj]
	if lt == nil {
		lt = &labelTarget{blk: l.block("label")}
		l.labels[obj] = lt
	}
	return lt
}

func (l *lower) branch(s *ast.BranchStmt) {
	var obj types.Object
	if s.Label != nil {
		obj = l.p.info.Uses[s.Label]
	}
	switch s.Tok {
	case token.GOTO:
		if l.splice != nil {
			l.f.declined = "goto in a function literal"
			return
		}
		l.jump(l.label(obj).blk)
	case token.FALLTHROUGH:
		if l.fallto != nil {
			l.jump(l.fallto)
		}
	case token.BREAK, token.CONTINUE:
		for i := len(l.targets) - 1; i >= 0; i-- {
			t := l.targets[i]
			if obj != nil && t.label != obj {
				continue
			}
			if s.Tok == token.CONTINUE {
				if t.cont == nil {
					continue
				}
				l.jump(t.cont)
				return
			}
			if obj == nil && t.label != nil && t.cont == nil && !t.isSwitch {
				continue
			}
			if obj == nil && t.isSwitch && t.label != nil && t.cont == nil && t.brk.label == "label.done" {
				continue // an unlabelled break does not leave a labelled block
			}
			l.jump(t.brk)
			return
		}
		l.cur = nil
	}
}

func (l *lower) ifStmt(s *ast.IfStmt) {
	if s.Init != nil {
		l.stmt(s.Init)
	}
	then, els, done := l.block("if.then"), l.block("if.else"), l.block("if.done")
	l.cond(s.Cond, then, els)
	l.sealAndStart(then)
	l.blockStmt(s.Body)
	l.jump(done)
	l.sealAndStart(els)
	switch e := s.Else.(type) {
	case nil:
		l.gap(&gap{kind: gapElse, stmt: s, scope: s.Body.Lbrace}, s.Body.Rbrace)
	case *ast.BlockStmt:
		l.blockStmt(e)
	case *ast.IfStmt:
		l.gap(&gap{kind: gapElseIf, stmt: e, scope: s.Body.Lbrace}, e.Pos())
		l.ifStmt(e)
	}
	l.jump(done)
	l.sealAndStart(done)
}

// folded reports whether cond is a constant that holds in every build.
func (l *lower) folded(e ast.Expr) (val, ok bool) {
	tv := l.p.info.Types[e]
	if tv.Value == nil || tv.Value.Kind() != constant.Bool {
		return false, false
	}
	fixed := true
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if c, ok := l.p.info.Uses[id].(*types.Const); ok && c.Pkg() != nil && !l.p.everyBuild(c) {
				fixed = false
			}
		}
		return true
	})
	return constant.BoolVal(tv.Value), fixed
}

// cond lowers a condition to jumps.
func (l *lower) cond(e ast.Expr, t, f *block) {
	if val, ok := l.folded(e); ok {
		if val {
			l.jump(t)
		} else {
			l.jump(f)
		}
		return
	}
	switch x := e.(type) {
	case *ast.ParenExpr:
		l.cond(x.X, t, f)
		return
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			l.cond(x.X, f, t)
			return
		}
	case *ast.BinaryExpr:
		switch x.Op {
		case token.LAND:
			rhs := l.block("and.rhs")
			l.cond(x.X, rhs, f)
			l.sealAndStart(rhs)
			l.cond(x.Y, t, f)
			return
		case token.LOR:
			rhs := l.block("or.rhs")
			l.cond(x.X, t, rhs)
			l.sealAndStart(rhs)
			l.cond(x.Y, t, f)
			return
		}
	}
	v := l.expr(e)
	l.branchOn(v, t, f)
}

func (l *lower) branchOn(v *value, t, f *block) {
	if l.cur == nil {
		return
	}
	l.cur.cond = v
	link(l.cur, t)
	link(l.cur, f)
	l.cur = nil
}

// either goes to t or f; nobody knows which.
func (l *lower) either(t, f *block) {
	if l.cur == nil {
		return
	}
	link(l.cur, t)
	link(l.cur, f)
	l.cur = nil
}

func (l *lower) forStmt(s *ast.ForStmt, label types.Object) {
	if s.Init != nil {
		l.stmt(s.Init)
	}
	l.depth++
	head, body, post := l.block("for.head"), l.block("for.body"), l.block("for.post")
	l.depth--
	done := l.block("for.done")
	l.jump(head)
	l.start(head)
	l.depth++
	if s.Cond != nil {
		l.cond(s.Cond, body, done)
	} else {
		l.jump(body)
	}
	l.sealAndStart(body)
	l.targets = append(l.targets, target{label: label, brk: done, cont: post})
	l.blockStmt(s.Body)
	l.targets = l.targets[:len(l.targets)-1]
	l.jump(post)
	l.sealAndStart(post)
	if s.Post != nil {
		l.stmt(s.Post)
	}
	l.jump(head)
	l.f.seal(head)
	l.depth--
	l.sealAndStart(done)
	if len(done.preds) == 0 {
		l.cur = nil
	}
}

func (l *lower) rangeStmt(s *ast.RangeStmt, label types.Object) {
	x := l.expr(s.X)
	xt := l.p.typeOf(s.X)
	_, isFunc := xt.Underlying().(*types.Signature)
	_, isChan := xt.Underlying().(*types.Chan)
	l.emit(opUse, nil, s.X.Pos(), x)
	l.depth++
	head, body := l.block("range.head"), l.block("range.body")
	l.depth--
	done := l.block("range.done")
	l.jump(head)
	l.start(head)
	l.depth++
	if isFunc {
		// Each iteration is a call of the body by the iterator.
		l.emit(opUse, nil, s.X.Pos(), x)
	}
	seen := l.block("range.seen") // all elements were seen
	l.either(body, seen)
	mark := l.f.newValue(opLoopFree, nil, x)
	mark.pos, mark.blk = s.X.Pos(), seen
	seen.instrs = append(seen.instrs, mark)
	link(seen, done)
	l.f.seal(seen)
	l.sealAndStart(body)
	loop := &elemLoop{coll: x, head: head, body: body, mark: mark}
	keyIsElem := isFunc || isChan
	elem := func(e ast.Expr, part bool) {
		if e == nil {
			return
		}
		if id, ok := e.(*ast.Ident); ok && id.Name == "_" {
			return
		}
		var v *value
		t := l.p.typeOf(e)
		if id, ok := e.(*ast.Ident); ok && s.Tok == token.DEFINE {
			if o := l.p.info.Defs[id]; o != nil {
				t = o.Type()
			}
		}
		switch {
		case !part:
			if _, isMap := xt.Underlying().(*types.Map); isMap {
				v = l.emit(opElem, t, e.Pos(), x)
			} else {
				v = l.emit(opUnknown, t, e.Pos())
			}
			v.note = "key"
		case isFunc:
			v = l.emit(opPart, t, e.Pos(), x)
			v.note = "iterated"
		case isChan:
			v = l.emit(opRecv, t, e.Pos(), x)
		default:
			v = l.part(x, t, e.Pos(), "element", true)
			loop.elem = v
		}
		if s.Tok == token.DEFINE {
			if o, ok := l.p.info.Defs[e.(*ast.Ident)].(*types.Var); ok {
				l.writeRoot(l.declareAgain(o), v, e.Pos())
				return
			}
		}
		l.assign(e, v)
	}
	elem(s.Key, keyIsElem || isMapKeyPart(xt, l.p))
	elem(s.Value, true)
	depth := len(l.indexed)
	if key, ok := s.Key.(*ast.Ident); ok && loop.elem == nil && l.p.collects(xt) {
		// for i := range xs: the element is xs[i].
		if id, ok := ast.Unparen(s.X).(*ast.Ident); ok {
			xs, _ := l.p.info.Uses[id].(*types.Var)
			i, _ := l.p.info.ObjectOf(key).(*types.Var)
			if xs != nil && i != nil && !l.p.assigns(s.Body, xs) && !l.p.assigns(s.Body, i) {
				loop.elem = l.part(x, elemType(xt), id.Pos(), "element", true)
				l.indexed = append(l.indexed, indexedElem{xs, i, loop.elem})
			}
		}
	}
	if loop.elem != nil {
		l.f.loops = append(l.f.loops, loop)
	}
	l.targets = append(l.targets, target{label: label, brk: done, cont: head})
	l.blockStmt(s.Body)
	l.targets = l.targets[:len(l.targets)-1]
	l.indexed = l.indexed[:depth]
	l.jump(head)
	l.f.seal(head)
	l.depth--
	l.sealAndStart(done)
}

// assigns reports whether v is assigned, or its address taken, below n.
func (p *pkg) assigns(n ast.Node, v *types.Var) bool {
	found := false
	is := func(e ast.Expr) {
		if x, ok := ast.Unparen(e).(*ast.IndexExpr); ok {
			e = x.X // an element of v
		}
		if id, ok := ast.Unparen(e).(*ast.Ident); ok && p.info.ObjectOf(id) == v {
			found = true
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				is(e)
			}
		case *ast.IncDecStmt:
			is(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				is(n.X)
			}
		case *ast.RangeStmt:
			if n.Key != nil {
				is(n.Key)
			}
			if n.Value != nil {
				is(n.Value)
			}
		}
		return !found
	})
	return found
}

func isMapKeyPart(t types.Type, p *pkg) bool {
	m, ok := t.Underlying().(*types.Map)
	return ok && !plain(m.Key())
}

func (l *lower) switchStmt(s *ast.SwitchStmt, label types.Object) {
	if s.Init != nil {
		l.stmt(s.Init)
	}
	var tag *value
	if s.Tag != nil {
		tag = l.expr(s.Tag)
	}
	done := l.block("switch.done")
	var bodies []*block
	for range s.Body.List {
		bodies = append(bodies, l.block("case"))
	}
	dflt := -1
	for i, c := range s.Body.List {
		cc := c.(*ast.CaseClause)
		if cc.List == nil {
			dflt = i
			continue
		}
		for _, e := range cc.List {
			next := l.block("case.next")
			if s.Tag == nil {
				l.cond(e, bodies[i], next)
			} else {
				v := l.expr(e)
				c := l.emit(opCmp, types.Typ[types.Bool], e.Pos(), tag, v)
				c.tok = token.EQL
				l.branchOn(c, bodies[i], next)
			}
			l.sealAndStart(next)
		}
	}
	last := l.cur
	if dflt >= 0 {
		l.jump(bodies[dflt])
	} else {
		if last != nil {
			nd := l.block("no.default")
			l.jump(nd)
			l.sealAndStart(nd)
		}
		l.gap(&gap{kind: gapDefault, stmt: s, list: s.Body, scope: s.Body.Lbrace}, s.Body.Rbrace)
		l.jump(done)
	}
	l.targets = append(l.targets, target{label: label, brk: done, isSwitch: true})
	for i, c := range s.Body.List {
		cc := c.(*ast.CaseClause)
		up := l.fallto
		l.fallto = nil
		if i+1 < len(bodies) {
			l.fallto = bodies[i+1]
		}
		// The block of the next case stays open for fallthrough.
		l.start(bodies[i])
		l.f.seal(bodies[i])
		l.caseBody(cc, cc.Body, cc.Colon+1)
		l.fallto = up
		l.jump(done)
	}
	l.targets = l.targets[:len(l.targets)-1]
	l.sealAndStart(done)
}

// caseBody lowers the statements of a clause; fallthrough must stay last.
func (l *lower) caseBody(list ast.Node, stmts []ast.Stmt, head token.Pos) {
	l.stmtList(list, stmts, head)
}

func (l *lower) typeSwitch(s *ast.TypeSwitchStmt, label types.Object) {
	if s.Init != nil {
		l.stmt(s.Init)
	}
	var x *value
	switch a := s.Assign.(type) {
	case *ast.ExprStmt:
		x = l.expr(a.X.(*ast.TypeAssertExpr).X)
	case *ast.AssignStmt:
		x = l.expr(ast.Unparen(a.Rhs[0]).(*ast.TypeAssertExpr).X)
	}
	done := l.block("switch.done")
	l.targets = append(l.targets, target{label: label, brk: done, isSwitch: true})
	hasDefault := false
	var dfl *ast.CaseClause
	clause := func(cc *ast.CaseClause) {
		if v, ok := l.p.info.Implicits[cc].(*types.Var); ok {
			c := l.emit(opCopy, v.Type(), cc.Pos(), x)
			l.writeRoot(l.declareAgain(v), c, cc.Pos())
		}
		l.stmtList(cc, cc.Body, cc.Colon+1)
		l.jump(done)
	}
	concrete := concreteType(x)
	for _, c := range s.Body.List {
		cc := c.(*ast.CaseClause)
		if cc.List == nil {
			hasDefault, dfl = true, cc
			continue
		}
		body, next := l.block("case"), l.block("case.next")
		switch l.matches(concrete, cc.List) {
		case yes:
			l.jump(body)
		case no:
			l.jump(next)
		default:
			l.either(body, next)
		}
		l.sealAndStart(body)
		clause(cc)
		l.sealAndStart(next)
	}
	if hasDefault {
		clause(dfl)
	} else {
		l.gap(&gap{kind: gapDefault, stmt: s, list: s.Body, scope: s.Body.Lbrace}, s.Body.Rbrace)
		l.jump(done)
	}
	l.targets = l.targets[:len(l.targets)-1]
	l.sealAndStart(done)
}

// concreteType returns the type of what is in the interface v, nil if unknown.
func concreteType(v *value) types.Type {
	for v.op == opCopy && v.typ != nil && types.IsInterface(v.typ) {
		v = v.args[0].find()
	}
	if v.op == opNil || v.typ == nil || types.IsInterface(v.typ) {
		return nil
	}
	return v.typ
}

// matches decides whether a value of type t takes a case with these types.
func (l *lower) matches(t types.Type, list []ast.Expr) tri {
	if t == nil || !l.p.isResource(t) {
		return unknown
	}
	for _, e := range list {
		c := l.p.typeOf(e)
		if l.p.info.Types[e].IsNil() {
			continue
		}
		if _, ok := types.Unalias(c).(*types.TypeParam); ok {
			return unknown
		}
		if types.Identical(c, t) {
			return yes
		}
		if i, ok := c.Underlying().(*types.Interface); ok && types.Implements(t, i) {
			return yes
		}
	}
	return no
}

func (l *lower) selectStmt(s *ast.SelectStmt, label types.Object) {
	done := l.block("select.done")
	if len(s.Body.List) == 0 {
		if l.cur != nil {
			l.cur.noreturn = true
		}
		l.cur = nil
		l.sealAndStart(done)
		l.cur = nil
		return
	}
	// Operands are evaluated once, before any case is taken.
	type comm struct{ ch, val *value }
	comms := make([]comm, len(s.Body.List))
	for i, c := range s.Body.List {
		switch a := c.(*ast.CommClause).Comm.(type) {
		case *ast.SendStmt:
			comms[i] = comm{l.expr(a.Chan), l.expr(a.Value)}
		case *ast.ExprStmt:
			comms[i].ch = l.expr(ast.Unparen(a.X).(*ast.UnaryExpr).X)
		case *ast.AssignStmt:
			comms[i].ch = l.expr(ast.Unparen(a.Rhs[0]).(*ast.UnaryExpr).X)
		}
	}
	l.targets = append(l.targets, target{label: label, brk: done, isSwitch: true})
	for i, c := range s.Body.List {
		cc := c.(*ast.CommClause)
		body := l.block("comm")
		var next *block
		if i+1 < len(s.Body.List) {
			next = l.block("comm.next")
			l.either(body, next)
		} else {
			l.jump(body)
		}
		l.sealAndStart(body)
		switch a := cc.Comm.(type) {
		case *ast.SendStmt:
			l.emit(opSend, nil, a.Arrow, comms[i].val, comms[i].ch)
		case *ast.ExprStmt:
			l.emit(opRecv, l.p.typeOf(a.X), a.Pos(), comms[i].ch)
		case *ast.AssignStmt:
			v := l.emit(opRecv, l.p.typeOf(a.Rhs[0]), a.Pos(), comms[i].ch)
			ok := l.emit(opUnknown, types.Typ[types.Bool], a.Pos())
			vals := []*value{v, ok}
			for k, lhs := range a.Lhs {
				l.define(lhs, vals[k], a.Tok)
			}
		}
		l.stmtList(cc, cc.Body, cc.Colon+1)
		l.jump(done)
		if next != nil {
			l.sealAndStart(next)
		}
	}
	l.targets = l.targets[:len(l.targets)-1]
	l.sealAndStart(done)
}

func (l *lower) returnStmt(s *ast.ReturnStmt) {
	l.ret(s, s.Pos())
}

// ret lowers a return, written (s) or at the end of the body.
func (l *lower) ret(s *ast.ReturnStmt, pos token.Pos) {
	sig := l.f.sig
	if l.splice != nil {
		sig = l.splice.sig
	}
	n := sig.Results().Len()
	named := n > 0 && sig.Results().At(0).Name() != ""
	var vals []*value
	if s != nil && len(s.Results) > 0 {
		if len(s.Results) == 1 && n > 1 {
			vals = l.tuple(s.Results[0], n)
		} else {
			for _, e := range s.Results {
				vals = append(vals, l.expr(e))
			}
		}
	}
	if l.splice != nil {
		if named && vals == nil {
			for i := range n {
				vals = append(vals, l.readResult(sig.Results().At(i), pos))
			}
		}
		for i, v := range vals {
			if i < len(l.splice.results) {
				l.f.write(l.splice.results[i], l.cur0(), v)
			}
		}
		l.jump(l.splice.exit)
		return
	}
	if named && vals != nil {
		for i, v := range vals {
			if r := sig.Results().At(i); r.Name() != "_" {
				l.writeRoot(l.declareAgain(r), v, pos)
			}
		}
	}
	if s != nil && len(s.Results) > 0 {
		g := l.emit(opGap, nil, pos)
		g.gap = &gap{kind: gapReturn, stmt: s, scope: s.Pos()}
	}
	if l.cur == nil {
		return
	}
	l.runDefers(pos)
	l.unjoined(pos)
	if l.cur == nil {
		return
	}
	if named && (vals == nil || len(l.defers) > 0) {
		vals = nil
		for i := range n {
			vals = append(vals, l.readResult(sig.Results().At(i), pos))
		}
	}
	r := l.emit(opReturn, nil, pos, vals...)
	l.f.exits = append(l.f.exits, r)
	l.cur = nil
}

func (l *lower) cur0() *block {
	if l.cur == nil {
		l.cur = l.f.newBlock("dead")
		l.cur.sealed = true
	}
	return l.cur
}

func (l *lower) readResult(v *types.Var, pos token.Pos) *value {
	if v.Name() == "_" || v.Name() == "" {
		return l.nilValue(v.Type(), pos)
	}
	return l.readRoot(l.declareAgain(v), pos)
}

// runDefers runs, last first, what was registered.
func (l *lower) runDefers(pos token.Pos) {
	for i := len(l.defers) - 1; i >= 0; i-- {
		d := l.defers[i]
		reg := l.readPlace(d.reg).find()
		if reg.op == opNil {
			continue // not registered on this path
		}
		var done *block
		if !(reg.op == opConst && reg.index == 1) {
			run := l.block("defer.run")
			done = l.block("defer.done")
			l.branchOn(reg, run, done)
			l.sealAndStart(run)
		}
		was := l.deferring
		if was == nil {
			l.deferring = d.stmt
		}
		var args []*value
		for _, p := range d.args {
			args = append(args, l.readPlace(p))
		}
		if d.lit != nil {
			saved := l.defers
			l.defers = nil
			l.spliceBody(d.lit, args, pos)
			l.defers = saved
		} else if d.late {
			c := l.f.newValue(opCall, nil)
			c.pos, c.end, c.expr, c.fn = pos, pos, d.call.expr, d.call.fn
			ci := *d.call.call
			ci.deferred = false
			ci.results, ci.errRes = nil, nil
			c.call = &ci
			for _, a := range args {
				if r, path, ok := l.pointee(a); ok {
					a = l.addr(r, path, a.typ, pos)
				}
				c.args = append(c.args, a)
			}
			l.add(c)
			l.afterCall(c)
			if call, ok := c.expr.(*ast.CallExpr); ok {
				if g := l.waitGroup(call, "Wait"); g != nil {
					l.wait(g, pos)
				}
			}
		} else if len(args) > 0 {
			u := l.emit(opUse, nil, d.call.pos, args...)
			u.note = "deferred call"
		}
		l.deferring = was
		if done != nil {
			l.jump(done)
			l.sealAndStart(done)
		}
		if l.cur == nil {
			return
		}
	}
}
