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

var pointerPairs = []pair{
	{"a field that leads to it", boxes + `
func f(n int) {
	w := wrap{newBox(), same(Make())}
	print(w.c == nil)
	w.box.Close() //F
}
`, boxes + `
func f(n int) {
	w := wrap{maybeBox(n), same(Make())}
	print(w.c == nil)
	w.box.Close() //F
}
`, "it may be nil"},
	{"a field of a struct that is given another", "", boxes + `
func f(n int) {
	w, v := wrap{newBox(), nil}, wrap{}
	if n > 4 {
		w = v
	}
	print(w.c == nil)
	w.box.Close() //F
}
`, "it may be nil"},
	{"a field that was set on all ways", boxes + `
func f(n int) {
	var w wrap
	if n > 3 {
		w.box = newBox()
	} else {
		w.box = newBox()
	}
	print(w.c == nil)
	w.box.Close() //F
}
`, boxes + `
func f(n int) {
	var w wrap
	if n > 3 {
		w.box = newBox()
	}
	print(w.c == nil)
	w.box.Close() //F
}
`, "it may be nil"},
	{"a field that a literal sets", boxes + `
func f(n int) {
	var w wrap
	func() { w.box = newBox() }()
	print(w.c == nil)
	w.box.Close() //F
}
`, boxes + `
func f(n int) {
	w := wrap{newBox(), nil}
	func() {
		if n > 3 {
			w.box = nil
		}
	}()
	print(w.c == nil)
	w.box.Close() //F
}
`, "it may be nil"},
	{"a field that a joined goroutine sets", "", boxes + `
func f(n int) {
	w := wrap{newBox(), nil}
	var wg sync.WaitGroup
	wg.Go(func() { w.box = nil })
	wg.Wait()
	print(w.c == nil)
	w.box.Close() //F
}
`, "it may be nil"},
	{"a field that a callee leaves alone", boxes + `
func f(n int) {
	w := wrap{newBox(), nil}
	print(w.c == nil)
	print(w.c == nil)
	w.box.Close() //F
}
`, boxes + `
func f(n int) {
	w := wrap{newBox(), nil}
	w.clear(n)
	print(w.c == nil)
	w.box.Close() //F
}
`, "it may be nil"},
	{"a field of what a map has", boxes + `
func f(n int) {
	m := map[int]*B{}
	w := wrap{newBox(), m[n]}
	print(w.c == nil)
	w.box.Close() //F
}
`, boxes + `
func f(n int) {
	m := map[int]wrap{1: {box: newBox()}}
	w := m[n]
	print(w.c == nil)
	w.box.Close() //F
}
`, "it may be nil"},
	{"a field of what was received", boxes + `
func f(n int) {
	w := wrap{newBox(), nil}
	ch := make(chan wrap, 1)
	ch <- w
	print(n)
	print(w.c == nil)
	w.box.Close() //F
}
`, boxes + `
func f(n int) {
	ch := make(chan wrap, 1)
	ch <- wrap{box: newBox()}
	close(ch)
	w := <-ch
	w = <-ch
	print(w.c == nil)
	w.box.Close() //F
}
`, "it may be nil"},
	{"a field beside no error", boxes + `
func f(n int) {
	b, err := tryBox(n)
	w := wrap{box: b}
	if err != nil {
		return
	}
	print(w.c == nil)
	w.box.Close() //F
}
`, boxes + `
func f(n int) {
	b, err := tryBox(n)
	w := wrap{box: b}
	print(err == nil)
	print(w.c == nil)
	w.box.Close() //F
}
`, "it may be nil"},
	{"a field that was set before a panic", boxes + `
func f(n int) {
	w := wrap{box: newBox()}
	func() {
		defer func() { recover() }()
		if n > 3 {
			panic(n)
		}
		print(n)
	}()
	print(w.c == nil)
	w.box.Close() //F
}
`, boxes + `
func f(n int) {
	var w wrap
	func() {
		defer func() { recover() }()
		if n > 3 {
			panic(n)
		}
		w.box = newBox()
	}()
	print(w.c == nil)
	w.box.Close() //F
}
`, "it may be nil"},
	{"a result of a literal", "", boxes + `
func f(n int) {
	mk := func() *box {
		if n > 3 {
			return nil
		}
		return newBox()
	}
	w := wrap{box: mk()}
	print(w.c == nil)
	w.box.Close() //F
}
`, "it may be nil"},
}
