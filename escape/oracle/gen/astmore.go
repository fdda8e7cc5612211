package gen

// Statements about what outlives the place that it stands in: goroutines, strings in
// foreign memory, structs whose free can be seen, and buffers that are named once more
// though nothing reads them.

type (
	// Temp gives the sum of Path a name, or the value of Cond, for a trial.
	Temp struct {
		Name string
		Path Path
		Cond *Cond
	}
	// Group declares a group of goroutines.
	Group struct {
		V    *Var
		Kind JoinKind
	}
	// Spawn starts a goroutine of the group V that reads Arg.
	Spawn struct {
		V     *Var
		Kind  JoinKind
		Arg   Path
		After bool // in code deferred before the Done, which runs after it
		Leaks bool // the goroutine may run on: somebody leaves before Wait, or the group is another by then
	}
	// Wait joins the goroutines of the group V.
	Wait struct {
		V    *Var
		Kind JoinKind
	}
	// Regroup assigns another group to V: those of the former one run on.
	Regroup struct {
		V    *Var
		Kind JoinKind
	}
	// Wrap declares a struct V with one handle, or, of kind KPairPtr, with one of its own
	// and one that others have as well.
	Wrap struct {
		V           *Var
		Src, Common Path
	}
	// Hold runs Body, in which nothing panics, with the run's mutex locked.
	Hold struct {
		V    *Var // what locks it in its free too
		Body []Stmt
	}
	// State shows what the free of V changes beside what it releases.
	State struct{ V *Var }
	// Step gives a node another buffer; who got the former one has it still.
	Step struct {
		V     *Var
		N     int
		Fail  []Stmt
		ErrID int
	}
	// Mention names a buffer where nothing reads it.
	Mention struct {
		Path Path
		How  MentionKind
		ID   int
	}
)

func (*Temp) stmt()    {}
func (*Group) stmt()   {}
func (*Spawn) stmt()   {}
func (*Wait) stmt()    {}
func (*Regroup) stmt() {}
func (*Wrap) stmt()    {}
func (*Hold) stmt()    {}
func (*State) stmt()   {}
func (*Step) stmt()    {}
func (*Mention) stmt() {}

// LoudKind is what the free of a struct does beside releasing.
type LoudKind uint8

const (
	LLock  LoudKind = iota // locks a mutex
	LClose                 // closes a channel
	LPrint                 // prints
	LTally                 // counts
	LCache                 // deletes the entry of a cache
	LHook                  // calls a function that it was given
	LSem                   // receives from a channel, which makes room for somebody
	loudKinds
)

// MentionKind is how a buffer is named where nothing reads it.
type MentionKind uint8

const (
	MFalse MentionKind = iota // under if false
	MConst                    // under a constant
	MBlank                    // assigned to _
	MDead                     // copied to a variable that is not read
	mentionKinds
)

// groupPtr is set in Var.Form of a group that is held by a pointer, beside its JoinKind.
const groupPtr = 8

// partForm is Var.Form of a KPairPtr whose free gives back the first field alone.
const partForm = 1

// How a Wrap of kind KNode is declared: Var.Form.
const (
	nodeOwn = iota
	nodeHelp
)
