package proof

// What the standard library does to what it is lent and specs do not say.

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// rearrange are packages that clear elements of what they are lent.
var rearrange = []string{"maps", "reflect", "slices"}

// relays are packages that give one operand to an optional method of another: WriteTo, ReadFrom, Is.
var relays = []string{"errors", "io"}

// unsaid reports whether what fn does to its operands depends on who they are, which no summary says.
func unsaid(fn *types.Func) bool {
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	path := fn.Pkg().Path()
	return slices.Contains(relays, path) || slices.Contains(writers, path)
}

// writers are packages of functions that write over what they are lent.
var writers = []string{"encoding/binary", "encoding/json", "fmt", "reflect", "sync/atomic"}

// decodes reports whether a call writes what it read, or was told, over what operand n leads to.
func (c *checker) decodes(k *call, n int) bool {
	if k.fn == nil || k.fn.Pkg() == nil || c.off[Callbacks] {
		return false
	}
	name, last := k.fn.Name(), n == len(k.args)-1
	switch k.fn.Pkg().Path() {
	case "encoding/json":
		return last && (name == "Unmarshal" || name == "Decode") && !floats(k.args[n])
	case "encoding/binary":
		return last && (name == "Read" || name == "Decode") && !floats(k.args[n])
	case "fmt":
		return last && strings.Contains(strings.ToLower(name), "scan")
	case "reflect":
		return n == 0 && strings.HasPrefix(name, "Set")
	}
	return false
}

// exchanges reports whether fn writes over the number that its first operand points to.
func (c *checker) exchanges(fn *types.Func) bool {
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "sync/atomic" && !c.off[Callbacks]
}

// floats reports whether v is an interface of floats, or of memory that holds nothing else: no handle is one.
func floats(v ssa.Value) bool {
	i, ok := v.(*ssa.MakeInterface)
	if !ok {
		return false
	}
	t := i.X.Type()
	for {
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			t = u.Elem()
		case *types.Slice:
			t = u.Elem()
		case *types.Array:
			t = u.Elem()
		default:
			b, ok := u.(*types.Basic)
			return ok && b.Info()&(types.IsFloat|types.IsComplex) != 0
		}
	}
}
