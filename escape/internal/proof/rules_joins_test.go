package proof_test

import "github.com/lastuse/lastuse/escape/internal/proof"

// Frees that others may come behind: goroutines, deferred calls, whoever recovers.
var joinsRules = []ruleTest{
	{proof.Panics, "used by Use", `
func f() {
	v := Make()
	w := v.View()
	defer func() { w.Use() }()
	v.Free() //F
	for {
		next()
	}
}
`},
	{proof.Deferred, "used by Use", `
func f() {
	b := Make()
	v := b.View()
	defer v.Use()
	b.Free() //F
}
`},
	{proof.Joins, "goroutine", `
func f() {
	b := Make()
	go func() { b.Use() }()
	b.Free() //F
}
`},
	{proof.Joins, "handed to somebody", `
func start(b *B) {
	go func() { b.Use() }()
}

func f() {
	b := Make()
	start(b)
	b.Free() //F
}
`},
	{proof.Joins, "handed to somebody", `
func both(b *B) {
	var wg sync.WaitGroup
	wg.Go(func() { b.Use() })
	next()
	wg.Wait()
}

func f() {
	b := Make()
	defer b.Free() //F
	both(b)
}
`},
	{proof.Joins, "a goroutine may get another one", `
func f() {
	var x *B
	ch := make(chan bool)
	go func() {
		<-ch
		v := x
		if v == nil {
			v = Make()
		}
		v.Use()
		v.Free() //F
		ch <- true
	}()
	b := Make()
	x = b
	ch <- true
	<-ch
	b.Use()
	b.Free()
}
`},
	{proof.Joins, "a goroutine that can reach it", `
func f(c bool) {
	var x H
	ch := make(chan bool)
	go func() {
		<-ch
		y := MakeH()
		x = y
		ch <- true
		<-ch
		y.Use()
	}()
	x = H{}
	ch <- true
	<-ch
	if c {
		x = MakeH()
	}
	x.Use()
	x.Free() //F
	ch <- true
}
`},
	{proof.Joins, "a goroutine that can reach it", `
func f() {
	b := Make()
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		b.Use()
	}()
	func() { defer wg.Done() }()
	wg.Wait()
	b.Free() //F
}
`},
	{proof.Joins, "handed to somebody", `
func f() {
	var wg sync.WaitGroup
	gate := make(chan bool)
	var shared, last *B
	wg.Go(func() {
		<-gate
		last = shared
	})
	b := Make()
	shared = b
	close(gate)
	wg.Wait()
	b.Free() //F
	last.Use()
}
`},
	{proof.Joins, "handed to somebody", `
type failed struct{ v *V }

func (e failed) Error() string { return "" }

func f() error {
	b := Make()
	var g errgroup.Group
	g.Go(func() error { return failed{b.View()} })
	err := g.Wait()
	b.Free() //F
	return err
}
`},
}
