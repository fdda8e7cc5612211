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
	{"a number that is less than each limit", `
func f(n int) {
	b := Make()
	k := 1<<30 - 1
	if n > 3 {
		k = 7
	}
	if k == 1<<29 {
		global = b
	}
	b.Free() //F
}
`, `
func f(n int) {
	b := Make()
	k := 1<<63 - 1
	if n > 3 {
		k = 7
	}
	if k == 1<<31 - 1 {
		global = b
	}
	b.Free() //F
}
`, "handed to somebody"},
}
