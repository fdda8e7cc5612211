package proof_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPairs shows where a rule ends: of each pair the first is accepted, and the second, which is as
// near as can be and wrong, is withheld with the words.
func TestPairs(t *testing.T) {
	tests := []struct{ name, right, wrong, words string }{
		{"an error that is wrapped", `
func f() error {
	b, err := Try()
	if err != nil {
		err = fmt.Errorf("make: %w", err)
	}
	if err != nil {
		return err
	}
	b.Use()
	b.Free() //F
	return nil
}
`, `
func f() error {
	b, err := Try()
	if err != nil {
		err = fmt.Errorf("make: %w", err)
		err = again(err)
	}
	if err != nil {
		return err
	}
	_ = b
	b.Free() //F
	return nil
}

//lastuse:effect args borrowed
func again(err error) error
`, "may be nil"},
		{"a flag", `
func f(c bool) {
	var b *B
	some := false
	if c {
		b, some = Make(), true
	}
	next()
	if some {
		b.Use()
		b.Free() //F
	}
}
`, `
func f(c bool) {
	var b *B
	some := next() > 0
	if c {
		b, some = Make(), true
	}
	next()
	if some {
		_ = b
		b.Free() //F
	}
}
`, "may be nil"},
		{"a flag that deferred code reads", `
func f(n int) {
	b := Make()
	v := b.View()
	done := false
	defer func() {
		if !done {
			v.Use()
		}
	}()
	next()
	done = true
	b.Free() //F
}
`, `
func f(n int) {
	b := Make()
	v := b.View()
	done := false
	defer func() {
		if !done {
			v.Use()
		}
	}()
	next()
	b.Free() //F
	done = true
	next()
	done = n > 0
}
`, "used by Use"},
		{"a free between a free and a flag that deferred code reads", `
func f() {
	var p struct{ x *B }
	p.x = Make()
	a := Make()
	done := false
	defer func() {
		if !done {
			a.Use()
		}
	}()
	p.x.Use()
	a.Free() //F
	p.x.Free() //F
	done = true
}
`, `
func f() {
	var p struct{ x *B }
	p.x = Make()
	a := Make()
	done := false
	defer func() {
		if !done {
			a.Use()
		}
	}()
	p.x.Use()
	a.Free() //F
	p.x.Free()
	done = true
}
`, "its name is read"},
		{"a flag that others set", `
func f(n int) {
	b := Make()
	v := b.View()
	done := false
	set := func() { done = true }
	defer func() {
		if !done {
			v.Use()
		}
	}()
	next()
	set()
	b.Free() //F
}
`, `
func f(n int) {
	b := Make()
	v := b.View()
	done := false
	go func() { done = false }()
	defer func() {
		if !done {
			v.Use()
		}
	}()
	next()
	done = true
	b.Free() //F
}
`, "used by Use"},
		{"a return in the body of a range over a function", `
func f(n int) {
	b := Make()
	for i := range upTo(n) {
		if i == 7 {
			b.Free() //F
			return
		}
		b.Use()
	}
	b.Free() //F
}

//lastuse:effect args borrowed
func upTo(n int) func(func(int) bool)
`, `
func f(n int) {
	b := Make()
	v := b.View()
	for i := range upTo(n) {
		if i == 7 {
			b.Free() //F
			break
		}
	}
	v.Use()
}

//lastuse:effect args borrowed
func upTo(n int) func(func(int) bool)
`, "used by Use"},
		{"a variable that was found to be there", `
func f(c bool) {
	var b *B
	if c {
		b = Make()
	}
	use := func() { b.Use() }
	if b != nil {
		use()
		b.Free() //F
	}
}
`, `
func f(c bool) {
	var b *B
	if c {
		b = Make()
	}
	use := func() { b = nil }
	if b != nil {
		use()
		b.Free() //F
	}
}
`, "may be nil"},
		{"elements that the body of a range over a function appends", `
func f(n int) {
	var bs []*B
	for range upTo(n) {
		bs = append(bs, Make())
	}
	for _, b := range bs { //F
		if b != nil { //F
			b.Free() //F
		} //F
	} //F
}

//lastuse:effect args borrowed
func upTo(n int) func(func(int) bool)
`, `
func f(n int) {
	var bs []*B
	for range upTo(n) {
		b := Make()
		bs = append(bs, b, b)
	}
	for _, b := range bs { //F
		if b != nil { //F
			b.Free() //F
		} //F
	} //F
}

//lastuse:effect args borrowed
func upTo(n int) func(func(int) bool)
`, "freed twice"},
		{"two names that are swapped", `
func f(n int) {
	a, b := Make(), Make()
	for range n {
		a.Use()
		a, b = b, a
	}
	b.Free() //F
	a.Use()
	a.Free() //F
}
`, `
func f(n int) {
	a, b := Make(), Make()
	v := a.View()
	for range n {
		a.Use()
		a, b = b, a
	}
	b.Free() //F
	v.Use()
}
`, "used by Use"},
		{"bytes of a string", `
func f() int {
	b := Make()
	n := int(b.Text()[0])
	b.Free() //F
	return n
}

//lastuse:effect result 0 views recv
func (b *B) Text() string
`, `
func f() int {
	b := Make()
	text := b.Text()
	b.Free() //F
	if text == "x" {
		return 1
	}
	return 0
}

//lastuse:effect result 0 views recv
func (b *B) Text() string
`, "it is read"},
		{"bytes that are stored into a view", `
func f() {
	b := Make()
	fill(b, 7)
	b.Free() //F
}

func fill(b *B, x byte) {
	p := b.Bytes()
	p[0] = x
}

//lastuse:effect result 0 views recv
func (b *B) Bytes() []byte
`, `
func f() {
	b := Make()
	fill(b, 7)
	b.Free() //F
}

func fill(b *B, x int) { b.n = x }
`, "handed to somebody"},
		{"an iterator of views", `
func f() {
	b := Make()
	for v := range halves(b) {
		v.Use()
	}
	b.Free() //F
}

func halves(b *B) func(func(*V) bool) {
	return func(yield func(*V) bool) { yield(b.View()) }
}
`, `
func f(g func(*V) bool) {
	b := Make()
	halves(b)(g)
	b.Free() //F
}

func halves(b *B) func(func(*V) bool) {
	return func(yield func(*V) bool) { yield(b.View()) }
}
`, "handed to somebody"},
		{"an object whose fields own", `
func f() error {
	for range 3 {
		t, err := newTwo()
		if err != nil {
			return err
		}
		t.a.Use()
		t.Close() //F
	}
	return nil
}

type two struct{ a, b *B }

func (t *two) Close() {
	t.a.Free()
	t.b.Free()
}

func newTwo() (*two, error) {
	a, err := Try()
	if err != nil {
		return nil, err
	}
	b, err := Try()
	if err != nil {
		a.Free()
		return nil, err
	}
	return &two{a, b}, nil
}
`, `
func f() error {
	for range 3 {
		t, err := newTwo()
		if err != nil {
			return err
		}
		t.a.Use()
		t.Close() //F
	}
	return nil
}

type two struct{ a, b *B }

func (t *two) Close() {
	t.a.Free()
	t.b.Free()
}

func newTwo() (*two, error) {
	a, b := Make(), Make()
	global = a
	return &two{a, b}, nil
}
`, "not made here"},
		{"fields of an object", `
func f() error {
	t, err := newTwo()
	if err != nil {
		return err
	}
	t.a.Use()
	t.a.Free() //F
	t.b.Use()
	t.b.Free() //F
	return nil
}

type two struct{ a, b *B }

func (t *two) Close() {
	t.a.Free()
	t.b.Free()
}

func newTwo() (*two, error) {
	a, err := Try()
	if err != nil {
		return nil, err
	}
	b, err := Try()
	if err != nil {
		a.Free()
		return nil, err
	}
	return &two{a, b}, nil
}
`, `
func f() error {
	t, err := newTwo()
	if err != nil {
		return err
	}
	t.a.Use()
	t.a.Free() //F
	t.b.Use()
	t.b.Free() //F
	return nil
}

type two struct{ a, b *B }

func (t *two) Close() {
	t.a.Free()
	t.b.Free()
}

func newTwo() (*two, error) {
	a := Make()
	return &two{a, a}, nil
}
`, "may be "},
		{"an object that is there", `
func f() error {
	for range 3 {
		t, err := newTwo()
		if err != nil {
			return err
		}
		t.a.Use()
		t.Close() //F
	}
	return nil
}

type two struct{ a, b *B }

func (t *two) Close() {
	t.a.Free()
	t.b.Free()
}

func newTwo() (*two, error) {
	a, err := Try()
	if err != nil {
		return nil, err
	}
	b, err := Try()
	if err != nil {
		a.Free()
		return nil, err
	}
	return &two{a, b}, nil
}
`, `
func f() {
	t, _ := newTwo()
	_ = t
	t.Close() //F
}

type two struct{ a, b *B }

func (t *two) Close() {
	t.a.Free()
	t.b.Free()
}

func newTwo() (*two, error) {
	a, err := Try()
	if err != nil {
		return nil, err
	}
	b, err := Try()
	if err != nil {
		a.Free()
		return nil, err
	}
	return &two{a, b}, nil
}
`, "a pointer that leads to it may be nil"},
		{"an object with a field that is nil", `
func f() error {
	for range 3 {
		t, err := newTwo()
		if err != nil {
			return err
		}
		t.a.Use()
		t.Close() //F
	}
	return nil
}

type two struct{ a, b *B }

func (t *two) Close() {
	t.a.Free()
	t.b.Free()
}

func newTwo() (*two, error) {
	a, err := Try()
	if err != nil {
		return nil, err
	}
	b, err := Try()
	if err != nil {
		a.Free()
		return nil, err
	}
	return &two{a, b}, nil
}
`, `
func f() error {
	for range 3 {
		t, err := newTwo()
		if err != nil {
			return err
		}
		t.a.Use()
		t.Close() //F
	}
	return nil
}

type two struct{ a, b *B }

func (t *two) Close() {
	t.a.Free()
	t.b.Free()
}

func newTwo() (*two, error) {
	return &two{a: Make()}, nil
}
`, "may be nil"},
		{"a name of an object", `
func f() error {
	for range 3 {
		t, err := newTwo()
		if err != nil {
			return err
		}
		t.a.Use()
		t.Close() //F
	}
	return nil
}

type two struct{ a, b *B }

func (t *two) Close() {
	t.a.Free()
	t.b.Free()
}

func newTwo() (*two, error) {
	a, err := Try()
	if err != nil {
		return nil, err
	}
	b, err := Try()
	if err != nil {
		a.Free()
		return nil, err
	}
	return &two{a, b}, nil
}
`, `
func f() error {
	for range 3 {
		t, err := newTwo()
		if err != nil {
			return err
		}
		t.a.Use()
		t.Close() //F
		_ = t
	}
	return nil
}

type two struct{ a, b *B }

func (t *two) Close() {
	t.a.Free()
	t.b.Free()
}

func newTwo() (*two, error) {
	a, err := Try()
	if err != nil {
		return nil, err
	}
	b, err := Try()
	if err != nil {
		a.Free()
		return nil, err
	}
	return &two{a, b}, nil
}
`, "its name is read"},
		{"an object with a view of what it owns", `
func f() error {
	for range 3 {
		t, err := newTwo()
		if err != nil {
			return err
		}
		t.a.Use()
		t.Close() //F
	}
	return nil
}

type two struct{ a, b *B }

func (t *two) Close() {
	t.a.Free()
	t.b.Free()
}

func newTwo() (*two, error) {
	a, err := Try()
	if err != nil {
		return nil, err
	}
	b, err := Try()
	if err != nil {
		a.Free()
		return nil, err
	}
	return &two{a, b}, nil
}
`, `
func f() {
	h := newHolder()
	v := h.v
	h.b.Free() //F
	v.Use()
}

type holder struct {
	b *B
	v *V
}

func newHolder() *holder {
	b := Make()
	return &holder{b, b.View()}
}
`, "may be "},
		{"a method value", `
func f() {
	b := Make()
	use := b.Use
	use()
	b.Free() //F
}
`, `
func f() {
	b := Make()
	use := b.Use
	defer use()
	b.Free() //F
}
`, "used by Use"},
		{"a method value that others call", `
func f() {
	b := Make()
	call(b.Use)
	b.Free() //F
}

func call(g func()) { g() }
`, `
func f() {
	b := Make()
	call(b.Use)
	b.Free() //F
}

func call(g func()) { kept = g }

var kept func()
`, "handed to somebody"},
		{"a function that calls itself", `
func f(n int) {
	b := Make()
	walk(b, n)
	if n > 0 {
		f(n - 1)
	}
	b.Free() //F
}

func walk(b *B, n int) {
	if n > 0 {
		b.Use()
		walk(b, n-1)
	}
}
`, `
func f(n int) {
	b := Make()
	walk(b, nil, n)
	b.Free() //F
}

func walk(b, other *B, n int) {
	if n > 0 {
		walk(other, b, n-1)
	} else {
		global = other
	}
}
`, "handed to somebody"},
		{"a call that does not return", `
func f() {
	b, err := Try()
	if err != nil {
		log.Fatal(err)
	}
	b.Use()
	b.Free() //F
}
`, `
func f() {
	b, err := Try()
	if err != nil {
		log.Print(err)
	}
	_ = b
	b.Free() //F
}
`, "may be nil"},
		{"a free that is promoted", `
type E struct{ B }

//lastuse:effect result 0 owned
func MakeE() *E

func f() {
	e := MakeE()
	e.Use()
	e.Free() //F
}
`, `
type E struct{ B B }

//lastuse:effect result 0 owned
func MakeE() *E

func f() {
	e := MakeE()
	e.B.Use()
	e.B.Free() //F
}
`, "a view of something"},
		{"memory that is made anew", `
type P struct{ b *B }

func (p *P) use() *P { p.b.Use(); return nil }

func f() {
	var old *P
	for range 3 {
		b := Make()
		p := &P{b}
		if old != nil {
			old.use()
		}
		old = p.use()
		b.Free() //F
	}
}
`, `
type P struct{ b *B }

func (p *P) use() *P { p.b.Use(); return p }

func f() {
	var old *P
	for range 3 {
		b := Make()
		p := &P{b}
		if old != nil {
			old.use()
		}
		old = p.use()
		b.Free() //F
	}
}
`, "it is used by use"},
		{"a condition that is constant", `
func f(c bool) {
	b := Make()
	some := false
	if c {
		b.Free() //F
		some = true
	}
	if !some {
		b.Use()
		b.Free() //F
	}
}
`, `
func f() {
	b := Make()
	b.Free() //F
	var a any
	if a != nil {
		b.Use()
	}
}
`, "its name is read"},
		{"what a lent literal captures", `
func f(c bool) {
	b := Make()
	reads := func() { println(c); b.Use() }
	reads()
	b.Free() //F
	each(func() { _ = reads })
}

//lastuse:effect args borrowed
func each(f func())
`, `
func f(c bool) {
	b := Make()
	reads := func() { println(c); b.Use() }
	reads()
	b.Free() //F
	each(func() { reads() })
}

//lastuse:effect args borrowed
func each(f func())
`, "its name is read"},
		{"a number that a literal makes of another", `
func f(s string) {
	n := makeN()
	n.Use()
	func() {
		x, _ := parse(s)
		N(x).Use()
	}()
	n.Free() //F
}

type N uint32

//lastuse:effect result 0 owned
func makeN() N

//lastuse:effect recv freed
func (n N) Free()

//lastuse:effect recv borrowed
func (n N) Use()

//lastuse:effect args borrowed
func parse(s string) (uint32, error)
`, `
func f(s string) {
	n := makeN()
	n.Use()
	n.Free() //F
	func() {
		x, _ := parse(s)
		N(x).Use()
	}()
}

type N uint32

//lastuse:effect result 0 owned
func makeN() N

//lastuse:effect recv freed
func (n N) Free()

//lastuse:effect recv borrowed
func (n N) Use()

//lastuse:effect args borrowed
func parse(s string) (uint32, error)
`, "used by Use"},
		{"a pointer in an interface", `
func f() {
	b := Make()
	b.Use()
	var a any = &keeper{}
	b.Free() //F
	if a == nil {
		b.Use()
	}
}
`, `
func f() {
	b := Make()
	b.Use()
	var a any = Make()
	b.Free() //F
	if a == nil {
		b.Use()
	}
}
`, "its name is read"},
		{"elements of an array", `
func f() {
	a := [2]*B{Make(), Make()}
	a[0].Use()
	a[0].Free() //F
	a[1].Use()
	a[1].Free() //F
}
`, `
func f(n int) {
	a := [2]*B{Make(), Make()}
	a[0].Free() //F
	a[n].Use()
	a[1].Free()
}
`, "its name is read"},
		{"one element in two places", `
func f() {
	a := [2]*B{Make(), Make()}
	a[0].Use()
	for _, b := range a { //F
		b.Free() //F
	} //F
}
`, `
func f() {
	b := Make()
	a := [2]*B{b, b}
	a[0].Use()
	for _, b := range a { //F
		b.Free() //F
	} //F
}
`, "freed twice"},
		{"an element that is assigned", `
func f() {
	a := [2]*B{Make(), Make()}
	b := a[0]
	a[0] = a[1]
	b.Use()
	b.Free() //F
	a[0].Use()
	a[1].Free()
}
`, `
func f() {
	a := [2]*B{Make(), Make()}
	b := a[0]
	a[1] = a[0]
	b.Use()
	b.Free() //F
	s := a[1:]
	s[0].Use()
}
`, "its name is read"},
		{"a field of an element", `
type holds struct{ b *B }

func f(n int) {
	b := Make()
	a := [2]holds{}
	a[0].b.Use()
	b.Use()
	b.Free() //F
}
`, `
type holds struct{ b *B }

func f(n int) {
	b := Make()
	a := [2]holds{}
	a[n].b = b
	b.Free() //F
	a[0].b.Use()
}
`, "its name is read"},
		{"an element that clear empties", `
func f() {
	a := [2]*B{Make(), Make()}
	a[0].Use()
	a[0].Free() //F
	a[1].Free()
	clear(a[:])
}
`, `
func f() {
	a := [2]*B{Make(), Make()}
	a[0].Use()
	clear(a[:])
	a[0].Free() //F
}
`, "may be nil"},
		{"a constant index", `
func f() {
	a := [1]*B{Make()}
	a[0].Use()
	a[0].Free() //F
}
`, `
func f() {
	a := []*B{Make()}
	a[0].Use()
	a[0].Free() //F
}
`, "may be shorter"},
		{"a test that is taken out with its free", `
func f(c bool) {
	var b *B
	if c {
		b = Make()
		b.Use()
		b.Free() //F
	}
	next()
	if b != nil { //O
		b.Free() //O
	} //O
}
`, `
func f(c bool) {
	var b *B
	if c {
		b = Make()
		b.Use()
	}
	next()
	if b != nil { //O
		b.Free() //O
	} //O
}
`, "it is not shown that another free"},
	}
	l := newLab()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := l.prove(t, tt.right)
			require.NotEmpty(t, r.Edits)
			for _, v := range r.Withheld() {
				t.Errorf("%s: %v", v.Text, v.Why)
			}
			held := l.prove(t, tt.wrong).Withheld()
			require.NotEmpty(t, held, "the wrong one")
			assert.Contains(t, held[0].Why.Words, tt.words)
		})
	}
}
