package proof_test

// What leads to a resource may be nil where it is read: a walk with zeros says.

const boxes = `
type box struct{ b *B }

func (x *box) Close() { x.b.Free() }

func newBox() *box { return &box{Make()} }

func tryBox(n int) (*box, error) {
	if n > 3 {
		return nil, errors.New("none")
	}
	return newBox(), nil
}

func maybeBox(n int) *box {
	if n > 3 {
		return nil
	}
	return newBox()
}

func same(b *B) *B { return b }

type wrap struct {
	*box
	c *B
}

func (w *wrap) clear(n int) {
	if n > 3 {
		*w = wrap{}
	}
}
`

// leading frees what field box of w leads to, behind what a body does with w.
func leading(body string) string {
	return boxes + "\nfunc f(n int) {" + body + `
	print(w.c == nil)
	w.box.Close() //F
}
`
}

// pointerPairs show when a pointer is not nil.
var pointerPairs = []pair{
	{"a field that leads to it", leading(`
	w := wrap{newBox(), same(Make())}`), leading(`
	w := wrap{maybeBox(n), same(Make())}`), "it may be nil"},
	{"a field of a struct that is given another", "", leading(`
	w, v := wrap{newBox(), nil}, wrap{}
	if n > 4 {
		w = v
	}`), "it may be nil"},
	{"a field that was set on all ways", leading(`
	var w wrap
	if n > 3 {
		w.box = newBox()
	} else {
		w.box = newBox()
	}`), leading(`
	var w wrap
	if n > 3 {
		w.box = newBox()
	}`), "it may be nil"},
	{"a field that a literal sets", leading(`
	var w wrap
	func() { w.box = newBox() }()`), leading(`
	w := wrap{newBox(), nil}
	func() {
		if n > 3 {
			w.box = nil
		}
	}()`), "it may be nil"},
	{"a field that a joined goroutine sets", "", leading(`
	w := wrap{newBox(), nil}
	var wg sync.WaitGroup
	wg.Go(func() { w.box = nil })
	wg.Wait()`), "it may be nil"},
	{"a field that a callee leaves alone", leading(`
	w := wrap{newBox(), nil}
	print(w.c == nil)`), leading(`
	w := wrap{newBox(), nil}
	w.clear(n)`), "it may be nil"},
	{"a field of what a map has", leading(`
	m := map[int]*B{}
	w := wrap{newBox(), m[n]}`), leading(`
	m := map[int]wrap{1: {box: newBox()}}
	w := m[n]`), "it may be nil"},
	{"a field of what was received", leading(`
	w := wrap{newBox(), nil}
	ch := make(chan wrap, 1)
	ch <- w
	print(n)`), leading(`
	ch := make(chan wrap, 1)
	ch <- wrap{box: newBox()}
	close(ch)
	w := <-ch
	w = <-ch`), "it may be nil"},
	{"a field beside no error", leading(`
	b, err := tryBox(n)
	w := wrap{box: b}
	if err != nil {
		return
	}`), leading(`
	b, err := tryBox(n)
	w := wrap{box: b}
	print(err == nil)`), "it may be nil"},
	{"a field that was set before a panic", leading(`
	w := wrap{box: newBox()}
	func() {
		defer func() { recover() }()
		if n > 3 {
			panic(n)
		}
		print(n)
	}()`), leading(`
	var w wrap
	func() {
		defer func() { recover() }()
		if n > 3 {
			panic(n)
		}
		w.box = newBox()
	}()`), "it may be nil"},
	{"a result of a literal", "", leading(`
	mk := func() *box {
		if n > 3 {
			return nil
		}
		return newBox()
	}
	w := wrap{box: mk()}`), "it may be nil"},
	{"a result of a literal that makes nothing", "", boxes + `
func f(n int) {
	p := newBox()
	defer func() {
		print(p == nil)
		p.Close() //F
	}()
	if n > 3 {
		p = func() *box { return nil }()
	}
}
`, "may be nil"},
	{"a handle that a literal returns", "", `
func f(n int) {
	p := Make()
	defer func() {
		print(p == nil)
		p.Free() //F
	}()
	if n > 3 {
		p = func() *B { return nil }()
	}
}
`, "may be nil"},
}
