package proof_test

// subtestPairs show when a subtest has run where the call returns that runs it.
var subtestPairs = []pair{
	{"a test that its function calls", `
func f(t *testing.T) {
	b := Make()
	t.Run("x", func(t *testing.T) {
		b.Use()
		t.Errorf("none")
	})
	b.Free() //F
}
`, `
func f(t *testing.T) {
	b := Make()
	t.Run("x", func(t *testing.T) {
		t.Parallel()
		b.Use()
	})
	b.Free() //F
}
`, "not made here"},
	{"a function that has the test", `
func looks(t *testing.T) { t.Helper() }

func f(t *testing.T) {
	b := Make()
	t.Run("x", func(t *testing.T) {
		looks(t)
		b.Use()
	})
	b.Free() //F
}
`, `
func par(t testing.TB) { t.(*testing.T).Parallel() }

func f(t *testing.T) {
	b := Make()
	t.Run("x", func(t *testing.T) {
		par(t)
		b.Use()
	})
	b.Free() //F
}
`, "not made here"},
	{"a method of the test as a value", "", `
func f(t *testing.T) {
	b := Make()
	t.Run("x", func(t *testing.T) {
		g := t.Parallel
		g()
		b.Use()
	})
	b.Free() //F
}
`, "not made here"},
	{"the test of the one around", "", `
func f(t *testing.T) {
	b := Make()
	t.Run("x", func(u *testing.T) {
		u.Run("y", func(*testing.T) { u.Parallel() })
		b.Use()
	})
	b.Free() //F
}
`, "not made here"},
	{"a function that calls itself, and one that a line lends the test", `
func again(t *testing.T, n int) {
	if n > 0 {
		again(t, n-1)
	}
}

//lastuse:effect args borrowed
func check(t testing.TB, n int)

func f(t *testing.T) {
	b := Make()
	t.Run("x", func(t *testing.T) {
		again(t, 2)
		check(t, 2)
		b.Use()
	})
	b.Free() //F
}
`, `
//lastuse:effect arg 0 escapes
func check(t testing.TB, n int)

func f(t *testing.T) {
	b := Make()
	t.Run("x", func(t *testing.T) {
		check(t, 2)
		b.Use()
	})
	b.Free() //F
}
`, "not made here"},
	{"a function without a body", "", `
func away(t testing.TB)

func f(t *testing.T) {
	b := Make()
	t.Run("x", func(t *testing.T) {
		away(t)
		b.Use()
	})
	b.Free() //F
}
`, "not made here"},
	{"a function of which nobody knows what it is", "", `
func f(t *testing.T, g func(func()) func(*testing.T)) {
	b := Make()
	t.Run("x", g(func() { b.Use() }))
	b.Free() //F
}
`, "not made here"},
}
