package proof

// The table: what each instruction of go/ssa does. Who wants to know asks here and nowhere else: the graph of
// locations (flow.go), the walk (walk.go) and the search back from a free that was taken out (moved.go). What
// a call does is in calls.go; its results and those of builtin functions are entries here as well.

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A how says how a value is made of another.
type how uint8

const (
	itself    how = 0
	part      how = 1 << iota // a part of it, or a number made of it
	somewhere                 // any place in the memory that it leads to
	field                     // a field of a struct, or an element of an array
	inside                    // the address of a part of what it leads to
	content                   // what is in a part of what it leads to
	lent                      // any part of what it leads to
	number                    // a number in a field of a struct, or one made of it
)

// A source is something that a value may come from: v, or the i-th of a tuple v.
type source struct {
	v    ssa.Value
	i    int
	how  how
	step string // of inside, content and field: the part
	data data   // of content and lent
}

// A data says of what a source gives that it is no handle, and no part of one.
type data uint8

const (
	mayBe   data = iota // it may be one
	library             // it is a number: of a resource whose library says what its numbers are
	anyones             // whoever has it there
)

// A storing puts val into the part of what to leads to that step says.
type storing struct {
	to    ssa.Value
	step  string
	val   source
	over  bool // a resource that has the part may be another one from then on
	moves bool // what is there already moves along with memory
}

// An entry is what one instruction does. (*) Where memory is given back something else may be made at the
// same address. What a string's bytes are copied to, and what comparing them gives, is no part of them.
type entry struct {
	from    []source // of its register
	zero    bool     // its register may be zero
	unknown bool     // its register may come from anywhere
	makes   bool     // its register is the address of new memory
	stores  []storing
	gives   []ssa.Value     // handed to somebody who may keep it,
	words   string          // in these words
	asserts *ssa.TypeAssert // that does: what a library made is not given
	reads   []ssa.Value     // whose memory is read or written, or which are told apart from others (*)
	orders  []ssa.Value     // told apart by their order or difference, as only numbers that are handles are
	strange bool            // it is not on the list
	altered
}

// altered is what may be another one from here on.
type altered struct {
	empties ssa.Value // elements of what it leads to may be zero
	changes ssa.Value // it itself, if it is a resource
}

// noEntry is what an instruction does that is in the table and changes no set by itself.
var noEntry = new(entry)

// entry returns what an instruction of a family does that is no call.
func (f *family) entry(i ssa.Instruction) *entry {
	e := f.entries[i]
	if e == nil {
		e = f.c.entry(i)
		f.entries[i] = e
	}
	return e
}

func (c *checker) entry(i ssa.Instruction) *entry {
	switch i.(type) {
	case *ssa.DebugRef, *ssa.Jump, *ssa.If, *ssa.RunDefers, *ssa.Return, *ssa.MakeClosure:
		return noEntry
	}
	e := &entry{}
	switch i := i.(type) {
	case *ssa.Alloc, *ssa.MakeMap, *ssa.MakeChan:
		e.makes = true
	case *ssa.MakeSlice:
		if n, ok := i.Len.(*ssa.Const); !ok || n.Int64() > 0 {
			e.empties = i
		}
		e.makes = true
	case *ssa.FieldAddr:
		e.from = []source{{v: i.X, how: inside, step: step(i.Field)}}
	case *ssa.IndexAddr:
		e.from = []source{{v: i.X, how: inside, step: c.indexStep(i)}}
	case *ssa.UnOp:
		switch i.Op {
		case token.MUL:
			e.from, e.reads = []source{{v: i.X, how: content, data: dataRead(i)}}, []ssa.Value{i.X}
		case token.ARROW: // of one that was closed, zero
			e.from, e.zero, e.reads = []source{{v: i.X, how: content, step: index}}, true, []ssa.Value{i.X}
		case token.NOT:
		default:
			e.from = []source{{v: i.X, how: part}}
		}
	case *ssa.BinOp:
		if both := []ssa.Value{i.X, i.Y}; tellApart(i) {
			e.reads = both
		} else if varies(i.X) && varies(i.Y) {
			e.orders = both
		}
		if !compares(i) {
			e.from = []source{{v: i.X, how: part}, {v: i.Y, how: part}}
		}
	case *ssa.Store:
		e.stores, e.reads = []storing{{to: i.Addr, val: source{v: i.Val}, over: !plain(i)}}, []ssa.Value{i.Addr}
	case *ssa.MapUpdate:
		e.reads = []ssa.Value{i.Map, i.Key}
		e.stores = []storing{{to: i.Map, step: keys, val: source{v: i.Key}, over: true},
			{to: i.Map, step: index, val: source{v: i.Value}, over: true}}
	case *ssa.Send:
		e.stores = []storing{{to: i.Chan, step: index, val: source{v: i.X}, over: true}}
		e.reads = []ssa.Value{i.Chan}
	case *ssa.Select:
		for _, s := range i.States {
			if e.reads = append(e.reads, s.Chan); s.Send != nil {
				e.gives = append(e.gives, s.Send)
			} else {
				e.from = append(e.from, source{v: s.Chan, how: content})
			}
		}
		e.unknown, e.words = true, "it is sent on a channel"
	case *ssa.Panic:
		e.gives, e.words = []ssa.Value{i.X}, "it is used as a panic's value"
	case ssa.Value:
		c.computed(e, i)
	default:
		e.strange = true
	}
	return e
}

