package escape

// Source to flow form: statements.

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// maxSplice bounds the literals spliced into one function, maxValues the size
// of a function that is decided at all.
const (
	maxSplice = 200
	maxDepth  = 6
	maxValues = 1500000 // some 200,000 statements
)

type lower struct {
	p        *pkg
	f        *fn
	cur      *block
	roots    map[*types.Var]*root
	lits     map[*types.Var]*value // and the literal that they hold
	fixed    map[*types.Var]*value // and what those hold that get it where they are declared
	targets  []target
	labels   map[types.Object]*labelTarget
	defers   []*deferred
	armed    []*deferred // those, and what literals around have deferred: all that a panic would run
	depth    int         // loops around
	splices  int
	spliced  map[*ast.FuncLit]int  // how often each literal was spliced
	kept     map[*ast.FuncLit]bool // literals that are not only called
	splice   *splice               // the literal being spliced, nil in the function's own body
	lent     *lent                 // the lent literal being spliced, nil outside
	scope    ast.Node
	exposeds []exposure
	fallto   *block
	indexed  []indexedElem
	added    map[*root]bool // groups that Add was called of
	joins    []*join
	opens    []*block // that ask whether a goroutine is still running

	direct    bool           // the next literal to be spliced is called here
	named     bool           // and by a name
	deferring *ast.DeferStmt // whose call is being lowered where it runs
	panicking bool           // the deferred calls run because of a panic

	heldAt           *block // where the last opHold stands
	heldLen, heldFor int
	inLoops          []exposure // variables that a literal deferred in a loop mentions
	pointedAt        map[*root]bool
	flags            map[*types.Var]bool // see findFlags
	flagged          map[ast.Expr]bool   // what makes the objects that flags lead to
	copies           map[gapPlace]*gap   // gaps in literals that deferred statements call
	under            []flagTest          // in such a literal, the flags around
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
	label     types.Object
	brk, cont *block
	isSwitch  bool
	iter      *value // the function that calls the body, and goes on when that is left
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
	held []held
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
	direct  bool // called here, once each time this is reached
	named   bool // and by a name

	deferred *ast.DeferStmt // of the function itself, which calls it
}

func (p *pkg) lower(f *fn) {
	l := &lower{p: p, f: f, roots: map[*types.Var]*root{}, added: map[*root]bool{}, labels: map[types.Object]*labelTarget{},
		spliced: map[*ast.FuncLit]int{}, kept: map[*ast.FuncLit]bool{}}
	entry := f.newBlock("entry")
	entry.sealed = true
	l.cur = entry
	l.f.gotos = hasGoto(f.body)
	l.lits, l.fixed = map[*types.Var]*value{}, map[*types.Var]*value{}
	l.findFlags()
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
	l.neverOpen()
	l.closures()
	l.innerGaps()
	l.addresses()
	l.reassigned()
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
	b.loopDepth, b.lent = l.depth, l.lent
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

func (l *lower) gap(g *gap, pos token.Pos) {
	if l.cur == nil {
		return
	}
	if l.copying() && g.kind == rewrite.InList {
		v := l.emit(opGap, nil, pos)
		v.gap = l.copied(g)
		return
	}
	for s := l.splice; s != nil; s = s.up {
		if !s.direct && !s.named || g.kind != rewrite.InList {
			g.kind, g.inner = rewrite.None, nil
			break
		}
		g.inner, g.named = append(g.inner, s.lit), g.named || s.named
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
		l.gap(&gap{kind: rewrite.InList, anchor: anchor, list: list, prev: prev, next: s, scope: anchor}, anchor)
		l.stmt(s)
		prev, anchor = s, s.End()
	}
	l.gap(&gap{kind: rewrite.InList, anchor: anchor, list: list, prev: prev, scope: anchor}, anchor)
}

func (l *lower) blockStmt(b *ast.BlockStmt) {
	l.stmtList(b, b.List, b.Lbrace+1)
}

func (l *lower) stmt(s ast.Stmt) {
	if l.f.declined != "" {
		return
	}
	if l.f.nvals > l.p.limit {
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
		l.mayPanic(s.Arrow)
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
		if v, _ := l.p.info.Defs[vs.Names[0]].(*types.Var); v != nil && l.apart(v) && len(vs.Values) == 1 {
			l.listInto(l.declareAgain(v), ast.Unparen(vs.Values[0]).(*ast.CompositeLit))
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
			if i < len(vals) {
				l.fix(v, x)
			}
		}
	}
}
