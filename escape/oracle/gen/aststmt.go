package gen

// The statements of programs.

// Stmt is a statement.
type Stmt interface{ stmt() }

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
		Lo, Hi   int  // of a view: elements cut at either end
		How      int  // how a getter, an error or an iterator is written
		Store    bool // through the pointers: *x = *y
	}
	// Clear assigns the zero value, as after handing the buffer on.
	Clear struct{ Path Path }
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
	// Flag draws a boolean variable, or notes whether Of is there.
	Flag struct {
		Name string
		Of   Path
	}
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
		Path Path   // V nil: none
		Sum  bool   // returns the sum of Path
		Temp string // … which has this name already
		Fail bool   // returns the error, with zero results
	}
	// Panic panics explicitly.
	Panic struct {
		X    int
		Exit bool
		Spin bool // calls for ever what panics at last
		With Path // V not nil: a buffer is what it panics with
	}
	// Defer defers.
	Defer struct {
		Kind DeferKind
		Path Path
		ID   int
		Lit  bool // DLook: by a literal that captures the variable
		By   GuardKind
		Mine bool // put in by a trial
	}
	// Done sets the flag of a guarded defer.
	Done struct{ Of *Defer }
	// Free is the user's own free.
	Free struct {
		Path Path
		How  FreeHow
		Mine bool // put in by a trial
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
		N    int // ITimes: fewer calls than this
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
		Mid   []Stmt // EInvert: between the call and the test
		Ok    []Stmt // EInvert
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
		ID   int
	}
	// Block is a nested scope, in which the name Shadow means something else.
	Block struct {
		Shadow string
		Body   []Stmt
	}
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
