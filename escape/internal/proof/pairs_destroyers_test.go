package proof_test

// destroyerPairs show which destructors are known whose turns have a struct in a variable.
var destroyerPairs = []pair{
	{"a destructor reads an element's fields of a variable", netClosed(`l.w.Free(); l.b.Free()`),
		netClosed(`l.w = x.k; l.w.Free()`), "does more than free"},
	{"the variable is the element", netClosed(`l.w.Free()`), netClosed(`l = x.l; l.w.Free()`), "does more than free"},
	{"a copy of the variable is the element", netClosed(`m := l; m.w.Free()`),
		netClosed(`var m layer; m.w.Free(); m = l`), "does more than free"},
	{"a variable is an element in any case", netClosed(`m := l; m.w.Free()`),
		netClosed(`var m layer; if x.n == 3 { m = l }; m.w.Free()`), "does more than free"},
	{"a destructor frees each field once", netClosed(`l.w.Free(); l.b.Free()`), netClosed(`l.w.Free(); l.w.Free()`),
		"freed twice"},
	{"a destructor keeps no element", netClosed(`l.w.Free()`), netClosed(`kept = l; l.w.Free()`), "does more than free"},
	{"a destructor writes behind a loop", netClosed(`l.w.Free()`, `x.ls = nil`),
		netClosed(`l.w.Free()`, `x.ls[0].w.Free()`), "does more than free"},
	{"a destructor of each by its own", netClosed(`l.free()`), netClosed(`l.frees()`), "does more than free"},
}

// netClosed is a function that frees a struct with a slice of structs, by a destructor with that body for
// each.
func netClosed(each string, behind ...string) string {
	text := `
type layer struct{ w, b *B }

func (l layer) free() { l.w.Free(); l.b.Free() }

func (l *layer) frees() { l.w.Free(); kept = *l }

var kept layer

type net struct {
	ls []layer
	l  layer
	k  *B
	n  int
}

func newNet(n int) *net {
	x := &net{k: global}
	for range n {
		x.ls = append(x.ls, layer{Make(), Make()})
	}
	return x
}

func (x *net) Close() {
	for _, l := range x.ls {
		` + each + `
	}
`
	for _, b := range behind {
		text += "\t" + b + "\n"
	}
	return text + `}

func f() {
	x := newNet(3)
	x.n++
	x.Close() //F
}
`
}