// computed is entry for what makes a value of others.
func (c *checker) computed(e *entry, v ssa.Value) {
	switch i := v.(type) {
	case *ssa.Phi:
		for _, x := range i.Edges {
			e.from = append(e.from, source{v: x})
		}
	case *ssa.ChangeType, *ssa.ChangeInterface, *ssa.Slice, *ssa.TypeAssert, *ssa.MakeInterface, *ssa.Range:
		x := *v.(ssa.Instruction).Operands(nil)[0]
		e.from = []source{{v: x}}
		if c.tells(v) { // who prints it, or compares it, asks its methods
			e.gives, e.words = []ssa.Value{x}, "it is put where others may use it"
			e.asserts, _ = v.(*ssa.TypeAssert)
		}
		switch i := i.(type) {
		case *ssa.TypeAssert:
			e.zero = i.CommaOk
		case *ssa.Slice:
			if e.from[0].how = part; mayGrow(i) { // of a handle that is a slice it is another one
				e.empties = i.X
			}
		}
	case *ssa.SliceToArrayPointer:
		e.from = []source{{v: i.X, how: somewhere}}
	case *ssa.MultiConvert:
		e.from, e.reads = []source{{v: i.X, how: part | somewhere}}, []ssa.Value{i.X}
	case *ssa.Convert:
		if anyType(i.Type()) || anyType(i.X.Type()) { // it may be any of these
			e.from, e.reads = []source{{v: i.X, how: part | somewhere}}, []ssa.Value{i.X}
		} else if isUnsafe(i.Type()) || isUnsafe(i.X.Type()) { // the same memory as another type
			e.from = []source{{v: i.X, how: somewhere}}
		} else if isSlice(i.X.Type()) { // a text of bytes is a copy
			e.reads = []ssa.Value{i.X}
		} else if isSlice(i.Type()) { // bytes of a text compilers copy where they are written only
			e.from, e.reads = []source{{v: i.X, how: part}}, []ssa.Value{i.X}
		} else if widens(i) {
			e.from = []source{{v: i.X}}
		} else { // another number, or the bytes of one
			e.from = []source{{v: i.X, how: part}}
		}
	case *ssa.Field:
		e.from = []source{{v: i.X, how: field, step: step(i.Field)}}
	case *ssa.Index:
		if _, array := i.X.Type().Underlying().(*types.Array); !array {
			e.reads = []ssa.Value{i.X}
		}
		if !isString(i.X.Type()) { // an array's, or it may be one
			e.from = []source{{v: i.X, how: field, step: index}}
		}
	case *ssa.Extract:
		if isBool(i.Type()) {
			e.unknown = true
		} else if _, call := i.Tuple.(*ssa.Call); call {
			e.from = []source{{v: i.Tuple, i: i.Index}}
		} else if next, ok := i.Tuple.(*ssa.Next); ok && i.Index == 1 {
			e.from = []source{{v: next.Iter, how: content, step: keys}}
		} else {
			e.from = []source{{v: i.Tuple}}
		}
	case *ssa.Lookup:
		e.from, e.zero = []source{{v: i.X, how: content, step: index}}, true
		e.reads = []ssa.Value{i.X, i.Index}
	case *ssa.Next:
		e.reads = []ssa.Value{i.Iter}
		if !i.IsString {
			e.from = []source{{v: i.Iter, how: content, step: index}}
		}
	default:
		e.strange = true
	}
}

