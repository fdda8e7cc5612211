// Package gen makes random Go programs over alloc and knows, by construction,
// when each of their buffers dies.
//
// A program is a tree of this package's own statements (ast.go). Three readings
// of the tree must agree:
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
	Cell    bool // a literal assigns it
}

// Locs returns the number of locations of v.
func (v *Var) Locs() int {
	if v.fields() {
		return 2
	}
	return 1
}

// fields reports whether v has two locations, one for each field.
func (v *Var) fields() bool { return v.Kind == KPair || v.Kind == KPairPtr }

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
	CNil   // a pointer resource is there
)

// Stmt is a statement.
type Stmt interface{ stmt() }

// Op is what a Use does.
type Op uint8

const (
	OFill   Op = iota // Fill on the stream
	OSet              // CopyFrom
	OSum              // output of the sum, through CopyTo
	OLen              // output of the length
	OMove             // copy from Args[1]
	OLaunch           // queued function adds to each element
	OExpr             // Fill through the method expression
	OPrint            // handed to fmt
	OKeep             // runtime.KeepAlive
	OLook             // handed to a function whose constant argument says not to free
	OTemp             // sum of an unnamed temporary; N is its size
	OChain            // method called on an unnamed temporary
)

// How an error of an operation is met.
type OnErr uint8

const (
	EIgnore  OnErr = iota
	ECheck         // if err != nil { Fail }
	EInvert        // if err == nil { Ok } else { Fail }
	EWrap          // wrapped first, tested later
	EMust          // the maker panics
	EDiscard       // b, _ :=
	EShadow        // tested in an inner scope that shadows err
)

// Via is the function that makes a buffer.
type Via uint8

const (
	VMake    Via = iota // alloc.Make itself
	VNew                // wrapper of another package
	VGeneric            // generic wrapper of another package
	VAdopt              // memory made by somebody else
)

type (
	// Make makes a buffer.
	Make struct {
		Dst   Path
		Decl  bool
		N     int // elements, and the site
		Via   Via
		Err   OnErr
		Fail  []Stmt
		Ok    []Stmt // EInvert
		ErrID int
		T     bool // on the second stream
		Case  bool // EInvert: in the header of a switch
	}
	// Zero declares a variable without a value.
	Zero struct{ V *Var }
	// Assign copies handles, all at once.
	Assign struct {
		Dst, Src []Path
		Decl     bool
		Lo, Hi   int // of a view: elements cut at either end
		How      int // how a getter, an error or an iterator is written
	}
	// Clear assigns the zero value, as after handing the buffer on.
	Clear struct{ V *Var }
	// Resize replaces the buffer of a box and frees the old one.
	Resize struct {
		V     *Var
		N     int
		Fail  []Stmt
		ErrID int
	}
	// For is a loop that makes its buffer in the header and fills it after each
	// iteration.
	For struct {
		Make  *Make
		Post  *Use
		Label string
		Body  []Stmt
	}
	// Compose builds a pair, array, slice or map from handles.
	Compose struct {
		V   *Var
		Src []Path
	}
	// Append adds to a slice.
	Append struct {
		V   *Var
		Src Path
	}
	// Put stores an element of an array or map.
	Put struct {
		V   *Var
		Key int
		Src Path
	}
	// Get loads an element and runs Body if it is there.
	Get struct {
		Dst  *Var
		V    *Var
		Key  int
		Pop  bool // drop it from the slice
		Last bool // Pop: the last element, not the first
		Body []Stmt
	}
	// Use does Op.
	Use struct {
		Op   Op
		Args []Path
		X    int
		N    int
		Err  OnErr
		Fail []Stmt
		T    bool
		Init bool // first contents: no operation, cannot fail
	}
	// If branches.
	If struct {
		Cond       *Cond
		Init       int // 1: if n := len; n > 0
		Then, Else []Stmt
	}
	// Flag draws a boolean variable.
	Flag struct{ Name string }
	// Loop repeats.
	Loop struct {
		Kind  LoopKind
		N     int
		Cond  *Cond
		Label string
		Body  []Stmt
	}
	// Each ranges over a slice or array, or over the views that an iterator yields.
	Each struct {
		V     *Var
		X     *Var
		Lit   []Path // X is a literal of these, or the one that the iterator was made for
		Seq   SeqKind
		Label string
		Body  []Stmt
	}
	// Switch draws a case; clause i ends in fallthrough if Fall[i].
	Switch struct {
		Kind    SwitchKind
		Subject Path
		V       *Var // STyped: the variable of the first clause
		Cases   [][]Stmt
		Fall    []bool
		Default bool // the last clause is default
		Label   string
	}
	// Jump is break, continue or goto.
	Jump struct {
		Kind  JumpKind
		Label string
	}
	// Label is the target of goto.
	Label struct{ Name string }
	// Return leaves the function.
	Return struct {
		Path Path // V nil: none
		Sum  bool // returns the sum of Path
		Fail bool // returns the error, with zero results
	}
	// Panic panics explicitly.
	Panic struct {
		X    int
		Exit bool
	}
	// Defer defers.
	Defer struct {
		Kind DeferKind
		Path Path
		ID   int
		Lit  bool // DLook: by a literal that captures the variable
		By   GuardKind
	}
	// Done sets the flag of a guarded defer.
	Done struct{ Of *Defer }
	// Free is the user's own free.
	Free struct {
		Path Path
		Told bool // by a function whose constant argument says so
	}
	// FreeAll frees the elements of a slice or array in a loop.
	FreeAll struct{ V *Var }
	// Join runs Fill on another goroutine and waits for it after Mid.
	Join struct {
		Kind JoinKind
		Arg  Path
		X    int
		Mid  []Stmt
		ID   int
	}
	// Closure declares a literal.
	Closure struct {
		V    *Var
		Wrap WrapKind
		Body []Stmt
	}
	// CallVar calls a closure.
	CallVar struct {
		V    *Var
		Kind CallKind
	}
	// Inline runs Body in a literal.
	Inline struct {
		Kind InlineKind
		Body []Stmt
	}
	// Call calls a function of the program.
	Call struct {
		Fn    int
		Args  []Path
		Dst   *Var
		Decl  bool
		Err   OnErr
		Fail  []Stmt
		ErrID int
		Via   CallVia
		Other int // VValue, VIface: the other target
	}
	// Probe compares live bytes.
	Probe struct{ ID int }
	// Escape makes a buffer leave.
	Escape struct {
		Kind EscapeKind
		Path Path
	}
	// Block is a nested scope.
	Block struct{ Body []Stmt }
	// Select sends the buffer or does something else.
	Select struct {
		Path   Path
		Sent   []Stmt
		Others []Stmt
	}
	// Pass sends a buffer over a local channel and receives it again.
	Pass struct {
		Src Path
		Dst *Var
	}
)

