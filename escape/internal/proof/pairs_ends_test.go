package proof_test

// endPairs show where a function ends: what is deferred up to there, also in rounds of a loop, and what ends
// a test.
var endPairs = []pair{
	{"what frees and does nothing else ends no panic", `
func build() (*B, error) {
	h := Make()
	defer h.Free()
	h.Use()
	b, err := Try()
	if err != nil {
		return nil, err
	}
	return b, nil
}

func f() error {
	b, err := build()
	if err != nil {
		return err
	}
	b.Use()
	b.Free() //F
	return nil
}
`, `
//lastuse:effect arg 0 borrowed
func end(b *B)

func build() (*B, error) {
	h := Make()
	defer end(h)
	h.Use()
	b, err := Try()
	if err != nil {
		return nil, err
	}
	return b, nil
}

func f() error {
	b, err := build()
	if err != nil {
		return err
	}
	b.Use()
	b.Free() //F
	return nil
}
`, "it may be nil"},
	{"a deferred free in a loop, of what is not nil when it is deferred", `
func f() error {
	for range 3 {
		b, err := Try()
		if err != nil {
			return err
		}
		defer b.Free() //F
		defer func(c *B) { c.Use() }(b)
		b, err = Try()
		if err != nil {
			return err
		}
		defer b.Free() //F
		defer func(c *B) { c.Use() }(b)
	}
	return nil
}
`, `
func f() error {
	for range 3 {
		b, err := Try()
		defer b.Free() //F
		defer func(c *B) { println(c) }(b)
		if err != nil {
			return err
		}
	}
	return nil
}
`, "it may be nil"},
	{"an interface that ends the test", `
func made(t testing.TB) *B {
	b, err := Try()
	if err != nil {
		t.Fatalf("no B: %v", err)
	}
	return b
}

func f(t testing.TB) {
	b := made(t)
	b.Use()
	b.Free() //F
}
`, `
type tb struct{ testing.TB }

func (tb) Fatalf(string, ...any) {}

func made(t testing.TB) *B {
	b, err := Try()
	if err != nil {
		t.Fatalf("no B: %v", err)
	}
	return b
}

func f(t testing.TB) {
	b := made(t)
	println(b)
	b.Free() //F
}
`, "may be"},
	{"an interface that ends the test, and a type without a name that embeds one", "", `
type quiet struct{}

func (quiet) Fatal(...any) {}

type tb struct{ testing.TB }

func f(bad bool) {
	var t testing.TB = struct {
		quiet
		tb
	}{}
	b := Make()
	if bad {
		b.Free() //F
		t.Fatal()
	}
	b.Use()
}
`, "its name is read"},
	{"an interface that ends the test, and a type of a function that embeds one", "", `
func f(t testing.TB, bad bool) {
	type quiet struct{ over }
	b := Make()
	if bad {
		b.Free() //F
		t.Fatal()
	}
	b.Use()
}

type over interface{ testing.TB }
`, "its name is read"},
	{"an interface that reports", `
func f(t testing.TB) {
	b, err := Try()
	if err != nil {
		t.Skip(err)
	}
	defer println()
	b.Use()
	b.Free() //F
}
`, `
func f(t testing.TB) {
	b, err := Try()
	if err != nil {
		t.Error(err)
	}
	println(b)
	b.Free() //F
}
`, "may be nil"},
	{"what is deferred where the test ends", `
func f(t testing.TB) {
	b := Make()
	b.Use()
	defer b.Free() //F
	t.Fatal()
}
`, `
func f(t testing.TB) {
	b := Make()
	defer b.Use()
	if next() > 0 {
		b.Free() //F
		t.Fatal()
	}
}
`, "it is used by Use"},
	{"what is deferred in each round of a loop", `
func f() {
	for next() > 0 {
		b := Make()
		defer b.Free() //F
		defer b.Use()
	}
}
`, `
func f() {
	for next() > 0 {
		b := Make()
		defer b.Use()
		defer b.Free() //F
	}
}
`, "it is used by Use"},
	{"what is deferred in a later round runs earlier", `
func f() {
	var last *B
	for next() > 0 {
		b := Make()
		if last != nil {
			defer last.Use()
		}
		defer b.Free() //F
		defer b.Use()
		last = b
	}
}
`, `
func f() {
	var last *B
	for next() > 0 {
		b := Make()
		defer b.Use()
		if last != nil {
			defer last.Free() //F
		}
		last = b
	}
}
`, "it is used by Use"},
	{"what is deferred in several rounds is of one of them", `
func f() {
	for next() > 0 {
		b := Make()
		for range 2 {
			defer b.Use()
		}
		b.Use()
	}
	b := Make()
	defer b.Free() //F
	for range 2 {
		defer b.Use()
	}
}
`, `
func f() {
	b := Make()
	for range 2 {
		defer b.Free() //F
		defer b.Use()
	}
}
`, "it is used by Use"},
}
