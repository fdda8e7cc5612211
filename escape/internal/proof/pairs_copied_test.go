package proof_test

// elementViews are views of a resource that have elements.
const elementViews = `
//lastuse:effect result 0 views recv
func (b *B) Floats() []float32

//lastuse:effect result 0 views recv
func (b *B) Bytes() []byte

//lastuse:effect result 0 views recv
func (b *B) Words() []uint64

//lastuse:effect result 0 views recv
func (b *B) Rows() [][]byte

//lastuse:effect result 0 views recv
func (b *B) Points() []*float32
`

// copiedPairs show which elements of what a resource has are no handles when they are read.
var copiedPairs = []pair{
	{"an element that is read", elementViews + `
func f() float32 {
	b := Make()
	n := b.Floats()[0]
	b.Free() //F
	return n
}
`, elementViews + `
func f() uint64 {
	b := Make()
	n := b.Words()[0]
	b.Free() //F
	return n
}
`, "it is returned"},
	{"elements that are copied to somebody", elementViews + `
func f(out []float32) {
	b := Make()
	copy(out, b.Floats())
	b.Free() //F
}
`, elementViews + `
func f(out [][]byte) {
	b := Make()
	copy(out, b.Rows())
	b.Free() //F
}
`, "handed to somebody"},
	{"elements that are appended", elementViews + `
func f() []byte {
	b := Make()
	out := append([]byte(nil), b.Bytes()...)
	b.Free() //F
	return out
}
`, elementViews + `
func f() []*float32 {
	b := Make()
	out := append([]*float32(nil), b.Points()...)
	b.Free() //F
	return out
}
`, "it is returned"},
	{"bytes that become text, and text that becomes bytes", elementViews + `
func f() string {
	b := Make()
	s := string(b.Bytes())
	b.Free() //F
	return s
}
`, elementViews + `
//lastuse:effect result 0 views recv
func (b *B) Text() string

func f() {
	b := Make()
	s := []byte(b.Text())
	b.Free() //F
	print(s[0])
}
`, "it is read or written"},
	{"text that becomes bytes, and is gone", elementViews + `
func f() {
	b := Make()
	s := string(b.Bytes())
	b.Free() //F
	print(len([]byte(s)))
}
`, elementViews + `
//lastuse:effect result 0 views recv
func (b *B) Text() string

func f() {
	b := Make()
	s := b.Text()
	b.Free() //F
	print(len([]byte(s)))
}
`, "it is read or written"},
	{"elements that are stored one by one", elementViews + `
func f(out []float32) {
	b := Make()
	for i, x := range b.Floats() {
		out[i] = x
	}
	b.Free() //F
}
`, elementViews + `
func f(out []*float32) {
	b := Make()
	v := b.Floats()
	for i := range v {
		out[i] = &v[i]
	}
	b.Free() //F
}
`, "handed to somebody"},
	{"what is appended to", "", elementViews + `
func f() []float32 {
	b := Make()
	out := append(b.Floats(), 1)
	b.Free() //F
	return out
}
`, "it is returned"},
	{"a copy that runs later", elementViews + `
func f(out []float32) {
	b := Make()
	func() { copy(out, b.Floats()) }()
	b.Free() //F
}
`, elementViews + `
func f(out []float32) {
	b := Make()
	go copy(out, b.Floats())
	b.Free() //F
}
`, "handed to somebody"},
	{"a callee that copies", elementViews + `
func clone(v []float32) []float32 {
	out := make([]float32, len(v))
	copy(out, v)
	return out
}

func f() []float32 {
	b := Make()
	out := clone(b.Floats())
	b.Free() //F
	return out
}
`, elementViews + `
func clone(v []float32) []float32 {
	if len(v) == 0 {
		return v
	}
	out := make([]float32, len(v))
	copy(out, v)
	return out
}

func f() []float32 {
	b := Make()
	out := clone(b.Floats())
	b.Free() //F
	return out
}
`, "it is returned"},
	{"a number made of a handle that is an element here", elementViews + `
func f() float32 {
	h := MakeH()
	x := []float32{1, 2}
	h.Use()
	y := x[0]
	h.Free() //F
	return y
}
`, `
func f() float64 {
	h := MakeH()
	x := []float64{float64(h.n)}
	y := x[0]
	h.Free() //F
	return y
}
`, "it is returned"},
	{"handles that are floats", "", `
type F float32

//lastuse:effect result 0 owned
func MakeF() F

//lastuse:effect recv freed
func (x F) Free()

//lastuse:effect recv borrowed
func (x F) Use()

func pick(s []F) F { return s[0] }

func f() {
	x := MakeF()
	y := pick([]F{x})
	x.Free() //F
	y.Use()
}
`, "handed to somebody"},
	{"a handle that is bytes", "", `
type H4 [4]byte

//lastuse:effect result 0 owned
func MakeH4() H4

//lastuse:effect recv freed
func (x H4) Free()

//lastuse:effect recv borrowed
func (x H4) Use()

func f() {
	x := MakeH4()
	c := append([]byte(nil), x[:]...)
	var k H4
	copy(k[:], c)
	x.Free() //F
	k.Use()
}
`, "it is used by Use"},
	{"numbers that a library says a slice views", `
func f() (s int64) {
	x := NewLib()
	for _, n := range x.Ints() {
		s += n
	}
	x.Release() //F
	return s
}
`, elementViews + `
func f() (s uint64) {
	b := Make()
	for _, n := range b.Words() {
		s += n
	}
	b.Free() //F
	return s
}
`, "it is returned"},
	{"a copy of such numbers", `
func f() []int64 {
	x := NewLib()
	out := append([]int64(nil), x.Ints()[1:]...)
	x.Release() //F
	return out
}
`, `
func f() []int64 {
	x := NewLib()
	out := append(x.Ints()[1:], 1)
	x.Release() //F
	return out
}
`, "it is returned"},
	{"the address of such a number", "", `
func f() uintptr {
	x := NewLib()
	n := uintptr(unsafe.Pointer(&x.Ints()[0]))
	x.Release() //F
	return n
}
`, "it is returned"},
	{"such numbers as memory of another type", "", `
type node struct{ next *node }

func f() *node {
	x := NewLib()
	n := (*node)(unsafe.Pointer(&x.Ints()[0])).next
	x.Release() //F
	return n
}
`, "it is returned"},
	{"a callee that knows the address of such a number", "", `
func addr(v []int64) int64 { return int64(uintptr(unsafe.Pointer(&v[0]))) }

func f() int64 {
	x := NewLib()
	n := addr(x.Ints())
	x.Release() //F
	return n
}
`, "it is returned"},
	{"numbers of which only a line for many functions speaks", "", `
func (l *Lib) Raw() []int64 { return unsafe.Slice((*int64)(unsafe.Pointer(l)), 1) }

func f() int64 {
	x := NewLib()
	n := x.Raw()[0]
	x.Release() //F
	return n
}
`, "it is returned"},
}
