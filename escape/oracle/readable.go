package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// This file finds inserted frees that a reader takes for wrong: the name of what they free
// is read behind them. It looks at the scopes of names and at the order of statements alone, and
// only where the original has no such free, so it finds fewer than there are.

// unreadable returns the frees of fixed, one a line, behind which their name is read.
func unreadable(orig, fixed string) []string {
	had := map[string]bool{}
	eachFree(orig, func(fn, text string, _ func() bool) { had[fn+text] = true })
	var res []string
	eachFree(fixed, func(fn, text string, read func() bool) {
		if line := fn + ": " + text; !had[fn+text] && read() && !slices.Contains(res, line) {
			res = append(res, line)
		}
	})
	return res
}

// eachFree calls do for each statement of src that frees a variable; read reports whether
// its name is read behind it.
func eachFree(src string, do func(fn, text string, read func() bool)) {
	for _, part := range strings.Split(src, "\n-- help --\n") {
		f, err := parser.ParseFile(token.NewFileSet(), "", part, 0)
		if err != nil {
			continue // said elsewhere
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				prune(fn.Body)
				name := fn.Name.Name
				if fn.Recv != nil {
					name = types.ExprString(fn.Recv.List[0].Type) + "." + name
				}
				loose := changedElsewhere(fn)
				r := orderly{loose, func(of *ast.Object, text string, read func() bool) {
					do(name, text, func() bool { return !loose[of] && read() })
				}}
				r.list(fn.Body.List, facts{}, never)
			}
		}
	}
}

// prune leaves out what nothing gets to: what stands behind a statement that ends, up to the next label.
func prune(body *ast.BlockStmt) {
	reached := func(list []ast.Stmt) (res []ast.Stmt) {
		ended := false
		for _, s := range list {
			if _, label := s.(*ast.LabeledStmt); label {
				ended = false
			}
			if !ended {
				res = append(res, s)
				ended = ends(s)
			}
		}
		return res
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			n.List = reached(n.List)
		case *ast.CaseClause:
			n.Body = reached(n.Body)
		case *ast.CommClause:
			n.Body = reached(n.Body)
		}
		return true
	})
}

// An orderly goes through a function in the order of its text.
type orderly struct {
	loose map[*ast.Object]bool // variables that change at other times, too
	do    func(of *ast.Object, text string, read func() bool)
}

// A behind says whether a variable is read first from a point on at which this is known.
type behind func(*ast.Object, facts) bool

func never(*ast.Object, facts) bool { return false }

// freed is the variable that a statement frees.
func freed(s ast.Stmt) (v *ast.Object, text string) {
	x, ok := s.(*ast.ExprStmt)
	if !ok {
		return nil, ""
	}
	call, ok := x.X.(*ast.CallExpr)
	if !ok {
		return nil, ""
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil, ""
	}
	of := sel.X
	switch {
	case len(call.Args) == 0 && (sel.Sel.Name == "Free" || sel.Sel.Name == "Close"):
	case len(call.Args) == 1 && sel.Sel.Name == "FreeTex":
		of = call.Args[0]
	default:
		return nil, ""
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Obj, types.ExprString(x.X)
	}
	return nil, ""
}

// list looks at the statements of a block, before which this is known; out says what comes once the block is
// left at its end.
func (r *orderly) list(list []ast.Stmt, known facts, out behind) {
	for i, s := range list {
		next := func(v *ast.Object, k facts) bool {
			does, k := r.first(list[i+1:], v, k)
			return does == isRead || does == isAbsent && out(v, k)
		}
		if v, text := freed(s); v != nil {
			at := known
			r.do(v, text, func() bool { return next(v, at) })
		}
		r.inside(s, known, next)
		_, known = r.one(s, nil, known)
	}
}

