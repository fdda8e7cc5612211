package proof_test

// tensors is ranging over what leads to a resource.
func tensors(params, body, loop string) string {
	return `
type T struct {
	b *B
	n int
}

func NewT(n int) *T { return &T{b: Make(), n: n} }

func TryT(n int) (*T, error) {
	b, err := Try()
	if err != nil {
		return nil, err
	}
	return &T{b: b, n: n}, nil
}

func (t *T) Free() { t.b.Free() }

func (t *T) Use() { t.b.Use() }

var kept *T

var later func()
` + ranging(params, body, loop)
}

// inEachT frees what the body of a range over seq is handed, behind its use.
const inEachT = `	for t := range seq(n) {
		t.Use()
		t.Free() //F
	}`

// tried hands over what may have failed, with its error.
const tried = `
		for i := range n {
			if !yield(TryT(i)) {
				return
			}
		}`

// handsStructPairs show what is handed to the body of a range, as what an operand of its own leads to.
var handsStructPairs = []pair{
	{"memory is handed over with what is in it", tensors("*T", `
		for i := range n {
			t := NewT(i)
			t.Use()
			if !yield(t) {
				return
			}
		}`, inEachT), tensors("*T", `
		for i := range n {
			t := NewT(i)
			if !yield(t) {
				return
			}
			t.Use()
		}`, inEachT), "something that was not made here"},
	{"the maker gives a field something else", tensors("*T", `yield(NewT(n))`, inEachT), tensors("*T", `
		t := NewT(n)
		yield(t)
		t.b = Make()`, inEachT), "something that was not made here"},
	{"the maker defers a use", "", tensors("*T", `
		t := NewT(n)
		defer t.Use()
		yield(t)`, inEachT), "something that was not made here"},
	{"the maker starts a goroutine with it", "", tensors("*T", `
		t := NewT(n)
		go t.Use()
		yield(t)`, inEachT), "something that was not made here"},
	{"the memory is kept", "", tensors("*T", `
		t := NewT(n)
		kept = t
		yield(t)`, inEachT), "something that was not made here"},
	{"what is in it is kept", "", tensors("*T", `
		t := NewT(n)
		stored = t.b
		yield(t)`, inEachT), "something that was not made here"},
	{"it is in what a literal captures", "", tensors("*T", `
		t := NewT(n)
		later = func() { t.Use() }
		yield(t)`, inEachT), "something that was not made here"},
	{"it is handed over again", "", tensors("*T", `
		t := NewT(n)
		for range n {
			yield(t)
		}`, inEachT), "something that was not made here"},
	{"the one before is needed", "", tensors("*T", `
		var prev *T
		for i := range n {
			t := NewT(i)
			if prev != nil {
				prev.Use()
			}
			yield(t)
			prev = t
		}`, inEachT), "something that was not made here"},
	{"another one is handed over before it is needed", "", tensors("*T", `
		t := NewT(1)
		yield(t)
		u := NewT(2)
		t.Use()
		yield(u)`, inEachT), "something that was not made here"},
	{"one resource is in several", tensors("*T", `
		for i := range n {
			yield(&T{b: Make(), n: i})
		}`, inEachT), tensors("*T", `
		b := Make()
		for i := range n {
			yield(&T{b: b, n: i})
		}`, inEachT), "something that was not made here"},
	{"what is in it is handed over beside it", tensors("int, *T", `yield(n, NewT(n))`, `
	for i, t := range seq(n) {
		if i > 3 {
			t.Free() //F
			break
		}
		t.Use()
		t.Free() //F
	}`), tensors("*T, *B", `
		t := NewT(n)
		yield(t, t.b)`, `
	var last *B
	for t, b := range seq(n) {
		last = b
		t.Use()
		t.Free() //F
	}
	last.Use()`), "something that was not made here"},
	{"beside an error the operand is nil", tensors("*T, error", tried, `
	for t, err := range seq(n) {
		if err != nil {
			return
		}
		t.Use()
		t.Free() //F
	}`), tensors("*T, error", tried, `
	for t, err := range seq(n) {
		if err != nil {
			print(err)
		}
		t.Use()
		t.Free() //F
	}`), "may be nil"},
	{"the operand may be nil", tensors("*T, error", `
		t, err := TryT(n)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(t, nil)`, `
	for t, err := range seq(n) {
		if err == nil {
			t.Use()
			t.Free() //F
		}
	}`), tensors("*T", `
		if n > 3 {
			yield(nil)
			return
		}
		yield(NewT(n))`, `
	for t := range seq(n) {
		if n > 4 {
			t.Use()
		}
		t.Free() //F
	}`), "may be nil"},
	{"what is in it is needed behind the loop", "", tensors("*T", `yield(NewT(n))`, `
	var last *B
	for t := range seq(n) {
		last = t.b
		t.Use()
		t.Free() //F
	}
	last.Use()`), "its name is read"},
	{"the body puts something else there", "", tensors("*T", `yield(NewT(n))`, `
	for t := range seq(n) {
		t.Use()
		t.b = stored
		t.Free() //F
	}`), "something that was not made here"},
	{"the body hands it on", "", tensors("*T", `yield(NewT(n))`, `
	for t := range seq(n) {
		kept = t
		t.Use()
		t.Free() //F
	}`), "something that was not made here"},
	{"it is handed over twice at once", tensors("*T, int", `yield(NewT(n), n)`, `
	for t, i := range seq(n) {
		print(i)
		t.Use()
		t.Free() //F
	}`), tensors("*T, *T", `
		t := NewT(n)
		yield(t, t)`, `
	for t, u := range seq(n) {
		t.Use()
		t.Free() //F
		u.Use()
	}`), "something that was not made here"},
	{"a number of what the maker is given is in it", tensors("*T", ``, `
	d := &data{n}
	d.each(func(t *T) {
		print(n)
		t.Use()
		t.Free() //F
	})`) + data, tensors("*T", ``, `
	d := &data{n}
	d.each(func(t *T) {
		print(n)
		kept = t
		t.Use()
		t.Free() //F
	})`) + data, "something that was not made here"},
	{"a literal is called with nil as well", tensors("*T", ``, `
	do := func(t *T) {
		print(n)
		t.Use()
		t.Free() //F
	}
	NewT(n).to(do)
	do(NewT(n))`) + to, tensors("*T", ``, `
	do := func(t *T) {
		if print(n); t != nil {
			t.Use()
		}
		t.Free() //F
	}
	NewT(n).to(do)
	do(nil)`) + to, "may be nil"},
	{"a literal is called with nil beside no error", "", tensors("*T", ``, `
	do := func(t *T, err error) {
		if err != nil {
			return
		}
		if print(n); t != nil {
			t.Use()
		}
		t.Free() //F
	}
	tryTo(do)
	do(nil, nil)`) + "\nfunc tryTo(do func(*T, error)) { do(TryT(1)) }\n", "may be nil"},
	{"what is in a slice in it", "", tensors("*S", `yield(&S{bs: []*B{Make()}})`, `
	for s := range seq(n) {
		s.Use()
		s.Free() //F
	}`) + `
type S struct{ bs []*B }

func (s *S) Free() {
	for _, b := range s.bs {
		b.Free()
	}
}

func (s *S) Use() { s.bs[0].Use() }
`, "something that was not made here"},
	{"what is in it is of another type", "", tensors("*V2", `yield(&V2{w: (*W)(Make())})`, `
	for v := range seq(n) {
		v.w.Use()
		v.w.Free() //F
	}`) + `
type W B

type V2 struct{ w *W }

//lastuse:effect recv freed
func (w *W) Free()

//lastuse:effect recv borrowed
func (w *W) Use()
`, "something that was not made here"},
}

// to has a method that hands over what it made.
const to = "\nfunc (t *T) to(do func(*T)) { do(NewT(t.n)) }\n"

// data has a function that hands over what has a number of it.
const data = `
type data struct{ n int }

func (d *data) each(do func(*T)) { do(NewT(d.n)) }
`