// builtin returns what a builtin function does with args; v takes its result.
func builtin(name string, args []ssa.Value, v ssa.Value) *entry {
	e := &entry{}
	switch name {
	case "append", "clear", "close", "copy", "delete", "max", "min", "print", "println":
		e.reads = args
	case "cap", "len":
		switch args[0].Type().Underlying().(type) {
		case *types.Chan, *types.Map, *types.Interface: // or of a type parameter
			e.reads = args
		}
	}
	switch name {
	case "append": // what is there already moves along
		e.makes, e.from = true, []source{{v: args[0]}}
		for n, a := range args {
			e.stores = append(e.stores, storing{v, index, elements(a), true, n == 0})
		}
	case "copy":
		e.stores = []storing{{args[0], index, elements(args[1]), true, false}}
	case "delete": // a handle that is a map
		e.changes = args[0]
	case "clear":
		if _, deletes := args[0].Type().Underlying().(*types.Map); deletes {
			return builtin("delete", args, v)
		} else {
			s, ok := args[0].Type().Underlying().(*types.Slice)
			zero := source{v: ssa.NewConst(nil, types.Typ[types.UntypedNil])}
			e.stores = []storing{{args[0], index, zero, !ok || !noHandle(s.Elem(), true), false}}
		}
	case "len", "cap", "print", "println", "close", "Sizeof", "Alignof", "ssa:deferstack":
	case "panic": // that is deferred
		e.gives, e.words = args, "it is used as a panic's value"
	case "recover":
		e.unknown = true
	case "Add", "Slice", "SliceData", "String", "StringData": // an address may be made of a number
		for _, a := range args {
			e.from = append(e.from, source{v: a, how: part | somewhere})
		}
	default: // min, max, complex and its parts, ssa:wrapnilchk
		for _, a := range args {
			e.from = append(e.from, source{v: a, how: part})
		}
	}
	return e
}

// elements is what is in the elements of v.
func elements(v ssa.Value) source {
	return source{v: v, how: content, step: index, data: dataIn(v.Type())}
}

// dataRead says what a load gives.
func dataRead(i *ssa.UnOp) data {
	if at, ok := i.X.(*ssa.IndexAddr); ok {
		return dataIn(at.X.Type())
	}
	return mayBe
}

// dataIn says what an element of a slice is, if it has a type that nobody can have made for handles: one into
// which none fits is none.
func dataIn(t types.Type) data {
	s, ok := t.Underlying().(*types.Slice)
	if !ok {
		return mayBe
	}
	_, nameless := types.Unalias(s.Elem()).(*types.Basic)
	b, basic := s.Elem().Underlying().(*types.Basic)
	switch {
	case nameless && noHandle(b, true):
		return anyones
	case basic && b.Info()&types.IsNumeric != 0 && b.Kind() != types.Uintptr:
		return library
	}
	return mayBe
}

// result returns where the j-th result of a call comes from, but for what is made there.
func (f *family) result(k *call, j int) *entry {
	r := k.sum.result(j)
	return &entry{zero: r.Owned, unknown: !r.Owned && !r.Exact, from: f.sources(k, r, k.resultType(j))}
}

