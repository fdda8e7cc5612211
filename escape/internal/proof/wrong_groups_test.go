package proof_test

import "testing"

// TestWrongGroups is frees behind a Wait that does not wait for all that has what is freed.
func TestWrongGroups(t *testing.T) {
	tests := []wrong{
		{"one of two groups", "a goroutine that can reach it may still run", `
func f(n int) {
	var one, two sync.WaitGroup
	b := Make()
	wg := &one
	if n > 0 {
		wg = &two
	}
	wg.Go(func() { b.Use() })
	one.Wait()
	b.Free() //F
}
`},
		{"one of two groups, the other way", "a goroutine that can reach it may still run", `
func f(n int) {
	var one, two sync.WaitGroup
	b := Make()
	wg := &one
	if n > 0 {
		wg = &two
	}
	wg.Go(func() { b.Use() })
	two.Wait()
	b.Free() //F
}
`},
		{"handed on", "a goroutine that can reach it may still run", `
var kept *sync.WaitGroup

func f(n int) {
	var wg sync.WaitGroup
	kept = &wg
	b := Make()
	wg.Go(func() { b.Use() })
	wg.Wait()
	b.Free() //F
}
`},
		{"handed on, counted", "a goroutine that can reach it may still run", `
var kept *sync.WaitGroup

func f(n int) {
	var wg sync.WaitGroup
	b := Make()
	wg.Add(1)
	kept = &wg
	go func() {
		defer wg.Done()
		b.Use()
	}()
	wg.Wait()
	b.Free() //F
}
`},
		{"two groups of a struct", "a goroutine that can reach it may still run", `
func f(n int) {
	var s struct{ a, b sync.WaitGroup }
	b := Make()
	s.a.Go(func() { b.Use() })
	s.b.Wait()
	b.Free() //F
}
`},
		{"counted by a variable", "a goroutine that can reach it may still run", `
func f(n int) {
	var wg sync.WaitGroup
	b := Make()
	wg.Add(n)
	go func() {
		defer wg.Done()
		b.Use()
	}()
	wg.Wait()
	b.Free() //F
}
`},
		{"counted down", "a goroutine that can reach it may still run", `
func f(n int) {
	var wg sync.WaitGroup
	b := Make()
	wg.Add(1)
	go func() {
		defer wg.Done()
		b.Use()
	}()
	wg.Add(-1)
	wg.Wait()
	b.Free() //F
}
`},
		{"counted behind", "a goroutine that can reach it may still run", `
func f(n int) {
	var wg sync.WaitGroup
	b := Make()
	go func() {
		defer wg.Done()
		b.Use()
	}()
	wg.Add(1)
	wg.Wait()
	b.Free() //F
}
`},
		{"a literal that others may call", "what is freed may be something that was not made here", `
func f(n int) {
	var wg sync.WaitGroup
	b := Make()
	done := func() {
		defer wg.Done()
		b.Use()
	}
	wg.Add(2)
	go done()
	unknownFn(done)
	wg.Wait()
	b.Free() //F
}

func unknownFn(f func())
`},
		{"a group copied", "a goroutine that can reach it may still run", `
func f(n int) {
	var wg sync.WaitGroup
	b := Make()
	wg.Go(func() { b.Use() })
	w2 := wg
	w2.Wait()
	b.Free() //F
}
`},
		{"a group assigned anew", "a goroutine that can reach it may still run", `
func f(n int) {
	var wg sync.WaitGroup
	b := Make()
	wg.Go(func() { b.Use() })
	wg = sync.WaitGroup{}
	wg.Wait()
	b.Free() //F
}
`},
		{"a pointer in a struct", "a goroutine that can reach it may still run", `
type has struct{ wg *sync.WaitGroup }

func f(n int) {
	var wg, other sync.WaitGroup
	h := has{&wg}
	b := Make()
	h.wg.Go(func() { b.Use() })
	h.wg = &other
	h.wg.Wait()
	b.Free() //F
}
`},
		{"a pointer that is assigned", "a goroutine that can reach it may still run", `
func f(n int) {
	var wg, other sync.WaitGroup
	p := &wg
	b := Make()
	p.Go(func() { b.Use() })
	p = &other
	p.Wait()
	b.Free() //F
}
`},
		{"a pointer variable captured and assigned", "a goroutine that can reach it may still run", `
func f(n int) {
	var wg, other sync.WaitGroup
	p := &wg
	b := Make()
	p.Go(func() { b.Use() })
	func() { p = &other }()
	p.Wait()
	b.Free() //F
}
`},
		{"two literals with the go", "a goroutine that can reach it may still run", `
func f(n int) {
	var wg sync.WaitGroup
	b := Make()
	one := func() { defer wg.Done(); b.Use() }
	two := func() { defer wg.Done(); next() }
	g := one
	if n > 0 {
		g = two
	}
	wg.Add(1)
	go g()
	wg.Wait()
	b.Free() //F
}
`},
		{"a bound method as the goroutine", "it was handed to somebody who may keep it", `
type user struct{ b *B; wg *sync.WaitGroup }

func (u *user) run() { defer u.wg.Done(); u.b.Use() }

func f(n int) {
	var wg sync.WaitGroup
	b := Make()
	u := &user{b, &wg}
	wg.Add(1)
	go u.run()
	wg.Wait()
	b.Free() //F
}
`},
		{"Done called by something else too", "a goroutine that can reach it may still run", `
func f(n int) {
	var wg sync.WaitGroup
	b := Make()
	wg.Add(1)
	go func() {
		defer wg.Done()
		b.Use()
	}()
	wg.Done()
	wg.Wait()
	b.Free() //F
}
`},
		{"a deferred Add", "a goroutine that can reach it may still run", `
func f(n int) {
	var wg sync.WaitGroup
	b := Make()
	wg.Add(1)
	defer wg.Add(1)
	go func() {
		defer wg.Done()
		b.Use()
	}()
	wg.Wait()
	b.Free() //F
}
`},
		{"a huge count", "a goroutine that can reach it may still run", `
func f(n int) {
	var wg sync.WaitGroup
	b := Make()
	wg.Add(0)
	go func() {
		defer wg.Done()
		b.Use()
	}()
	wg.Wait()
	b.Free() //F
}
`},
	}
	newLab().withholds(t, tests)
}