// inside looks at the blocks of a statement.
func (r *orderly) inside(s ast.Stmt, known facts, next behind) {
	switch s := s.(type) {
	case *ast.BlockStmt:
		r.list(s.List, known, next)
	case *ast.IfStmt:
		if s.Init != nil {
			_, known = r.one(s.Init, nil, known)
		}
		r.list(s.Body.List, r.learn(known, s.Cond, true), next)
		if s.Else != nil {
			r.inside(s.Else, r.learn(known, s.Cond, false), next)
		}
	case *ast.LabeledStmt:
		r.inside(s.Stmt, facts{}, next)
	case *ast.ForStmt:
		r.list(s.Body.List, facts{}, never)
	case *ast.RangeStmt:
		r.list(s.Body.List, facts{}, never)
	case *ast.SwitchStmt:
		r.cases(s.Body, next)
	case *ast.TypeSwitchStmt:
		r.cases(s.Body, next)
	case *ast.SelectStmt:
		r.cases(s.Body, next)
	default:
		ast.Inspect(s, func(n ast.Node) bool {
			if lit, ok := n.(*ast.FuncLit); ok {
				r.list(lit.Body.List, facts{}, never)
				return false
			}
			return true
		})
	}
}

func (r *orderly) cases(b *ast.BlockStmt, next behind) {
	for _, c := range b.List {
		switch c := c.(type) {
		case *ast.CaseClause:
			r.list(c.Body, facts{}, next)
		case *ast.CommClause:
			r.list(c.Body, facts{}, next)
		}
	}
}

// first says what statements do first with v, and what is known behind them where they do nothing.
func (r *orderly) first(list []ast.Stmt, v *ast.Object, known facts) (mention, facts) {
	for _, s := range list {
		var does mention
		if does, known = r.one(s, v, known); does != isAbsent {
			return does, nil
		}
	}
	return isAbsent, known
}

// one is first for one statement: of an if, for the branches that may be taken.
func (r *orderly) one(s ast.Stmt, v *ast.Object, known facts) (mention, facts) {
	switch s := s.(type) {
	case *ast.BlockStmt:
		return r.first(s.List, v, known)
	case *ast.IfStmt:
		if s.Init != nil {
			var does mention
			if does, known = r.one(s.Init, v, known); does != isAbsent {
				return does, nil
			}
		}
		if does := mentions(s.Cond, v); does != isAbsent {
			return does, nil
		}
		then, behindThen := mention(isAssigned), facts(nil)
		if known.of(s.Cond) != falseHere {
			then, behindThen = r.first(s.Body.List, v, r.learn(known, s.Cond, true))
		}
		or, behindElse := mention(isAssigned), facts(nil)
		if known.of(s.Cond) != trueHere {
			or, behindElse = isAbsent, r.learn(known, s.Cond, false)
			if s.Else != nil {
				or, behindElse = r.one(s.Else, v, behindElse)
			}
		}
		switch {
		case then == isRead || or == isRead:
			return isRead, nil
		case then == isAssigned:
			return or, behindElse
		case or == isAssigned:
			return then, behindThen
		}
		return isAbsent, behindThen.and(behindElse)
	}
	if loop, ok := s.(*ast.ForStmt); ok && loop.Init == nil && loop.Cond != nil && known.of(loop.Cond) == falseHere {
		return mentions(loop.Cond, v), known
	}
	does := mentions(s, v)
	if does == isAbsent && ends(s) {
		does = isAssigned
	}
	return does, r.after(s, known)
}

// ends reports whether nothing behind s runs.
func ends(s ast.Stmt) bool { return endsAs(s, "") }

// endsAs is ends for a statement that a label names, "" if none does.
func endsAs(s ast.Stmt, label string) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		id, ok := call.Fun.(*ast.Ident)
		return ok && id.Name == "panic"
	case *ast.BlockStmt:
		return slices.ContainsFunc(s.List, ends)
	case *ast.IfStmt:
		return s.Else != nil && ends(s.Body) && ends(s.Else)
	case *ast.LabeledStmt:
		return endsAs(s.Stmt, s.Label.Name)
	case *ast.ForStmt:
		return s.Cond == nil && !leftByBreak(s.Body, label)
	case *ast.SwitchStmt:
		return allEnd(s.Body, label)
	case *ast.TypeSwitchStmt:
		return allEnd(s.Body, label)
	case *ast.SelectStmt:
		return allEnd(s.Body, label)
	}
	return false
}

