package proof_test

import "strings"

// calleePairs show what literals, method values and callees may do.
var calleePairs = []pair{
	{"a free that leads to no variable, where initializers call functions", initializes(`release(c.n)`),
		initializes(`note(c.n)`), "in another order"},
	{"one that leads to a variable without a value", strings.Replace(initializes(`note(c.n)`), "counts = table()", "counts map[int]int", 1),
		strings.Replace(initializes(`note(c.n)`), "counts = table()", "counts, _ = table(), 1", 1), "in another order"},
	{"elements that a body in a body appends, in each round", appends(`xs := []*B{}`, ``), appends(``, `var xs []*B
	`), "may run again"},
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
	{"a literal that calls itself", `
func f(n int) {
	b := Make()
	b.Use()
	b.Free() //F
	var walk func(n int)
	walk = func(n int) {
		ok := n > 0
		if ok {
			walk(n - 1)
		}
		if ok {
			walk(n - 2)
		}
	}
	walk(n)
}
`, `
func f(n int) {
	b := Make()
	b.Use()
	var walk func(n int)
	walk = func(n int) {
		if n > 0 {
			walk(n - 1)
		} else {
			b.Use()
		}
	}
	b.Free() //F
	walk(n)
}
`, "may call itself"},
	{"a literal that another one in it calls, and a buffer of each run", `
func f(n int) {
	b := Make()
	var walk func(n int)
	walk = func(n int) {
		func() {
			if n > 0 {
				walk(n - 1)
			}
		}()
	}
	walk(n)
	b.Use()
	b.Free() //F
}
`, `
func f(n int) {
	var last *B
	var walk func(n int)
	walk = func(n int) {
		b := Make()
		if last = b; n > 0 {
			walk(n - 1)
		}
		b.Use()
	}
	walk(n)
	last.Use()
	last.Free() //F
}
`, "may call itself"},
	{"a deferred call that ends no panic", `
type box struct{ b *B }

func locked(mu *sync.Mutex) *box {
	mu.Lock()
	defer mu.Unlock()
	return &box{Make()}
}

func f(mu *sync.Mutex) {
	b := locked(mu)
	println(b)
	b.b.Free() //F
}
`, `
type box struct{ b *B }

func locked(mu sync.Locker) *box {
	mu.Lock()
	defer mu.Unlock()
	return &box{Make()}
}

func f(mu sync.Locker) {
	b := locked(mu)
	println(b)
	b.b.Free() //F
}
`, "may be nil"},
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
	{"a deferred clean-up", `
func f() error {
	b, err := build()
	if err != nil {
		return err
	}
	b.Use()
	b.Free() //F
	return nil
}

//lastuse:effect result 0 owned on success
func TryH() (H, error)

func build() (r H, err error) {
	defer func() {
		if err != nil {
			r.Free()
			r = H{}
		}
	}()
	if r, err = TryH(); err != nil {
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

//lastuse:effect result 0 owned on success
func TryH() (H, error)

func build() (r H, err error) {
	defer func() {
		if err != nil {
			r.Free()
		}
	}()
	if r, err = TryH(); err != nil {
		return r, err
	}
	if next() == 1 {
		return r, errors.New("late")
	}
	return r, nil
}
`, "not made here"},
	{"a deferred clean-up of what panics", `
func f() error {
	b, err := build()
	if err != nil {
		return err
	}
	b.Use()
	b.Free() //F
	return nil
}

//lastuse:effect result 0 owned on success
func TryH() (H, error)

func build() (r H, err error) {
	defer func() {
		if err != nil {
			r.Free()
			r = H{}
		}
	}()
	if r, err = TryH(); err != nil {
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

//lastuse:effect result 0 owned on success
func TryH() (H, error)

func build() (r H, err error) {
	defer func() {
		if err != nil {
			r.Free()
			next()
			r = H{}
		}
	}()
	defer func() { recover() }()
	defer func() {
		if err != nil {
			r.Free()
			next()
			r = H{}
		}
	}()
	if r, err = TryH(); err != nil {
		return r, err
	}
	if next() == 1 {
		return r, errors.New("late")
	}
	return r, nil
}
`, "not made here"},
	{"lent where the condition does not hold", `
//lastuse:effect arg 0 borrowed, arg 0 freed if arg 1 is true
func step(b *B, del bool) { unknown(b) }

func f() {
	b := Make()
	step(b, false)
	b.Free() //F
}
`, `
//lastuse:effect arg 0 freed if arg 1 is true
func step(b *B, del bool) { unknown(b) }

func f() {
	b := Make()
	step(b, false)
	b.Free() //F
}
`, "handed to somebody"},
}

// initializes returns a package whose variables are initialized by a function that frees.
func initializes(free string) string {
	return `
type counted struct{ n int }

//lastuse:effect result 0 owned
func newCounted() *counted { return &counted{} }

//lastuse:effect recv freed
func (c *counted) Free() { ` + free + ` }

func note(n int) { counts[n]++ }

var first = made()

var counts = table()

func table() map[int]int {
	print("table")
	return map[int]int{}
}

func made() int {
	c := newCounted()
	print(c.n)
	c.Free() //F
	return 1
}
`
}

// appends returns ranges over functions, one in another, of which the inner one fills a slice.
func appends(inside, outside string) string {
	return `
func f(n int) {
	` + outside + `for range upTo(n) {
		` + inside + `
		for range upTo(n) {
			xs = append(xs, Make())
		}
		for _, x := range xs {
			x.Use()
		}
		for _, b := range xs { //F
			b.Free() //F
		} //F
	}
}

//lastuse:effect args borrowed
func upTo(n int) func(func(int) bool)
`
}