// sources returns what result r of a call, or a part of one, comes from.
func (f *family) sources(k *call, r Result, t types.Type) (from []source) {
	for _, a := range r.Is {
		from = append(from, source{v: k.args[a]})
	}
	for _, field := range r.Read {
		from = append(from, f.readOf(k, field))
	}
	for n, a := range k.args {
		src := source{v: a, how: lent}
		if n == 0 && r.Data {
			src.data = min(dataIn(t), library)
		}
		if _, only := f.numbersOf(k, r, n); only {
			for _, path := range r.numbers(n) {
				from = append(from, source{v: a, how: number, step: path})
			}
		} else if !r.Known || slices.Contains(r.Derived, n) {
			from = append(from, src)
		}
	}
	return from
}

// apart returns what an owned result may be besides, and what it views.
func (e *entry) apart() (is, views *entry) {
	is, views = &entry{zero: e.zero, unknown: e.unknown}, &entry{}
	for _, src := range e.from {
		if src.how == lent {
			views.from = append(views.from, src)
		} else {
			is.from = append(is.from, src)
		}
	}
	return is, views
}

// acts reports whether an instruction does more than compute a register: what memory holds, and who runs, may
// be another behind it.
func acts(i ssa.Instruction) bool {
	switch i := i.(type) {
	case *ssa.UnOp:
		return i.Op == token.ARROW
	case *ssa.Store, *ssa.MapUpdate, *ssa.Send, *ssa.Select, *ssa.Next, *ssa.Panic, *ssa.Return, *ssa.RunDefers,
		ssa.CallInstruction:
		return true
	}
	return false
}

// mayPanic reports whether an instruction may panic.
func mayPanic(i ssa.Instruction) bool {
	switch i := i.(type) {
	case *ssa.Phi, *ssa.DebugRef, *ssa.Jump, *ssa.If, *ssa.Return, *ssa.Alloc, *ssa.MakeClosure, *ssa.Extract,
		*ssa.RunDefers, *ssa.Field:
		return false
	case *ssa.FieldAddr:
		return !isAddress(i.X)
	case *ssa.IndexAddr:
		_, fixed := i.Index.(*ssa.Const)
		return !fixed || !isAddress(i.X)
	case *ssa.Store:
		return !isAddress(i.Addr)
	case *ssa.UnOp:
		return !isAddress(i.X)
	}
	return true
}

// isAddress reports whether v is the address of a variable, or of a part of something: it is not nil.
func isAddress(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Alloc, *ssa.Global, *ssa.FieldAddr, *ssa.IndexAddr:
		return true
	case *ssa.FreeVar:
		return v.Parent().Syntax() != nil // that of a method value is its receiver
	}
	return false
}

func compares(i *ssa.BinOp) bool {
	switch i.Op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return true
	}
	return false
}

// widens reports whether a conversion keeps each number as it is.
func widens(i *ssa.Convert) bool {
	from, ok1 := i.X.Type().Underlying().(*types.Basic)
	to, ok2 := i.Type().Underlying().(*types.Basic)
	return ok1 && ok2 && from.Info()&to.Info()&types.IsInteger != 0 && width(from) <= width(to)
}

// width orders the types of whole numbers by size; of a word it is only known that it has 32 bits, or 64.
func width(b *types.Basic) int {
	switch b.Kind() {
	case types.Int8, types.Uint8:
		return 1
	case types.Int16, types.Uint16:
		return 2
	case types.Int32, types.Uint32:
		return 3
	case types.Int, types.Uint, types.Uintptr:
		return 4
	}
	return 5
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

func isUnsafe(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.UnsafePointer
}

// tellApart reports whether an operation on two values reads the bytes of strings, or tells what is the same
// from what is another. Comparing with a constant is neither.
func tellApart(i *ssa.BinOp) bool {
	return hasText(i.X.Type()) && !isNilConst(i.X) && !isNilConst(i.Y) ||
		(i.Op == token.EQL || i.Op == token.NEQ) && varies(i.X) && varies(i.Y)
}

func varies(v ssa.Value) bool { _, fixed := v.(*ssa.Const); return !fixed }

// hasText reports whether values of a type hold strings, or what is not known.
func hasText(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsString != 0
	case *types.Interface:
		return true
	case *types.Array:
		return hasText(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			if hasText(u.Field(i).Type()) {
				return true
			}
		}
	}
	return false
}
