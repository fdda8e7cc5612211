package spec

import (
	"go/types"
	"strings"
)

// FullName returns the name under which specs know a function: what
// [types.Func.FullName] prints, without type parameters, for the function as it
// was declared.
//
//	pkg.F    (pkg.T).M    (*pkg.T).M
//
// An interface's method has the type that declares it, "(io.Closer).Close"; a
// method of an interface without a name is "(interface).M". A C function called
// through cgo is pkg._Cfunc_NAME, whether the call asks for errno or not.
func FullName(f *types.Func) string {
	f = f.Origin()
	recv := f.Signature().Recv()
	if recv == nil {
		if f.Pkg() == nil {
			return f.Name()
		}
		return f.Pkg().Path() + "." + cgoName(f.Name())
	}
	var b strings.Builder
	b.WriteByte('(')
	t := types.Unalias(recv.Type())
	if p, ok := t.(*types.Pointer); ok {
		b.WriteByte('*')
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		if pkg := n.Obj().Pkg(); pkg != nil {
			b.WriteString(pkg.Path())
			b.WriteByte('.')
		}
		b.WriteString(n.Obj().Name())
	} else {
		b.WriteString("interface")
	}
	b.WriteString(").")
	b.WriteString(f.Name())
	return b.String()
}

// cgoName maps the function that cgo makes for the form with two results
// (x, err := C.f()) to the one that it makes for the plain call.
func cgoName(name string) string {
	if c, ok := strings.CutPrefix(name, "_C2func_"); ok {
		return "_Cfunc_" + c
	}
	return name
}
