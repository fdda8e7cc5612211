// Package gen makes random Go programs over alloc and knows, by construction,
// when each of their buffers dies.
//
// A program is a tree of this package's own statements (ast.go, aststmt.go).
// Three readings of the tree must agree:
//
//	Print     the Go source that is given to the analyzer      (print.go)
//	Analyze   backward liveness, by structure, to a fixpoint   (live.go)
//	Run       an interpreter over abstract buffers             (interp.go)
//
// The interpreter draws the same random decisions as the compiled program and
// fails at the same operations, so it predicts the program's output; and at each
// probe it takes the variables that liveness calls live, in every frame, and
// says which buffers they reach: the fewest bytes that any program may hold
// there which frees at last use. Nothing here knows the analyzer's code, and no
// SSA form is involved.
//
// The words: a site is a place that makes a buffer. Each site of a program asks
// for its own number of elements, so the number names the site wherever the
// buffer turns up. An operation is a point at which a fault can be injected.
package gen

// Kind is what a variable is in Go.
type Kind uint8

const (
	KBuf     Kind = iota // the handle that owns
	KView                // alloc.View
	KRaw                 // alloc.Ptr
	KMethod              // method value of Fill
	KFiller              // interface with Fill
	KAny                 // any
	KEmbed               // struct that embeds the handle
	KPtr                 // *Buffer, address of a variable
	KPair                // struct of two handles
	KPairPtr             // pointer to it
	KArray               // [2]handle
	KSlice               // []handle
	KMap                 // map[int]handle
	KFunc                // closure without parameters
	KChan                // chan handle, local
	KGetter              // function that returns the handle of a variable
	KKeys                // map[handle]int
	KErr                 // error that holds the handle
	KSeq                 // iterator over views of the buffer
	KStack               // pointer to a struct with a slice of handles
	KBox                 // pointer to a struct with one handle, which can be resized
	KFreer               // method value of the free
	KTwo                 // two variables, for two results
	KGroup               // a group of goroutines
	KLoud                // pointer to a struct with one handle, whose free does more than to release
	KNode                // pointer to a struct with one handle, which a getter returns and a method replaces
	KText                // string in the memory of a pointer resource
	KSelf                // pointer to a struct with one handle that leads to itself
)

// Res is the resource type of what a variable holds.
type Res uint8

const (
	RBuffer Res = iota // alloc.Buffer[int64]: a value, repeatable free
	RMat               // *rt.Mat: a pointer, freeing twice is an error, nil is not tolerated
)

// A Var is a variable. Vars are shared by copies of a tree and never change
// after generation.
type Var struct {
	Name    string
	Kind    Kind
	Res     Res
	Loc     int  // first location; a pair, or what points to one, has two
	MaySkip bool // may be zero: only operations that tolerate the zero Buffer
	Undef   bool // contents may be unspecified: never read
	Fixed   bool // its address was taken: never assigned again
	Param   bool
	Depth   int  // loop depth of its declaration
	Class   int  // literal: number of the closure that declares it, 0 for the function
	Cell    bool // a literal assigns it, or what it points to
	Once    bool // a getter keeps what it holds at the first call: never assigned again
	Owned   bool // a parameter that the function frees
	Form    int  // KLoud: what its free does beside; KNode: 1 if another package declares it
}

// blank is the name of a variable that keeps nothing.
const blank = "_"

// Locs returns the number of locations of v.
func (v *Var) Locs() int {
	if v.fields() {
		return 2
	}
	return 1
}

// fields reports whether v has two locations, one for each field.
func (v *Var) fields() bool { return v.Kind == KPair || v.Kind == KPairPtr || v.Kind == KTwo }

// A Path names a variable, a field of it (Field 0 or 1) or an element.
type Path struct {
	V     *Var
	Field int // -1: all of it
}

// Of is the whole of v.
func Of(v *Var) Path { return Path{V: v, Field: -1} }

// At is field or element i of v.
func At(v *Var, i int) Path { return Path{V: v, Field: i} }

// Cond is a condition.
type Cond struct {
	Op   CondOp
	X, Y *Cond
	Path Path // CPos, CLen
	N    int
	Res  Res // CTemp
	Var  string
}

// CondOp is the kind of a condition.
type CondOp uint8

const (
	CDraw CondOp = iota // the next decision
	CMore               // the next decision, false once the budget of loops is spent
	CPos                // reads the buffer: its sum is positive
	CLen                // asks the buffer for its length
	CAnd
	COr
	CNot
	CFlag  // a boolean variable drawn before
	CNever // false, which the program cannot know
	CTemp  // the sum of an unnamed temporary is positive; N is its size
	CNil   // a pointer is not nil; a buffer has a length, which is a read
	CSet   // an interface is not nil; N is 1 if a nil pointer in it makes it so
)