func (*Make) stmt()    {}
func (*Zero) stmt()    {}
func (*Assign) stmt()  {}
func (*Compose) stmt() {}
func (*Append) stmt()  {}
func (*Put) stmt()     {}
func (*Get) stmt()     {}
func (*Use) stmt()     {}
func (*If) stmt()      {}
func (*Flag) stmt()    {}
func (*Loop) stmt()    {}
func (*Each) stmt()    {}
func (*Switch) stmt()  {}
func (*Jump) stmt()    {}
func (*Label) stmt()   {}
func (*Return) stmt()  {}
func (*Panic) stmt()   {}
func (*Defer) stmt()   {}
func (*Done) stmt()    {}
func (*Free) stmt()    {}
func (*FreeAll) stmt() {}
func (*Join) stmt()    {}
func (*Closure) stmt() {}
func (*CallVar) stmt() {}
func (*Inline) stmt()  {}
func (*Call) stmt()    {}
func (*Probe) stmt()   {}
func (*Escape) stmt()  {}
func (*Block) stmt()   {}
func (*Select) stmt()  {}
func (*Pass) stmt()    {}
func (*Clear) stmt()   {}
func (*Resize) stmt()  {}
func (*For) stmt()     {}

// ResultKind is what a function returns beside its error.
type ResultKind uint8

const (
	RNone    ResultKind = iota // nothing at all
	RErr                       // error
	RBuf                       // handle, error
	RInt                       // int64
	RPair                      // pair, error
	RSlice                     // slice, error
	RPairPtr                   // *pair, error
	RStack                     // stack, error
	RHeld                      // an error that holds a buffer
)

// A Func is a function of the program; Funcs[0] is the entry.
type Func struct {
	Index   int
	Params  []*Var
	Result  ResultKind
	Res     Res
	Body    []Stmt
	Help    bool // lives in another package
	Generic bool
	Method  bool // declared as a method of the program's worker type
	Hoist   bool // locals are declared at the top, for goto
	Recover bool
	Named   bool // named results with deferred clean-up of result Clean
	Clean   *Var // the named result
	Locs    int  // locations used by its variables
	Vars    []*Var
}

// A Program is one random program.
type Program struct {
	ID     int
	Seed   uint64
	Funcs  []*Func
	Sites  []Site // by N - FirstSite
	Labels map[string]bool
	Tags   map[string]bool // constructs it has
	Closes bool            // pairs have a destructor
}

// FirstSite is the number of elements that the first site of a program asks for.
const FirstSite = 8

// A Site is a place that makes a buffer.
type Site struct {
	N       int
	Res     Res
	Adopted bool // memory made by somebody else: no slack
}
