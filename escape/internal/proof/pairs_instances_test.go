package proof_test

// renewed is a wrapper, of which a step makes a new one.
const renewed = `
type T struct {
	b *B
	n int
}

func (t *T) Free() { t.b.Free() }

func first() *T { return &T{b: Make()} }

func step(x *T) *T {
	b := Make()
	x.b.Use()
	return &T{b: b}
}
`

// instancePairs show how a walk tells what one run of a call made from what other runs make.
var instancePairs = []pair{
	{"a wrapper that a loop makes anew", renewed + `
func f(n int) {
	d := first()
	for range n {
		old := d //F
		d = step(d)
		old.Free() //F
	}
	d.b.Use()
	d.Free() //F
}
`, renewed + `
func f(n int) {
	d := first()
	for range n {
		d = step(d)
		old := d //F
		old.Free() //F
	}
	d.b.Use()
}
`, "it is used by step"},
	{"one that is kept in another variable", renewed + `
func f(n int) {
	d := first()
	for range n {
		e := step(d)
		d.b.Use()
		d.Free() //F
		d = e
	}
	d.b.Use()
	d.Free() //F
}
`, renewed + `
func f(n int) {
	d := first()
	keep := d
	for range n {
		keep = d
		old := d //F
		d = step(d)
		old.Free() //F
	}
	keep.b.Use()
}
`, "its name is read"},
	{"the one of two rounds before", renewed + `
func f(n int) {
	var a, b *T
	for range n {
		c := first()
		if a != nil {
			a.b.Use()
			b.b.Use()
			a.Free() //F
		}
		a, b = b, c
	}
}
`, renewed + `
func f(n int) {
	var a, b *T
	for range n {
		c := first()
		if b != nil {
			b.b.Use()
			b.Free() //F
		}
		if a != nil {
			a.b.Use()
		}
		a, b = b, c
	}
}
`, "its name is read"},
	{"one of two that change places", renewed + `
func f(n int) {
	a, b := first(), first()
	for range n {
		a.b.Use()
		b.b.Use()
		a, b = b, a
	}
	a.Free() //F
	b.b.Use()
	b.Free() //F
}
`, renewed + `
func f(n int) {
	a, b := first(), first()
	for range n {
		a.b.Use()
		b.b.Use()
		a, b = b, a
	}
	a.Free() //F
	b.b.Use()
	a.Free() //F
}
`, "it may be freed again"},
	{"the better of two", renewed + `
func f(n int) {
	best := first()
	for range n {
		c := step(best)
		if c.n > best.n {
			best.Free() //F
			best = c
		} else { //F
			c.Free() //F
		}
	}
	best.b.Use()
	best.Free() //F
}
`, renewed + `
func f(n int) {
	best := first()
	for range n {
		c := step(best)
		if c.n > best.n {
			best = c
		}
		c.Free() //F
	}
	best.b.Use()
}
`, "it is used by step"},
	{"one that is put into a slice", "", renewed + `
func f(n int) {
	var all []*T
	d := first()
	for range n {
		all = append(all, d)
		old := d //F
		d = step(d)
		old.Free() //F
	}
	for _, t := range all {
		t.b.Use()
	}
}
`, "its name is read"},
	{"one that is put into a field", "", renewed + `
type S struct{ cur *T }

func f(n int) {
	var s S
	d := first()
	for range n {
		s.cur = d
		old := d //F
		d = step(d)
		old.Free() //F
		s.cur.b.Use()
	}
}
`, "its name is read"},
	{"one in a field whose field is put there first", "", renewed + `
type S struct{ cur *T }

func f(n int) {
	s := &S{}
	d := first()
	for range n {
		old := d //F
		s.cur = d
		d = step(d)
		old.Free() //F
		if s.cur.n > 0 {
			s.cur.b.Use()
		}
	}
}
`, "its name is read"},
	{"one that leads to the one before", "", `
type T struct {
	b    *B
	prev *T
}

func (t *T) Free() { t.b.Free() }

func first() *T { return &T{b: Make()} }

func step(x *T) *T { return &T{Make(), x} }

func f(n int) {
	d := first()
	for range n {
		old := d //F
		d = step(d)
		old.Free() //F
		d.prev.b.Use()
	}
}
`, "it is read or written"},
	{"a call that may return what it is given", "", renewed + `
func maybe(x *T) *T {
	if x.n > 3 {
		return x
	}
	return step(x)
}

func f(n int) {
	d := first()
	for range n {
		old := d //F
		d = maybe(d)
		old.Free() //F
	}
	d.b.Use()
}
`, "something that was not made here"},
	{"a call that hands the resource on in another", "", renewed + `
func move(x *T) *T { return &T{b: x.b} }

func f(n int) {
	d := first()
	for range n {
		old := d //F
		d = move(d)
		old.Free() //F
	}
	d.b.Use()
}
`, "its name is read"},
	{"one that gets the resource of another run", renewed + `
func f(n int) {
	d := first()
	for range n {
		e := step(d)
		e.n = d.n
		d.Free() //F
		d = e
	}
	d.b.Use()
}
`, renewed + `
func f(n int) {
	d := first()
	for range n {
		e := step(d)
		e.b = d.b
		d.Free() //F
		d = e
	}
	d.b.Use()
}
`, "its name is read"},
	{"two runs that change resources", "", renewed + `
func f(n int) {
	d := first()
	for range n {
		e := step(d)
		e.b, d.b = d.b, e.b
		e.Free() //F
		d = e
	}
	d.b.Use()
}
`, "its name is read"},
	{"a whole that is copied over another", "", renewed + `
func f(n int) {
	d := first()
	for range n {
		e := step(d)
		*e = *d
		d.Free() //F
		d = e
	}
	d.b.Use()
}
`, "its name is read"},
	{"a whole that is copied before", "", renewed + `
func f(n int) {
	d := first()
	var w T
	for range n {
		w = *d
		old := d //F
		d = step(d)
		old.Free() //F
	}
	w.b.Use()
}
`, "its name is read"},
	{"a variable that is captured", "", renewed + `
func f(n int) {
	d := first()
	last := func() {}
	for range n {
		e := d
		last = func() { e.b.Use() }
		old := d //F
		d = step(d)
		old.Free() //F
	}
	last()
}
`, "what is freed may be something that was not made here"},
	{"a deferred call", "", renewed + `
func f(n int) {
	d := first()
	for range n {
		defer d.b.Use()
		old := d //F
		d = step(d)
		old.Free() //F
	}
}
`, "it is used by Use"},
	{"a deferred call with the whole", "", renewed + `
func use(t *T) { t.b.Use() }

func f(n int) {
	d := first()
	for range n {
		defer use(d)
		old := d //F
		d = step(d)
		old.Free() //F
	}
}
`, "it is used by use"},
	{"a goroutine that has the one before", "", renewed + `
func use(t *T) { t.b.Use() }

func f(n int) {
	d := first()
	for range n {
		go use(d)
		old := d //F
		d = step(d)
		old.Free() //F
	}
}
`, "what is freed may be something that was not made here"},
	{"a channel with the ones before", "", renewed + `
func f(n int) {
	c := make(chan *T, n)
	d := first()
	for range n {
		c <- d
		old := d //F
		d = step(d)
		old.Free() //F
	}
	for range n {
		(<-c).b.Use()
	}
}
`, "its name is read"},
	{"a map with the ones before", "", renewed + `
func f(n int) {
	m := map[int]*T{}
	d := first()
	for i := range n {
		m[i] = d
		old := d //F
		d = step(d)
		old.Free() //F
	}
	for _, t := range m {
		t.b.Use()
	}
}
`, "its name is read"},
	{"an interface that has the one before", "", renewed + `
type user interface{ use() }

func (t *T) use() { t.b.Use() }

func f(n int) {
	d := first()
	var u user = d
	for range n {
		u = d
		old := d //F
		d = step(d)
		old.Free() //F
	}
	u.use()
}
`, "it is used by use"},
	{"a method value of the one before", "", renewed + `
func (t *T) use() { t.b.Use() }

func f(n int) {
	d := first()
	use := d.use
	for range n {
		use = d.use
		old := d //F
		d = step(d)
		old.Free() //F
	}
	use()
}
`, "it is used by use"},
	{"an address of a field of the one before", "", renewed + `
func f(n int) {
	d := first()
	p := &d.b
	for range n {
		p = &d.b
		old := d //F
		d = step(d)
		old.Free() //F
	}
	(*p).Use()
}
`, "its name is read"},
	{"a callee that stores it in another operand", "", renewed + `
type S struct{ cur *T }

func put(s *S, t *T) { s.cur = t }

func f(n int) {
	s := &S{}
	d := first()
	for range n {
		put(s, d)
		old := d //F
		d = step(d)
		old.Free() //F
	}
	s.cur.b.Use()
}
`, "what is freed may be something that was not made here"},
	{"a callee that appends it to another operand", "", renewed + `
type S struct{ all []*T }

func (s *S) push(t *T) { s.all = append(s.all, t) }

func f(n int) {
	s := &S{}
	d := first()
	for range n {
		s.push(d)
		old := d //F
		d = step(d)
		old.Free() //F
	}
	s.all[0].b.Use()
}
`, "its name is read"},
	{"a literal that is given it, and keeps it", "", renewed + `
func f(n int) {
	var last *T
	keep := func(t *T) { last = t }
	d := first()
	for range n {
		keep(d)
		old := d //F
		d = step(d)
		old.Free() //F
	}
	last.b.Use()
}
`, "its name is read"},
	{"a literal that a callee calls with it", "", renewed + `
func each(t *T, f func(*T)) { f(t) }

func f(n int) {
	var last *T
	d := first()
	for range n {
		each(d, func(t *T) { last = t })
		old := d //F
		d = step(d)
		old.Free() //F
	}
	last.b.Use()
}
`, "its name is read"},
	{"two that one call makes", "", renewed + `
func two(x, y *T) (*T, *T) { return step(x), step(y) }

func f(n int) {
	d, e := two(first(), first())
	for range n {
		x := e
		e0 := e //F
		d, e = two(d, e)
		if e0 != nil { //F
			e0.Free() //F
		} //F
		x.b.Use()
	}
}
`, "its name is read"},
	{"a literal that returns it", "", renewed + `
func f(n int) {
	d := first()
	same := func() *T { return d }
	for range n {
		e := same()
		d.Free() //F
		e.b.Use()
	}
}
`, "it is read or written"},
	{"a callee that returns the part of it", "", renewed + `
func (t *T) get() *B { return t.b }

func f(n int) {
	d := first()
	b := d.b
	for range n {
		b = d.get()
		old := d //F
		d = step(d)
		old.Free() //F
	}
	b.Use()
}
`, "its name is read"},
	{"a wrapper of a wrapper", nested + `
func more(p *nest) *nest {
	p.g.a.Use()
	return newNest()
}

func f(n int) {
	p := newNest()
	for range n {
		old := p //F
		p = more(p)
		old.Close() //F
	}
	p.g.a.Use()
	p.Close() //F
}
`, nested + `
func more(p *nest) *nest {
	p.g.a.Use()
	return newNest()
}

func f(n int) {
	p := newNest()
	g := p.g
	for range n {
		g = p.g
		old := p //F
		p = more(p)
		old.Close() //F
	}
	g.a.Use()
}
`, "its name is read"},
	{"a wrapper of a wrapper that gets the part of another", "", nested + `
func f(n int) {
	p := newNest()
	for range n {
		q := newNest()
		q.g = p.g
		p.Close() //F
		p = q
	}
	p.g.a.Use()
}
`, "its name is read"},
	{"an error that says that nothing was made", renewed + `
func try(x *T) (*T, error) {
	b, err := Try()
	if err != nil {
		return nil, err
	}
	x.b.Use()
	return &T{b: b}, nil
}

func f(n int) error {
	d, err := try(first())
	if err != nil {
		return err
	}
	for range n {
		old := d //F
		d, err = try(d)
		old.Free() //F
		if err != nil {
			return err
		}
	}
	d.b.Use()
	d.Free() //F
	return nil
}
`, renewed + `
func try(x *T) (*T, error) {
	b, err := Try()
	if err != nil {
		return x, err
	}
	x.b.Use()
	return &T{b: b}, nil
}

func f(n int) error {
	d, err := try(first())
	if err != nil {
		return err
	}
	for range n {
		old := d //F
		d, err = try(d)
		old.Free() //F
		if err != nil {
			d.b.Use()
			return err
		}
	}
	return nil
}
`, "something that was not made here"},
	{"a destructor that forgets", `
type T struct{ b H }

func (t *T) Free() {
	t.b.Free()
	t.b = H{}
}

func first() *T { return &T{MakeH()} }

func step(x *T) *T {
	x.b.Use()
	return first()
}

func f(n int) {
	d := first()
	for range n {
		old := d //F
		d = step(d)
		old.Free() //F
	}
	d.b.Use()
	d.Free() //F
}
`, `
type T struct{ b H }

func (t *T) Free() {
	t.b.Free()
	t.b = H{}
}

func first() *T { return &T{MakeH()} }

func step(x *T) *T {
	x.b.Use()
	return first()
}

func f(n int) {
	d := first()
	keep := d
	for range n {
		keep = d
		old := d //F
		d = step(d)
		old.Free() //F
	}
	println(keep.b == H{})
}
`, "its name is read"},
	{"a free behind a jump back", "", renewed + `
func f(n int) {
	d := first()
again:
	e := step(d)
	d.Free() //F
	if n--; n > 0 {
		goto again
	}
	e.b.Use()
}
`, "it is used by step"},
	{"a range over a function", "", renewed + `
func f(seq func(func(int) bool)) {
	d := first()
	keep := d
	for range seq {
		keep = d
		old := d //F
		d = step(d)
		old.Free() //F
	}
	keep.b.Use()
}
`, "its name is read"},
	{"a recover that reads it", "", renewed + `
func f(n int) {
	d := first()
	defer func() {
		recover()
		d.b.Use()
	}()
	for range n {
		old := d //F
		old.Free() //F
		d = step(first())
	}
}
`, "it may have been freed before"},
	{"elements of what a call makes", `
func some(n int) []*B {
	var all []*B
	for range n {
		all = append(all, Make())
	}
	return all
}

func f(n int) {
	a := some(n)
	for range n {
		for _, x := range a {
			x.Use()
		}
		for _, x := range a { //F
			x.Free() //F
		} //F
		a = some(n)
	}
}
`, `
func some(n int) []*B {
	var all []*B
	for range n {
		all = append(all, Make())
	}
	return all
}

func f(n int) {
	a := some(n)
	c := a
	for range n {
		for _, x := range a {
			x.Use()
		}
		for _, x := range a { //F
			x.Free() //F
		} //F
		c = a[1:]
		a = some(n)
	}
	c[0].Use()
}
`, "its name is read"},
}
