package proof_test

// over is a resource that views what it is made of, as a tensor views a slice and a binding its session.
const over = `
type S struct{ n int }

//lastuse:effect args borrowed, result 0 owned, result 0 views args
func Over(b *B) *S

//lastuse:effect args borrowed, result 0 owned, result 0 views args
func OverAll(bs []*B) *S

//lastuse:effect args borrowed, result 0 owned on success, result 0 views args
func OverInts(n []int) (*S, error)

//lastuse:effect recv freed
func (s *S) Free()

//lastuse:effect recv borrowed
func (s *S) Use()

//lastuse:effect recv borrowed, result 0 views recv
func (s *S) At(n int) *B

//lastuse:effect args borrowed
func look(n []int)
`

// viewerPairs show what a resource is that views an operand: freed by itself, and in the way of a free of it.
var viewerPairs = withOver([]pair{
	{"a resource that views memory", `
func f() {
	n := []int{1, 2}
	s, err := OverInts(n)
	if err != nil {
		return
	}
	s.Use()
	s.Free() //F
	look(n)
}
`, `
func f() {
	n := []int{1, 2}
	s, err := OverInts(n)
	if err != nil {
		return
	}
	b := s.At(0)
	s.Free() //F
	look(n)
	b.Use()
}
`, "it is used by Use"},
	{"a resource that views an operand", `
func f(b *B) {
	s := Over(b)
	s.Use()
	s.Free() //F
	b.Use()
}
`, `
func f(b *B) {
	s := Over(b)
	s.Use()
	x := s.At(0)
	x.Use()
	x.Free() //F
	s.Free()
}
`, "may be"},
	{"the viewed before who views it", `
func f() {
	b := Make()
	s := Over(b)
	s.Use()
	s.Free() //F
	b.Free() //F
}
`, `
func f() {
	b := Make()
	s := Over(b)
	s.Use()
	b.Free() //F
	s.Free()
}
`, "it is used by Free"},
	{"who views it is freed by the program", `
func f() {
	b := Make()
	s := Over(b)
	s.Use()
	s.Free()
	b.Free() //F
}
`, `
func f() {
	b := Make()
	s := Over(b)
	defer s.Free()
	b.Free() //F
}
`, "it is used by Free"},
	{"who views it is returned", `
func g(b *B) int {
	s := Over(b)
	s.Use()
	s.Free() //F
	return 1
}

func f() {
	b := Make()
	g(b)
	b.Free() //F
}
`, `
func g(b *B) *S { return Over(b) }

func f() {
	b := Make()
	s := g(b)
	b.Free() //F
	s.Use()
	s.Free()
}
`, "it is used by Use"},
	{"who views it is kept", `
var kept *S

func f() {
	b := Make()
	s := Over(b)
	s.Use()
	s.Free() //F
	b.Use()
	b.Free() //F
}
`, `
var kept *S

func f() {
	b := Make()
	s := Over(b)
	kept = s
	b.Free() //F
}
`, "handed to somebody"},
	{"what is viewed is filled later", `
func f() {
	bs := []*B{Make()}
	s := OverAll(bs)
	s.Use()
	s.Free() //F
}
`, `
func f() {
	bs := make([]*B, 1)
	s := OverAll(bs)
	b := Make()
	bs[0] = b
	x := s.At(0)
	b.Free() //F
	x.Use()
}
`, "it is used by Use"},
	{"a view of what is viewed", `
func f() {
	b := Make()
	s := Over(b)
	t := OverAll([]*B{s.At(0)})
	t.Use()
	t.Free() //F
	s.Free() //F
	b.Free() //F
}
`, `
func f() {
	b := Make()
	s := Over(b)
	t := OverAll([]*B{s.At(0)})
	b.Free() //F
	t.Use()
}
`, "it is used by Use"},
	{"the resource or what it views", `
func f(c bool) {
	b := Make()
	s := Over(b)
	s.Use()
	s.Free() //F
	b.Free() //F
}
`, `
func f(c bool) {
	b := Make()
	s := Over(b)
	x := s.At(0)
	if c {
		x = Make()
	}
	x.Use()
	x.Free() //F
	b.Use()
}
`, "may be something"},
	{"a body that frees what it views", `
type Box struct{ b *B }

//lastuse:effect args borrowed, result 0 owned, result 0 views args
func Pack(b *B) *Box

//lastuse:effect recv freed
func (x *Box) Close()

func f(b *B) {
	x := Pack(b)
	x.b.Use()
	x.Close() //F
	b.Use()
}
`, `
type Box struct{ b *B }

//lastuse:effect args borrowed, result 0 owned, result 0 views args
func Pack(b *B) *Box

func (x *Box) Close() { x.b.Free() }

func f(b *B) {
	x := Pack(b)
	x.b.Use()
	x.Close() //F
	b.Use()
}
`, "may be"},
	{"a goroutine has who views it", "", `
func f() {
	b := Make()
	s := Over(b)
	go s.Use()
	b.Free() //F
}
`, "handed to somebody"},
	{"deferred by who views it", `
func f() {
	b := Make()
	defer b.Free() //F
	s := Over(b)
	defer s.Use()
}
`, `
func f() {
	b := Make()
	s := Over(b)
	defer s.Use()
	b.Free() //F
}
`, "it is used by Use"},
})

func withOver(list []pair) []pair {
	for i := range list {
		if list[i].wrong = over + list[i].wrong; list[i].right != "" {
			list[i].right = over + list[i].right
		}
	}
	return list
}
