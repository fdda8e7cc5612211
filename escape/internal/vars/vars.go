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
	Read      Op = iota // its value is taken
	Declare             // declared, without a value
	Define              // declared, with a value: by :=, var x = y, range, or as a parameter
	Assign              // given another value: by =, an assigning operator, ++, --, range, a return to it
	Addr                // & of it, or a slice of the array that it is
	MethodRef           // a method that takes its address by itself
	MethodPtr           // a method that gets the pointer or the interface that it is
	MethodVal           // a method that gets a copy
	Call                // called
	Drop                // _ = it
	Over                // ranged over
	Len                 // len of it
)

func (o Op) String() string {
	return [...]string{"read", "declare", "define", "assign", "addr", "method by address", "method by pointer",
		"method by value", "call", "drop", "range over", "len"}[o]
}

// A Part is the steps from a variable to what an Op is about; 0 is the variable itself.
type Part uint8

const (
	Field Part = 1 << iota // .f
	Elem                   // [i]
	Star                   // * in front
	Deep                   // one of the steps goes through a pointer, a slice, a map or a string
)

// A Use is one identifier that denotes a variable.
type Use struct {
	Var   *types.Var // nil: what is assigned is in no variable, as in *f() = x
	ID    ast.Expr   // the identifier; where Var is nil, the operand in its place
	Op    Op
	Part  Part
	Steps uint8       // how many steps Part has; 255 is many
	Const bool        // the first step is a constant index
	Tok   token.Token // of Define and Assign: = := ++ …; RANGE in a loop's head, FUNC of parameters
	Value ast.Expr    // of Define and Assign: the operand that alone is assigned to it alone
	Lit   *Lit        // the innermost literal around it, nil if there is none
	Later ast.Stmt    // the innermost defer or go statement around it, nil if there is none
}

// own reports whether the use is about memory of the variable itself.
func (u *Use) own() bool { return u.Part&Deep == 0 }

// takes reports whether the use takes an address.
func (u *Use) takes() bool { return u.Op == Addr || u.Op == MethodRef }

// A Lit is a function literal.
type Lit struct {
	Node *ast.FuncLit
	Up   *Lit       // the innermost literal around it, nil if there is none
	Name *types.Var // the variable that alone is assigned this literal alone, nil if there is none
}

// variable is what the files say of a variable.
type variable struct {
	at        []int32 // its uses in Index.uses
	defined   int     // how often it gets a value where it is declared; range counts twice
	assigned  int     // how often it, or its own memory, is assigned; range counts twice
	param     bool    // a parameter or result
	header    bool    // see Header
	captured  bool    // used in a literal that does not declare it
	addressed bool    // its address, or that of a part of it, is taken
	called    answer  // see onlyCalled
	steady    answer
	elements  answer
}

// An answer is the last one about a function.
type answer struct {
	fn ast.Node
	ok bool
}

// ask returns the answer for fn, which find finds where the last one was for another.
func (a *answer) ask(fn ast.Node, find func() bool) bool {
	if a.fn != fn {
		*a = answer{fn, find()}
	}
	return a.ok
}

// An Index is what the files of a package say of variables.
type Index struct {
	info *types.Info
	uses []Use // in the order of positions
	lits []*Lit
	vars map[*types.Var]*variable
}

func (x *Index) of(v *types.Var) *variable {
	if s := x.vars[v]; s != nil {
		return s
	}
	return &variable{} // no use of it
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
	at := x.of(v).at
	search := func(pos token.Pos) int {
		return sort.Search(len(at), func(i int) bool { return x.uses[at[i]].ID.Pos() >= pos })
	}
	return at[search(n.Pos()):search(n.End())]
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
