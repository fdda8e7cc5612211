package gen

// The kinds that statements come in.

// LoopKind is the kind of a Loop.
type LoopKind uint8

const (
	LCount  LoopKind = iota // for range draw
	LClause                 // for i := 0; i < draw; i++
	LWhile                  // for cond
	LEver                   // for, left by break
	LFunc                   // range over func
	LChan                   // range over a channel
	LSelect                 // for with a select that leaves it
)

// SwitchKind is the kind of a Switch.
type SwitchKind uint8

const (
	SDraw   SwitchKind = iota // switch on a decision
	SLen                      // on the length of Subject
	STyped                    // type switch on Subject
	SBool                     // without a tag
	SSelect                   // select with a default
)

// JumpKind is the kind of a Jump.
type JumpKind uint8

const (
	JBreak JumpKind = iota
	JContinue
	JGoto
)

// DeferKind is what is deferred.
type DeferKind uint8

const (
	DFree   DeferKind = iota // defer b.Free(): receiver taken now
	DLit                     // defer func() { b.Free() }()
	DUse                     // defer func() { reads b }()
	DMethod                  // f := b.Free; defer f()
	DLook                    // defer a read of what b is now
	DNil                     // deferred literal frees b if it is there by then
	DAll                     // deferred literal frees what a slice holds by then
	DClose                   // defer x.Close() of a struct: frees what its fields are by then
	DGuard                   // deferred literal reads b unless a flag is set by then
	DDo                      // defer rt.Do(b.Free)
)

// GuardKind is how the flag of a guarded defer is held and set.
type GuardKind uint8

const (
	GPlain    GuardKind = iota // done = true
	GPointer                   // *done = true
	GField                     // state.done = true
	GLiteral                   // by a literal that captures it
	GFunction                  // by a function that gets its address
	GMethod                    // by a method of what it is a field of
	guardKinds
)

// FreeHow is who calls a free.
type FreeHow uint8

const (
	FPlain  FreeHow = iota // the program
	FTold                  // a function whose constant argument says so
	FDo                    // a function that gets it as a method value
	FLater                 // one that such a function returns
	FOwn                   // … of this package
	FOnce                  // sync.OnceFunc
	FGot                   // a function that gets the getter
	FGotOwn                // … of this package
	FPart                  // the free of a struct that shares its second field
	FIface                 // the program, through an interface that has the free
)

// JoinKind is how a goroutine is joined.
type JoinKind uint8

const (
	JGo  JoinKind = iota // wg.Go
	JAdd                 // wg.Add, go, Done
	JErr                 // errgroup
)

// CallKind is how a closure is called.
type CallKind uint8

const (
	CPlain CallKind = iota
	CLend           // handed to a function that calls it
)

// WrapKind is what a closure goes through before it has its name.
type WrapKind uint8

const (
	WNone  WrapKind = iota
	WOnce           // sync.OnceFunc: runs once
	WLater          // a function of the program that returns a literal which calls it
	WOther          // … of another package
)

// SeqKind is where an iterator comes from.
type SeqKind uint8

const (
	QNone  SeqKind = iota // no iterator: a collection
	QOther                // returned by a function of another package
	QOwn                  // … of this package
	QPull                 // … and pulled
	QVar                  // held by a variable
)

// InlineKind is how a literal is run at once.
type InlineKind uint8

const (
	INow   InlineKind = iota // func() { … }()
	ILend                    // rt.Do(func() { … }), which calls it once
	ITimes                   // rt.Times(n, func() { … }), which calls it any number of times
)

// CallVia is how a function of the program is called.
type CallVia uint8

const (
	VDirect CallVia = iota
	VValue          // through a function value chosen among two
	VIface          // through an interface with two implementations
)

// EscapeKind is the operation through which a buffer leaves.
type EscapeKind uint8

const (
	XKeep    EscapeKind = iota // stored in a global of another package
	XSend                      // sent on somebody's channel
	XField                     // stored in somebody's struct
	XGo                        // captured by a goroutine that nobody joins
	XPool                      // put into a sync.Pool
	XCleanup                   // testing cleanup frees it
	XQueue                     // captured by a queued function
	XGot                       // kept by a function that gets the getter
	XList                      // put into a list of the standard library
	XTold                      // kept by its String method, which fmt calls
	XVar                       // stored in a variable of the package
	XParam                     // stored through a parameter by a function of the package
	XStruct                    // stored in a field of a struct that is kept
)

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
	OTwice            // getter handed to a function that reads what it returns twice
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

// tested reports whether something happens only if there is an error, or only if there is none.
func (how OnErr) tested() bool { return how != EIgnore && how != EMust && how != EDiscard }

// Via is the function that makes a buffer.
type Via uint8

const (
	VMake    Via = iota // alloc.Make itself
	VNew                // wrapper of another package
	VGeneric            // generic wrapper of another package
	VAdopt              // memory made by somebody else
	VMaybe              // makes nothing, without an error, if a decision says so
	VFound              // says with a boolean whether it made one
)

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
	RTwo                       // two handles, error
	RAny                       // any that holds a handle, error
)
