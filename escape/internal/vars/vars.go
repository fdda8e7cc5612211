package vars

import (
	"go/ast"
	"go/token"
	"go/types"
	"sort"
)

// An Op says what is done with a variable, or with a part of it.
type Op uint8

const (
	Read    Op = iota // its value is taken
	Declare           // declared, without a value
	Define            // declared, with a value: by :=, var x = y, range, or as a parameter
	Assign            // given another value: by =, an assigning operator, ++, --, range, a return to it
	Addr              // its address is taken: by &, a slice of the array that it is, or a method
)

func (o Op) String() string { return [...]string{"read", "declare", "define", "assign", "addr"}[o] }

// A Use is one identifier that denotes a variable.
type Use struct {
	Var  *types.Var
	ID   *ast.Ident
	Op   Op
	Part bool        // it is about a part of the variable, or of what that leads to
	Deep bool        // that is reached through a pointer, a slice, a map or a string
	Tok  token.Token // of Define and Assign: = := ++ …; RANGE in a loop's head, FUNC of parameters
	Lit  *Lit        // the innermost literal around it, nil if there is none
}

// A Lit is a function literal.
type Lit struct {
	Node *ast.FuncLit
	Up   *Lit // the innermost literal around it, nil if there is none
}

// variable is what the files say of a variable.
type variable struct {
	at     []int32 // its uses in Index.uses
	shared bool    // see Shared
}

// An Index is what the files of a package say of variables.
type Index struct {
	uses []Use // in the order of positions
	lits []*Lit
	vars map[*types.Var]*variable
}

// Shared reports whether a literal captures v or somebody has its address: a call may change it, or read it.
func (x *Index) Shared(v *types.Var) bool {
	s := x.vars[v]
	return s != nil && s.shared
}

// In returns the uses in n in the order of the source. They are not the caller's to change.
func (x *Index) In(n ast.Node) []Use {
	from := find(x.uses, n.Pos())
	return x.uses[from : from+find(x.uses[from:], n.End())]
}

func find(uses []Use, pos token.Pos) int {
	return sort.Search(len(uses), func(i int) bool { return uses[i].ID.Pos() >= pos })
}

// usesOf returns the uses of v in n.
func (x *Index) usesOf(v *types.Var, n ast.Node) []int32 {
	s := x.vars[v]
	if s == nil {
		return nil
	}
	search := func(pos token.Pos) int {
		return sort.Search(len(s.at), func(i int) bool { return x.uses[s.at[i]].ID.Pos() >= pos })
	}
	return s.at[search(n.Pos()):search(n.End())]
}

// Reads calls do for each use of v in n that is more than "v = x", as long as it returns true.
func (x *Index) Reads(v *types.Var, n ast.Node, do func(id ast.Expr) bool) {
	for _, i := range x.usesOf(v, n) {
		if u := &x.uses[i]; u.reads() && !do(u.ID) {
			return
		}
	}
}

// reads reports whether a use is more than a declaration or "v = x".
func (u *Use) reads() bool {
	switch u.Op {
	case Declare, Define:
		return false
	case Assign:
		return u.Tok != token.ASSIGN || u.Part
	}
	return true
}

// ReadIn lists the variables of which n has a use that is more than "v = x".
func (x *Index) ReadIn(n ast.Node) []*types.Var {
	var out []*types.Var
	seen := map[*types.Var]bool{}
	for _, u := range x.In(n) {
		if !seen[u.Var] && u.reads() {
			seen[u.Var] = true
			out = append(out, u.Var)
		}
	}
	return out
}

// Around returns the innermost literal that begins at or before from and ends behind to; nil if
// there is none.
func (x *Index) Around(from, to token.Pos) *Lit {
	i := sort.Search(len(x.lits), func(i int) bool { return x.lits[i].Node.Pos() > from })
	if i == 0 {
		return nil
	}
	l := x.lits[i-1]
	for l != nil && l.Node.End() <= to {
		l = l.Up
	}
	return l
}

// within reports whether pos is in n.
func within(n ast.Node, pos token.Pos) bool { return n.Pos() <= pos && pos < n.End() }
