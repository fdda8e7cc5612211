package proof_test

// rewrittenPairs show who can make a handle another one by writing data.
var rewrittenPairs = []pair{
	{"a library writes the bytes of a handle", id + `
func f(text []byte) {
	var x [16]byte
	u := MakeID()
	u.Use()
	hex.Decode(x[:], text)
	u.Free() //F
}
`, id + `
func f(text []byte) {
	u := MakeID()
	u.Use()
	hex.Decode(u[:], text)
	u.Free() //F
}
`, "not made here"},
	{"another handle may be the one that is freed", id + `
func f(text []byte) {
	u, v := MakeID(), MakeID()
	u.Use()
	v.Use()
	u.Free() //F
	hex.Decode(v[:], text)
}
`, id + `
func f(text []byte) {
	u, v := MakeID(), MakeID()
	u.Use()
	hex.Decode(v[:], text)
	u.Free() //F
	v.Use()
}
`, "used by Use"},
	{"a function writes the bytes of a handle", id + `
func fill(p []byte) { p[0] = 1 }

func f() {
	u := MakeID()
	u.Use()
	var x [16]byte
	fill(x[:])
	u.Free() //F
}
`, id + `
func fill(p []byte) { p[0] = 1 }

func f() {
	u := MakeID()
	u.Use()
	fill(u[:])
	u.Free() //F
}
`, "not made here"},
	{"a method writes the bytes of a handle", id + `
func (u ID) clear() { u[0] = 1 }

func f() {
	u := MakeID()
	u.Use()
	u.clear()
	u.Free() //F
}
`, id + `
func (u *ID) clear() { u[0] = 1 }

func f() {
	u := MakeID()
	u.Use()
	u.clear()
	u.Free() //F
}
`, "not made here"},
	{"a line speaks of numbers, and of handles", `
//lastuse:effect arg 0 borrowed
func look(h *H)

func f() {
	h := MakeH()
	h.Use()
	look(&h)
	h.Free() //F
}
`, `
//lastuse:effect arg 0 borrowed
func scan(n *int)

func f() {
	h := MakeH()
	h.Use()
	scan(&h.n)
	h.Free() //F
}
`, "not made here"},
	{"a library has a copy of a handle, and its bytes", id + `
func f() {
	u := MakeID()
	u.Use()
	fmt.Println(u, u[0])
	u.Free() //F
}
`, id + `
//lastuse:effect args borrowed
func scan(to ...*byte)

func f() {
	u := MakeID()
	u.Use()
	scan(&u[0], &u[1])
	u.Free() //F
}
`, "not made here"},
	{"a library clears elements of a handle", list + `
func f() {
	l := MakeList()
	l.Use()
	println(len(slices.Delete([]int{1, 2}, 0, 1)))
	l.Free() //F
}
`, list + `
func f() {
	l := MakeList()
	l.Use()
	println(len(slices.Delete(l, 0, 1)))
	l.Free() //F
}
`, "handed to somebody"},
	{"a library looks at elements of a handle", list + `
func f() {
	l := MakeList()
	l.Use()
	println(slices.Contains(l, 1))
	l.Free() //F
}
`, list + `
func f() {
	l := MakeList()
	l.Use()
	slices.Reverse(l)
	l.Free() //F
}
`, "handed to somebody"},
	{"a key is deleted from a handle", table + `
func f(m map[string]int) {
	t := MakeTable()
	t.Use()
	delete(m, "fd")
	t.Free() //F
}
`, table + `
func f(m map[string]int) {
	t := MakeTable()
	t.Use()
	delete(t, "fd")
	t.Free() //F
}
`, "handed to somebody"},
	{"a function deletes a key from a handle", table + `
func drop(m map[string]int) { println(m["fd"]) }

func f() {
	t := MakeTable()
	t.Use()
	drop(t)
	t.Free() //F
}
`, table + `
func drop(m map[string]int) { delete(m, "fd") }

func f() {
	t := MakeTable()
	t.Use()
	drop(t)
	t.Free() //F
}
`, "handed to somebody"},
	{"a text that is constant is stored in a handle", `
type file struct {
	name string
	read bool
}

//lastuse:effect result 0 owned
func open() *file

//lastuse:effect recv freed
func (f *file) Close()

func f() {
	x := open()
	x.read = true
	x.Close() //F
}
`, `
type file struct {
	name string
	read bool
}

//lastuse:effect result 0 owned
func open() *file

//lastuse:effect recv freed
func (f *file) Close()

func f() {
	x := open()
	x.name = "a"
	x.Close() //F
}
`, "handed to somebody"},
}

// id is a handle of bytes.
const id = `
type ID [16]byte

//lastuse:effect result 0 owned
func MakeID() ID

//lastuse:effect recv freed
func (u ID) Free()

//lastuse:effect recv borrowed
func (u ID) Use()
`

// table is a handle that is a map.
const table = `
type Table map[string]int

//lastuse:effect result 0 owned
func MakeTable() Table

//lastuse:effect recv freed
func (t Table) Free()

//lastuse:effect recv borrowed
func (t Table) Use()
`

// list is a handle that is a slice.
const list = `
type List []int

//lastuse:effect result 0 owned
func MakeList() List

//lastuse:effect recv freed
func (l List) Free()

//lastuse:effect recv borrowed
func (l List) Use()
`
