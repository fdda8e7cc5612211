package gen

import "slices"

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
	Catch   bool // … and keeps what it recovers
	Named   bool // named results with deferred clean-up of result Clean
	Rescue  bool // named results: one that recovers returns what Clean is by then, without an error
	Clean   *Var // the named result
	May     bool // returns nothing, without an error, on some paths
	Half    bool // the second field of its result may hold nothing
	Beside  bool // returns a buffer beside an error that it has freed
	Twin    bool // both of its results, or of its result's fields, may be the same buffer
	Locs    int  // locations used by its variables
	Vars    []*Var
}

// beside reports whether f returns what a failing return names, and not nothing, beside the error.
func (f *Func) beside() bool { return f.Result == RBuf && !f.Named }

// hoists reports whether f declares v at its top, so that a goto back meets the same variable.
func (f *Func) hoists(v *Var) bool {
	return f.Hoist && slices.ContainsFunc(f.Body, func(s Stmt) bool { return slices.Contains(declares(s), v) })
}

// values is the number of results before the error.
func (f *Func) values() int {
	if f.Result == RTwo {
		return 2
	}
	return 1
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
	Tex    bool            // a function, not a method, frees what is a pointer
	Insist bool            // destructors of what holds pointers do not look for nil
	Like   *Program        // the program of which a trial changed the frees
}

// FirstSite is the number of elements that the first site of a program asks for.
const FirstSite = 8

// A Site is a place that makes a buffer.
type Site struct {
	N       int
	Res     Res
	Adopted bool // memory made by somebody else: no slack
}
