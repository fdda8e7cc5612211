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
	{"the program frees the field beside it", besideField(`p.Close()`), besideField(`p.CloseBoth()`), gone},
	{"it is in the field that the program frees", besideField(`p.Close()`), besideField(`p.Swap(); p.Close()`), gone},
	{"one of two destructors frees the field beside it", "",
		besideField(`c := (*two).Close; if x == 1 { c = (*two).CloseBoth }; c(p)`), gone},
}

// besideField is a function that frees what is in one field of a struct, of which the program frees others.
func besideField(closes string) string {
	return `
type two struct{ a, b *B }

func (p *two) Close() { p.a.Free() }

func (p *two) CloseBoth() { p.a.Free(); p.b.Free() }

func (p *two) Swap() { p.a, p.b = p.b, p.a }

func f(x int) {
	b := Make()
	p := &two{Make(), b}
	` + closes + `
	b.Free() //F
}
`
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
