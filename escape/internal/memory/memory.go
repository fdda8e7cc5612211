package memory

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/groups"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/lift"
)

// An Input is what is known beside a function.
type Input struct {
	IR     *ir.Package
	Effect func(*ssa.CallCommon) *effect.Summary // what a call does; never nil
	Func   func(*types.Func) *effect.Summary     // what a function does; never nil
	Frees  *effect.Frees                         // which variables are to follow

	counted typeutil.Map // bool by type: see Counted
}

// Owns reports whether variables of a type are to follow.
func (in *Input) Owns(t types.Type) bool { return in.Frees.Resource(t) }

// A Func is a function with its variables in memory, and what leads to them.
type Func struct {
	SSA        *ssa.Function
	Graph      *ir.Graph
	In         *Input
	Objects    map[ssa.Value]bool // see object.go
	split      map[ssa.Value][]*Field
	containers map[ssa.Value]*Container
	deferreds  map[*ssa.Defer]*Deferred
	groups     map[groups.Group]*Running
	returned   map[ssa.Value]ssa.Value // by load: see returned.go
	asked
	owners
}

// asked has what was asked once.
type asked struct {
	builds map[ssa.Value]bool      // see built
	views  map[capture]bool        // see looks
	before map[ssa.Value][]*Former // by slot
	useful map[*ssa.Phi]bool       // whether somebody reads it
	begun  map[*ssa.Alloc]together // see putTogether
	undos  map[*ssa.Defer]*undo    // see undoOf
	lifted *lift.Func              // see Stored
}

// New finds the variables and objects of a function.
func New(in *Input, fn *ssa.Function) *Func {
	graph := in.IR.Graph(fn)
	f := &Func{SSA: fn, Graph: graph, In: in, Objects: map[ssa.Value]bool{}, split: map[ssa.Value][]*Field{},
		containers: map[ssa.Value]*Container{}, deferreds: map[*ssa.Defer]*Deferred{}, groups: map[groups.Group]*Running{},
		returned: map[ssa.Value]ssa.Value{},
		asked: asked{map[ssa.Value]bool{}, map[capture]bool{}, map[ssa.Value][]*Former{}, map[*ssa.Phi]bool{},
			map[*ssa.Alloc]together{}, map[*ssa.Defer]*undo{}, lift.New(graph.At)},
		owners: newOwners()}
	f.findObjects()
	f.findReturned()
	f.findUndone()
	return f
}
