package calls

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A World is what a package does with its functions: who calls them, and what is stored
// where function values are read.
type World struct {
	pkg     *ssa.Package
	away    *Elsewhere
	calls   map[*types.Func][]*ssa.CallCommon // of declared functions, by name
	taken   map[*types.Func]bool              // mentioned otherwise than to be called
	invoked map[string]bool                   // names of methods that are called through interfaces
	made    map[*ssa.Function][]*ssa.MakeClosure
	methods map[string][]*types.Func
	known   map[ssa.Value][]Target        // what function values may be
	said    func(*types.Var) bool         // whether a line of a spec says what is in a variable
	offered map[*types.Func][]*types.Func // see offers
	fields
}

// fields is what is done with unexported fields that have functions.
type fields struct {
	stored map[string][]ssa.Value
	leaks  map[string]bool // whose address is taken
	raw    bool            // memory of unknown make is taken for structs with functions
}

// NewWorld reads a package that is built.
func NewWorld(p *ssa.Package, away *Elsewhere) *World {
	w := &World{pkg: p, away: away, calls: map[*types.Func][]*ssa.CallCommon{}, taken: map[*types.Func]bool{},
		invoked: map[string]bool{}, made: map[*ssa.Function][]*ssa.MakeClosure{},
		methods: map[string][]*types.Func{}, fields: fields{stored: map[string][]ssa.Value{}, leaks: map[string]bool{}},
		known: map[ssa.Value][]Target{}, offered: map[*types.Func][]*types.Func{}}
	for _, f := range Functions(p) {
		if fn := Declared(f); fn != nil && fn.Signature().Recv() != nil {
			w.methods[fn.Name()] = append(w.methods[fn.Name()], fn)
		}
		for _, b := range f.Blocks {
			for _, i := range b.Instrs {
				w.read(i)
			}
		}
	}
	return w
}

// Functions lists the functions of a package: those that are declared, the initializer, and
// the literals in each, in the order of the text.
func Functions(p *ssa.Package) []*ssa.Function {
	var out []*ssa.Function
	var add func(f *ssa.Function)
	add = func(f *ssa.Function) {
		out = append(out, f)
		for _, a := range f.AnonFuncs {
			add(a)
		}
	}
	var roots []*ssa.Function
	for _, m := range p.Members {
		switch m := m.(type) {
		case *ssa.Function:
			roots = append(roots, m)
		case *ssa.Type:
			if n, ok := types.Unalias(m.Type()).(*types.Named); ok && n.Obj().Pkg() == p.Pkg {
				for fn := range n.Methods() {
					if f := p.Prog.FuncValue(fn); f != nil {
						roots = append(roots, f)
					}
				}
			}
		}
	}
	slices.SortFunc(roots, func(a, b *ssa.Function) int {
		if a.Pos() != b.Pos() {
			return int(a.Pos() - b.Pos())
		}
		return strings.Compare(a.String(), b.String())
	})
	for _, f := range slices.CompactFunc(roots, func(a, b *ssa.Function) bool { return a == b }) {
		add(f)
	}
	return out
}

// read notes what an instruction calls, mentions and stores.
func (w *World) read(i ssa.Instruction) {
	var callee ssa.Value
	if c, ok := i.(ssa.CallInstruction); ok {
		common := c.Common()
		if common.IsInvoke() {
			w.invoked[common.Method.Name()] = true
		} else if fn := Called(common); fn != nil {
			callee = common.Value
			w.calls[fn.Origin()] = append(w.calls[fn.Origin()], common)
		}
	}
	for k, op := range i.Operands(nil) {
		f, ok := (*op).(*ssa.Function)
		if !ok || f.Object() == nil || k == 0 && *op == callee {
			continue
		}
		fn := f.Object().(*types.Func).Origin()
		w.taken[fn] = true
		if r := fn.Signature().Recv(); r != nil && types.IsInterface(r.Type()) {
			w.invoked[fn.Name()] = true
		}
	}
	switch i := i.(type) {
	case *ssa.MakeClosure:
		f := i.Fn.(*ssa.Function)
		w.made[f] = append(w.made[f], i)
	case *ssa.FieldAddr:
		w.field(i)
	case *ssa.Convert:
		if b, ok := i.X.Type().Underlying().(*types.Basic); ok &&
			(b.Kind() == types.UnsafePointer || b.Kind() == types.Uintptr) {
			w.adopts(i.Type())
		}
	case *ssa.MultiConvert:
		w.adopts(i.Type())
	}
}

// adopts notes that memory which somebody else may have filled is taken for a t.
func (w *World) adopts(t types.Type) {
	if p, ok := t.Underlying().(*types.Pointer); ok && holdsFunc(p.Elem()) {
		w.raw = true
	}
}

// holdsFunc reports whether a value of type t may contain a function.
func holdsFunc(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Array:
		return holdsFunc(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if holdsFunc(f.Type()) {
				return true
			}
		}
	}
	return isFunc(t)
}

// field notes what is stored in a field that only this package can name.
func (w *World) field(a *ssa.FieldAddr) {
	f := fieldOf(a.X.Type(), a.Field)
	if f == nil {
		w.raw = true
		return
	}
	if !isFunc(f.Type()) || !w.names(f) {
		return
	}
	for _, u := range *a.Referrers() {
		switch u := u.(type) {
		case *ssa.UnOp, *ssa.DebugRef:
			continue
		case *ssa.Store:
			if u.Addr == a && u.Val != ssa.Value(a) {
				w.stored[f.Name()] = append(w.stored[f.Name()], u.Val)
				continue
			}
		}
		w.leaks[f.Name()] = true
	}
}

// fieldOf returns field k of the struct that t is, or leads to; nil if it is none.
func fieldOf(t types.Type, k int) *types.Var {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if s, ok := t.Underlying().(*types.Struct); ok {
		return s.Field(k)
	}
	return nil
}

// names reports whether this package alone can name a field.
func (w *World) names(f *types.Var) bool { return !f.Exported() && f.Pkg() == w.pkg.Pkg }

// isFunc reports whether t may be a function: a type parameter may.
func isFunc(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Signature:
		return true
	case *types.Interface:
		_, param := types.Unalias(t).(*types.TypeParam)
		return param
	}
	return false
}

// alone reports whether all calls of a declared function are those that are seen.
func (w *World) alone(fn *types.Func) bool {
	if fn.Pkg() != w.pkg.Pkg || fn.Exported() || w.taken[fn] || w.away.Says(fn.Name()) {
		return false
	}
	return fn.Signature().Recv() == nil || !w.invoked[fn.Name()]
}
