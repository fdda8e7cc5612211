package proof_test

// partPairs show where objects own what their fields hold, and where they do not.
var partPairs = []pair{
	{"a struct that is returned by value", `
type pair struct{ a, b *B }

func both() (pair, error) {
	p := pair{}
	p.a = Make()
	b, err := Try()
	if err != nil {
		p.a.Free()
		return pair{}, err
	}
	p.b = b
	return p, nil
}

func f() {
	p, err := both()
	if err != nil {
		return
	}
	q := p
	q.b.Use()
	q.b.Free() //F
	p.a.Use()
	p.a.Free() //F
}
`, `
type pair struct{ a, b *B }

func one() pair { return pair{a: Make()} }

func f() {
	p := one()
	q := p
	p.a.Use()
	p.a.Free() //F
	q.a.Use()
}
`, "its name is read"},
	{"a struct by value that may be zero, or is kept", `
type pair struct{ a, b *B }

func one(b *B) (pair, bool) {
	if b == nil {
		return pair{}, false
	}
	return pair{a: Make()}, true
}

func f(b *B) {
	p, ok := one(b)
	if !ok {
		return
	}
	p.a.Use()
	p.a.Free() //F
}
`, `
type pair struct{ a, b *B }

var all []pair

func one() pair {
	p := pair{a: Make()}
	all = append(all, p)
	return p
}

func f() {
	p := one()
	p.a.Use()
	p.a.Free() //F
}
`, "was not made here"},
	{"a struct by value of which a deferred call frees a part, and a field of a call's result", `
type pair struct{ a, b *B }

func one() pair { return pair{a: Make()} }

func f() {
	b := one().a
	b.Use()
	b.Free() //F
}
`, `
type pair struct{ a, b *B }

func one() pair {
	p := pair{a: Make()}
	defer p.a.Free()
	return p
}

func f() {
	p := one()
	println(p.a)
	p.a.Free() //F
}
`, "was not made here"},
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
}