// allEnd reports whether a switch or select has a clause for each case, and each leaves.
func allEnd(b *ast.BlockStmt, label string) bool {
	whole := false
	for _, c := range b.List {
		var body []ast.Stmt
		switch c := c.(type) {
		case *ast.CaseClause:
			body = c.Body
			whole = whole || c.List == nil
		case *ast.CommClause:
			body = c.Body
			whole = true
		}
		if !slices.ContainsFunc(body, ends) {
			return false
		}
	}
	return whole && !leftByBreak(b, label)
}

// leftByBreak reports whether some break in the body of a statement, which a label may name, leaves that
// statement, and no more than that.
func leftByBreak(body *ast.BlockStmt, label string) bool {
	found := false
	var look func(n ast.Node, inner bool)
	look = func(n ast.Node, inner bool) {
		ast.Inspect(n, func(m ast.Node) bool {
			switch m := m.(type) {
			case *ast.BranchStmt:
				named := m.Label != nil
				found = found || m.Tok == token.BREAK && (!named && !inner || named && m.Label.Name == label)
			case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				if m != n {
					look(m, true)
					return false
				}
			case *ast.FuncLit:
				return false
			}
			return true
		})
	}
	look(body, false)
	return found
}

type mention uint8

const (
	isAbsent mention = iota
	isRead
	isAssigned // or what follows is not run
)

// mentions says what s does first with a variable: in the order of the text, which is that of
// some path unless the first is an assignment.
func mentions(s ast.Node, v *ast.Object) mention {
	res := isAbsent
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		if res != isAbsent {
			return false
		}
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, x := range n.Rhs {
				ast.Inspect(x, visit)
			}
			for _, x := range n.Lhs {
				sel, field := x.(*ast.SelectorExpr)
				if field { // what is freed is a struct then, and this part of it another one
					x = sel.X
				}
				if id, ok := x.(*ast.Ident); ok {
					if id.Obj == v && res == isAbsent {
						res = isAssigned
					}
					continue
				}
				ast.Inspect(x, visit)
			}
			return false
		case *ast.ValueSpec:
			for _, x := range n.Values {
				ast.Inspect(x, visit)
			}
			return false
		case *ast.FuncLit: // when it runs is not known
			if assignsIn(n, v) {
				res = isAssigned
			}
			return false
		case *ast.UnaryExpr: // an address is no read
			if _, ok := n.X.(*ast.Ident); ok && n.Op == token.AND {
				return false
			}
		case *ast.SelectorExpr:
			ast.Inspect(n.X, visit)
			return false
		case *ast.KeyValueExpr:
			ast.Inspect(n.Value, visit)
			return false
		case *ast.Ident:
			if n.Obj == v {
				res = isRead
			}
		}
		return true
	}
	ast.Inspect(s, visit)
	return res
}

// assignsIn reports whether a literal assigns a variable.
func assignsIn(lit *ast.FuncLit, v *ast.Object) bool {
	found := false
	eachAssigned(lit.Body, func(id *ast.Ident) { found = found || id.Obj == v })
	return found
}

// changedElsewhere collects the variables that a literal of fn assigns.
func changedElsewhere(fn *ast.FuncDecl) map[*ast.Object]bool {
	found := map[*ast.Object]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok {
			eachAssigned(lit, func(id *ast.Ident) { found[id.Obj] = true })
		}
		return true
	})
	return found
}

// eachAssigned calls do for each variable that is assigned in n.
func eachAssigned(n ast.Node, do func(*ast.Ident)) {
	ast.Inspect(n, func(n ast.Node) bool {
		var to []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			to = n.Lhs
		case *ast.RangeStmt:
			to = []ast.Expr{n.Key, n.Value}
		}
		for _, x := range to {
			if id, ok := x.(*ast.Ident); ok {
				do(id)
			}
		}
		return true
	})
}
