package proof_test

// followedPairs show where a pointer is known not to be nil since the program has read a field by it.
var followedPairs = []pair{
	{"a field was read by the pointer", followed(`print(x.n)`), followed(`println()`), "may be nil"},
	{"a field was read on each path", followed(`print(x.n)`), followed(`if next() == 1 { print(x.n) }`), "may be nil"},
	{"a field is read in front", followed(`print(x.n)`, `println()`), followed(`println()`, `print(x.n)`), "may be nil"},
	{"a field was read by this pointer", followed(`print(x.n)`), followed(`print(x.n); x, _ = newPair()`), "may be nil"},
	{"a field was read in each case", followed(`if x.n == 1 { println() }`),
		followed(`func() { defer func() { recover() }(); print(x.n) }()`), "may be nil"},
	{"an array is not read to count its elements", followed(`print(x.n)`), followed(`for i := range x.a { print(i) }`),
		"may be nil"},
	{"what is freed by a part of it was made", ofPart(`x := NewWhole()`), ofPart(`x, _ := TryWhole()`), "may be nil"},
	{"nor by a pointer to it", followed(`print(x.n)`), followed(`for i := range x.p { print(i) }`), "may be nil"},
}

// followed is a function that frees a part of an object, which may be nil, behind some statements.
func followed(before string, behind ...string) string {
	text := `
type two struct {
	b H
	n int
	a [2]int
	p *[2]int
}

func newPair() (*two, error) {
	if next() == 1 {
		return nil, errors.New("")
	}
	return &two{b: MakeH()}, nil
}

func f() {
	x, _ := newPair()
	_ = x
	` + before + `
	x.b.Free() //F
`
	for _, b := range behind {
		text += "\t" + b + "\n"
	}
	return text + "}\n"
}

// ofPart is a function that frees something by the method of a part of it.
func ofPart(made string) string {
	return `
type base struct{ n int }

//lastuse:effect recv freed
func (b *base) Free()

type whole struct{ base }

//lastuse:effect result 0 owned
func NewWhole() *whole

//lastuse:effect result 0 owned on success
func TryWhole() (*whole, error)

func f() {
	` + made + `
	_ = x
	x.Free() //F
	println()
}
`
}
