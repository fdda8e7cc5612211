package memory

import "go/types"

// Counted reports whether values of a type are counted: a method of theirs takes one more reference, or what
// frees them was found to leave one.
func (in *Input) Counted(t types.Type) bool {
	if is, ok := in.counted.At(t).(bool); ok {
		return is
	}
	base := Pointee(t)
	if !types.IsInterface(base) {
		base = types.NewPointer(base)
	}
	found := in.Frees.Count(t) != nil
	for m := range types.NewMethodSet(base).Methods() {
		fn, ok := m.Obj().(*types.Func)
		found = found || ok && fn.Signature().Params().Len() == 0 && in.Func(fn).Param(0).Retained
	}
	in.counted.Set(t, found)
	return found
}
