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
`, "it may be nil"},
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
	{"a pointer that a deferred clean-up sets to nothing", `
func f() {
	h, err := build()
	if err != nil {
		return
	}
	h.a.Use()
	h.a.Free() //F
}

type holder struct{ a, b *B }

func build() (r *holder, err error) {
	defer func() {
		if err != nil {
			if r.a != nil {
				r.a.Free()
			}
			r = nil
		}
	}()
	r = &holder{}
	if r.a, err = Try(); err != nil {
		return r, err
	}
	if next() == 1 {
		return r, errors.New("late")
	}
	return r, nil
}
`, `
func f() {
	h, _ := build()
	if h == nil {
		return
	}
	h.a.Use()
	h.a.Free() //F
}

type holder struct{ a, b *B }

func build() (r *holder, err error) {
	defer func() {
		if err != nil {
			r.a.Free()
			if next() == 2 {
				r = nil
			}
		}
	}()
	r = &holder{}
	r.a = Make()
	if next() == 1 {
		return r, errors.New("late")
	}
	return r, nil
}
`, "may be something that was not made here"},
	{"a pointer that is nothing where there is no error", `
func f() {
	h, err := build()
	if err != nil {
		return
	}
	_ = h
	h.a.Free() //F
}

type holder struct{ a *B }

func build() (r *holder, err error) {
	defer func() {
		if err != nil {
			r = nil
		}
	}()
	r = &holder{}
	r.a, err = Try()
	return r, err
}
`, `
func f() {
	h, err := build()
	if err != nil {
		return
	}
	_ = h
	h.a.Free() //F
}

type holder struct{ a *B }

func build() (r *holder, err error) {
	defer func() {
		if err == nil {
			r = nil
		}
	}()
	r = &holder{}
	r.a, err = Try()
	return r, err
}
`, "may be nil"},
	{"a slice that a deferred clean-up sets to nothing", `
func f() {
	list, err := build(3)
	if err != nil {
		return
	}
	for _, b := range list {
		b.Use()
	}
	for _, b := range list { //F
		b.Free() //F
	} //F
}

func build(n int) (r []*B, err error) {
	defer func() {
		if err != nil {
			for _, b := range r {
				b.Free()
			}
			r = nil
		}
	}()
	for range n {
		b, err := Try()
		if err != nil {
			return r, err
		}
		r = append(r, b)
	}
	return r, nil
}
`, `
func f() {
	list, _ := build(3)
	for _, b := range list {
		b.Use()
	}
	for _, b := range list { //F
		b.Free() //F
	} //F
}

func build(n int) (r []*B, err error) {
	defer func() {
		if err != nil {
			for _, b := range r {
				b.Free()
			}
		}
	}()
	for range n {
		b, err := Try()
		if err != nil {
			return r, err
		}
		r = append(r, b)
	}
	return r, nil
}
`, "may be something that was not made here"},
	{"a struct that is nothing where there is no error", `
func f() {
	h, err := build()
	if err != nil {
		return
	}
	h.a.Use()
	h.a.Free() //F
}

type holder struct{ a *B }

func build() (holder, error) {
	a, err := Try()
	if err != nil {
		return holder{}, err
	}
	return holder{a}, nil
}
`, `
func f() {
	h, err := build()
	if err != nil {
		return
	}
	h.a.Use()
	h.a.Free() //F
}

type holder struct{ a *B }

func build() (holder, error) {
	a, err := Try()
	if err != nil {
		return holder{}, nil
	}
	return holder{a}, nil
}
`, "may be nil"},
}
