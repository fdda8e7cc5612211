package proof_test

// conditionPairs show where what is known of conditions ends.
var conditionPairs = []pair{
	{"the variable that one iteration hands to the next is never zero", `
func f(c bool) {
	b := Make()
	for x := b; c; x.Use() {
		for range seq {
			if c {
				x.Free() //F
				return
			}
		}
	}
	b.Free() //F
}

func seq(yield func(int) bool) { yield(1) }
`, `
func f(c bool) {
	b := Make()
	for x := b; c; x = nil {
		x.Use()
		for range seq {
			if c {
				x.Free() //F
				return
			}
		}
	}
	b.Free() //F
}

func seq(yield func(int) bool) { yield(1) }
`, "it may be nil"},
	{"a result is zero where a panic came before it was stored", `
func mk() (b *B) {
	b = Make()
	return b
}

func f() {
	b := mk()
	_ = b
	b.Free() //F
}
`, `
func mk() (b *B) {
	defer func() { recover() }()
	b = Make()
	return b
}

func f() {
	b := mk()
	_ = b
	b.Free() //F
}
`, "it may be nil"},
	{"a result is zero beside no error where a panic came before it was stored", `
func mk() (b *B, err error) {
	b = Make()
	return b, nil
}

func f() {
	b, err := mk()
	if err != nil {
		return
	}
	_ = b
	b.Free() //F
}
`, `
func mk() (b *B, err error) {
	defer func() { recover() }()
	b = Make()
	return b, nil
}

func f() {
	b, err := mk()
	if err != nil {
		return
	}
	_ = b
	b.Free() //F
}
`, "it may be nil"},
	{"the error that a deferred clean-up tests", `
func f() error {
	b, err := build()
	if err != nil {
		return err
	}
	b.Use()
	b.Free() //F
	return nil
}

func build() (r *B, err error) {
	defer func() {
		if err != nil {
			r.Free()
			r = nil
		}
	}()
	r, err = Try()
	if err != nil {
		return r, err
	}
	if next() == 1 {
		return r, errors.New("late")
	}
	return r, nil
}
`, `
func f() error {
	b, err := build()
	if err != nil {
		return err
	}
	b.Use()
	b.Free() //F
	return nil
}

func build() (r *B, err error) {
	defer func() {
		err = nil
	}()
	defer func() {
		if err != nil {
			r.Free()
			r = nil
		}
	}()
	r, err = Try()
	if err != nil {
		return r, err
	}
	if next() == 1 {
		return r, errors.New("late")
	}
	return r, nil
}
`, "it may be nil"},
	{"an error that is read again, in a variable that a literal reads", `
func f() error {
	b, err := build()
	if err != nil {
		return err
	}
	b.Use()
	b.Free() //F
	return nil
}

func build() (*B, error) {
	b, err := Try()
	show := func() { println(err) }
	_ = show
	if err != nil {
		return nil, err
	}
	return b, nil
}
`, `
func f() error {
	b, err := build()
	if err != nil {
		return err
	}
	b.Use()
	b.Free() //F
	return nil
}

func build() (*B, error) {
	b, err := Try()
	lose := func() { err = nil }
	if err != nil {
		lose()
		return nil, err
	}
	return b, nil
}
`, "it may be nil"},
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
	{"a variable that was stored before another", `
func f(o *B) {
	b := Make()
	v := b.View()
	var x, y *B
	other := func() { x, y = y, x }
	b.Free() //F
	x = nil
	y = o
	if x != nil {
		v.Use()
	}
	other()
}
`, `
func f(c bool, o *B) {
	b := Make()
	v := b.View()
	var x, y *B
	p := &x
	if c {
		p = &y
	}
	b.Free() //F
	*p = nil
	x = o
	if *p != nil {
		v.Use()
	}
}
`, "used by Use"},
	{"an interface that is not nil", `
func f(n int) {
	b := Make()
	v := b.View()
	var x any = n
	b.Free() //F
	if x == nil {
		v.Use()
	}
}
`, `
func f[T error](e T) {
	b := Make()
	v := b.View()
	var x any = e
	b.Free() //F
	if x == nil {
		v.Use()
	}
}
`, "used by Use"},
	{"a struct that is not zero", `
func f(c bool) {
	var p struct{ x, y *B }
	if c {
		p.x = Make()
	} else {
		p.y = Make()
	}
	if p.x != nil {
		p.x.Free() //F
	}
}
`, `
func f(c bool) {
	var p, zero struct{ x, y *B }
	if c {
		p.x = Make()
	} else {
		p.y = Make()
	}
	if p != zero {
		p.x.Free() //F
	}
}
`, "may be nil"},
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
	{"a free stands behind a label", `
func f(n int) {
	b := Make()
	b.Use()
	if n > 3 {
		goto out
	}
	next()
out:
	b.Free() //F
	next()
}
`, `
func f(n int) {
	b := Make()
	b.Use()
again:
	b.Free() //F
	if next() > n {
		goto again
	}
}
`, "freed before"},
	{"the results of a call go to a header by names", `
func f() {
	b, failed := Try() //F
	if x, err := b, failed; err == nil { //F
	if x, err := Try(); err == nil { //O
		x.Use()
		b.Free() //F
		next()
	}
}
`, `
func f() {
	b, failed := Try() //F
	c, _ := Try() //F
	if x, err := c, failed; err == nil { //F
	if x, err := Try(); err == nil { //O
		x.Use()
		b.Free() //F
		next()
	}
}
`, "in more than frees"},
	{"the results of a call go to a call by names", `
func f() {
	b := Make()
	x, y := two(b) //F
	b.Free() //F
	add(x, y) //F
	add(two(b)) //O
}

//lastuse:effect args borrowed
func two(b *B) (int, int)
`, `
func f() {
	b := Make()
	x, y := two(b) //F
	b.Free() //F
	add(y, x) //F
	add(two(b)) //O
}

//lastuse:effect args borrowed
func two(b *B) (int, int)
`, "in more than frees"},
	{"a result that was dropped gets a name beside one that is declared", `
func f() error {
	_, err := Try() //O
	b, err := Try() //F
	if b != nil { //F
		b.Free() //F
	} //F
	return err
}
`, `
func f(b *B) error {
	_, err := Try() //O
	b, err := Try() //F
	if b != nil { //F
		b.Free() //F
	} //F
	return err
}
`, "a name that was made is not new"},
	{"a literal sets a field of what a variable leads to, and not the variable", tells("*note", `t.n = 1`),
		tells("*note", `t = nil`), "variable t, which others may change"},
	{"a literal sets a field of what a variable leads to, and not one of the variable", tells("*note", `t.n = 1`),
		tells("note", `t.n = 1`), "variable t, which others may change"},
	{"a name stands in front of a label that only leaves lead to", `
func f() {
	b0 := Make() //F
l:
	for b := Make(); next() > 0; b.Use() { //O
	for b := b0; next() > 0; b.Use() { //F
		for next() > 0 {
			continue l
		}
	}
	b0.Free() //F
}
`, `
func f() {
	b0 := Make() //F
l:
	for b := Make(); next() > 0; b.Use() { //O
	for b := b0; next() > 0; b.Use() { //F
		for next() > 0 {
			goto l
		}
	}
	b0.Free() //F
}
`, "a label that a goto leads to"},
	{"a result that was dropped gets a name beside one that is assigned", `
func f() (err error) {
	_, err = Try() //O
	b, err0 := Try() //F
	err = err0 //F
	if b != nil { //F
		b.Free() //F
	} //F
	return err
}
`, `
func f() (err, was error) {
	_, err = Try() //O
	b, err0 := Try() //F
	was = err0 //F
	if b != nil { //F
		b.Free() //F
	} //F
	return err, was
}
`, "in more than frees"},
	{"what is assigned beside a result that was dropped is all of it", `
func f() (n int, err error) {
	_, n, err = three() //O
	b, n0, err0 := three() //F
	n, err = n0, err0 //F
	if b != nil { //F
		b.Free() //F
	} //F
	return
}

//lastuse:effect result 0 owned on success
func three() (*B, int, error)
`, `
func f() (n int, err error) {
	_, n, err = three() //O
	b, n0, err0 := three() //F
	err = err0 //F
	if b != nil { //F
		b.Free() //F
	} //F
	_ = n0 //F
	return
}

//lastuse:effect result 0 owned on success
func three() (*B, int, error)
`, "in more than frees"},
	{"a name for a result that was dropped hides nothing that is read", `
func f() error {
	for next() > 0 {
		_, err := Try() //O
		b, err := Try() //F
		if b != nil { //F
			b.Free() //F
		} //F
		if err != nil {
			return err
		}
	}
	return nil
}
`, `
func f() error {
	b := Make()
	for next() > 0 {
		_, err := Try() //O
		b, err := Try() //F
		if b != nil { //F
			b.Free() //F
		} //F
		if err != nil {
			b.Use()
			return err
		}
	}
	b.Free()
	return nil
}
`, "takes the place of another"},
	{"results in a statement that drops one", `
//lastuse:effect args borrowed, result 0 owned
func step(n int, b *B) *B

func f() {
	step(1, step(1, Make())) //O
	b := Make() //F
	b0 := step(1, b) //F
	b.Free() //F
	b1 := step(1, b0) //F
	b0.Free() //F
	b1.Free() //F
}
`, `
//lastuse:effect args borrowed, result 0 owned
func step(n int, b *B) *B

func f() {
	step(next(), step(1, Make())) //O
	b := Make() //F
	b0 := step(1, b) //F
	b.Free() //F
	b1 := step(next(), b0) //F
	b0.Free() //F
	b1.Free() //F
}
`, "a call comes before"},
	{"a result that is dropped, of a call of one operand", `
//lastuse:effect args borrowed, result 0 owned
func step(b *B) *B

func f() {
	b, c := Make(), Make()
	step(b) //O
	b0 := step(b) //F
	b0.Free() //F
	c.Use()
	b.Use()
}
`, `
//lastuse:effect args borrowed, result 0 owned
func step(b *B) *B

func f() {
	b, c := Make(), Make()
	step(b) //O
	b0 := step(c) //F
	b0.Free() //F
	c.Use()
	b.Use()
}
`, "in more than frees"},
	{"a free is taken out in front of a statement that looks like one", takesOut(`b.Use()`), takesOut(`b.Free()`),
		"may have freed it before"},
}

// takesOut returns a function of which a free stands earlier.
func takesOut(behind string) string {
	return `
func f() {
	a, b := Make(), Make()
	a.Use()
	a.Free() //F
	next()
	a.Free() //O
	` + behind + `
	next()
	b.Free() //F
}
`
}

// tells is a function in which a name moves in front of a variable that a literal does something to.
func tells(of, does string) string {
	return `
type note struct{ n int }

func tell(t ` + of + `, n int)

func f(t ` + of + `) {
	set := func() { ` + does + ` }
	set()
	tell(t, Make().Sum()) //O
	b := Make() //F
	tell(t, b.Sum()) //F
	b.Free() //F
}
`
}
