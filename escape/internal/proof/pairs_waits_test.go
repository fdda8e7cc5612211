package proof_test

// waiting is a struct with a group, and who waits for it.
const waiting = `
type G struct {
	n  int
	wg sync.WaitGroup
}

func (g *G) wait() { g.wg.Wait() }

func wait(wg *sync.WaitGroup) { wg.Wait() }
`

// waitPairs show when a goroutine is waited for by who is called.
var waitPairs = []pair{
	{"a method of what has the group", waiting + `
func f(n int) {
	b := Make()
	var g G
	for range n {
		g.wg.Go(func() { b.Use() })
	}
	g.n++
	g.wait()
	b.Free() //F
}
`, waiting + `
func (g *G) try(n int) {
	if n > 0 {
		g.wg.Wait()
	}
}

func f(n int) {
	b := Make()
	var g G
	for range n {
		g.wg.Go(func() { b.Use() })
	}
	g.try(n)
	b.Free() //F
}
`, "may still run"},
	{"a function that is given the group", waiting + `
func f() {
	b := Make()
	var wg sync.WaitGroup
	wg.Go(func() { b.Use() })
	wait(&wg)
	b.Free() //F
}
`, waiting + `
func f() {
	b := Make()
	var wg, other sync.WaitGroup
	wg.Go(func() { b.Use() })
	wait(&other)
	b.Free() //F
}
`, "may still run"},
	{"a method of one that is behind a pointer", waiting + `
func f() {
	b := Make()
	g := &G{n: 1}
	g.wg.Add(1)
	go func() {
		defer g.wg.Done()
		b.Use()
	}()
	g.wait()
	b.Free() //F
}
`, waiting + `
func f() {
	b := Make()
	g := &G{n: 1}
	g.wg.Add(1)
	go func() {
		defer g.wg.Done()
		b.Use()
	}()
	g = &G{}
	g.wait()
	b.Free() //F
}
`, "may still run"},
	{"a method value", `
func f() {
	b := Make()
	var wg sync.WaitGroup
	wait := wg.Wait
	wg.Go(func() { b.Use() })
	wait()
	b.Free() //F
}
`, `
func f(n int) {
	b := Make()
	var wg, other sync.WaitGroup
	wait := wg.Wait
	if n > 0 {
		wait = other.Wait
	}
	wg.Go(func() { b.Use() })
	wait()
	b.Free() //F
}
`, "may still run"},
	{"a method value of the group before", "", `
func f() {
	b := Make()
	var wait func()
	for i := range 2 {
		var wg sync.WaitGroup
		if i == 0 {
			wait = wg.Wait
		}
		wg.Go(func() { b.Use() })
		wait()
	}
	b.Free() //F
}
`, "may still run"},
	{"a literal that waits", `
func f() {
	b := Make()
	var wg sync.WaitGroup
	wait := func() { wg.Wait() }
	wg.Go(func() { b.Use() })
	wait()
	b.Free() //F
}
`, `
func f(n int) {
	b := Make()
	var wg sync.WaitGroup
	wait := func() {
		if n > 0 {
			wg.Wait()
		}
	}
	wg.Go(func() { b.Use() })
	wait()
	b.Free() //F
}
`, "may still run"},
	{"a literal that is never called", "", `
func f(n int) {
	b := Make()
	var wg sync.WaitGroup
	wait := func() { wg.Wait() }
	wg.Go(func() { b.Use() })
	if n > 0 {
		wait()
	}
	b.Free() //F
}
`, "may still run"},
	{"a helper of a helper", waiting + `
func (g *G) finish() {
	println(g.n)
	g.wait()
}

func f() {
	b := Make()
	var g G
	g.wg.Go(func() { b.Use() })
	g.finish()
	b.Free() //F
}
`, waiting + `
func (g *G) finish() {
	go g.wait()
	println(g.n)
}

func f() {
	b := Make()
	var g G
	g.wg.Go(func() { b.Use() })
	g.finish()
	b.Free() //F
}
`, "may still run"},
	{"one of two groups", `
type G struct{ a, b sync.WaitGroup }

func (g *G) wait() { g.a.Wait() }

func f() {
	b := Make()
	var g G
	g.a.Go(func() { b.Use() })
	g.wait()
	b.Free() //F
}
`, `
type G struct{ a, b sync.WaitGroup }

func (g *G) wait() { g.a.Wait() }

func f() {
	b := Make()
	var g G
	g.b.Go(func() { b.Use() })
	g.wait()
	b.Free() //F
}
`, "may still run"},
	{"a helper that says Done", "", waiting + `
func (g *G) done() { g.wg.Done() }

func f() {
	b := Make()
	var g G
	g.wg.Go(func() { b.Use() })
	g.done()
	g.wait()
	b.Free() //F
}
`, "may still run"},
	{"a helper that adds less than nothing", "", waiting + `
func (g *G) add(n int) { g.wg.Add(n) }

func f() {
	b := Make()
	var g G
	g.wg.Go(func() { b.Use() })
	g.add(-1)
	g.wait()
	b.Free() //F
}
`, "may still run"},
	{"a helper that makes the group anew", "", waiting + `
func (g *G) reset() { g.wg = sync.WaitGroup{} }

func f() {
	b := Make()
	var g G
	g.wg.Go(func() { b.Use() })
	g.reset()
	g.wait()
	b.Free() //F
}
`, "may still run"},
	{"a whole that is made anew", "", waiting + `
func f() {
	b := Make()
	var g G
	g.wg.Go(func() { b.Use() })
	g = G{}
	g.wait()
	b.Free() //F
}
`, "may still run"},
	{"a whole that a helper makes anew", "", waiting + `
func (g *G) reset() { *g = G{} }

func f() {
	b := Make()
	var g G
	g.wg.Go(func() { b.Use() })
	g.reset()
	g.wait()
	b.Free() //F
}
`, "may still run"},
	{"a helper that keeps the group", "", waiting + `
var groups []*G

func (g *G) keep() { groups = append(groups, g) }

func f() {
	b := Make()
	var g G
	g.keep()
	g.wg.Go(func() { b.Use() })
	g.wait()
	b.Free() //F
}
`, "may still run"},
	{"a helper that hands the group to a goroutine", "", waiting + `
func (g *G) late() { go g.wg.Done() }

func f() {
	b := Make()
	var g G
	g.late()
	g.wg.Go(func() { b.Use() })
	g.wait()
	b.Free() //F
}
`, "may still run"},
	{"a helper that nobody looks into", "", waiting + `
func other(g *G)

func f() {
	b := Make()
	var g G
	other(&g)
	g.wg.Go(func() { b.Use() })
	g.wait()
	b.Free() //F
}
`, "may still run"},
	{"a line that says that a group is borrowed", "", waiting + `
//lastuse:effect arg 0 borrowed
func other(g *G)

func f() {
	b := Make()
	var g G
	g.wg.Go(func() { b.Use() })
	other(&g)
	g.wait()
	b.Free() //F
}
`, "may still run"},
	{"a copy of the group", "", waiting + `
func (g G) copied() { g.wg.Wait() }

func f() {
	b := Make()
	var g G
	g.wg.Go(func() { b.Use() })
	g.copied()
	b.Free() //F
}
`, "may still run"},
	{"a helper that ends a panic", "", waiting + `
func (g *G) careful(n int) {
	defer func() { recover() }()
	println(1 / n)
	g.wg.Wait()
}

func f(n int) {
	b := Make()
	var g G
	g.wg.Go(func() { b.Use() })
	g.careful(n)
	b.Free() //F
}
`, "may still run"},
	{"a helper that returns early", "", waiting + `
func (g *G) soon(n int) {
	for i := range n {
		if i == 3 {
			return
		}
	}
	g.wg.Wait()
}

func f(n int) {
	b := Make()
	var g G
	g.wg.Go(func() { b.Use() })
	g.soon(n)
	b.Free() //F
}
`, "may still run"},
	{"a helper that waits for its own", "", waiting + `
func own(g *G) {
	g = &G{}
	g.wg.Wait()
}

func f() {
	b := Make()
	var g G
	g.wg.Go(func() { b.Use() })
	own(&g)
	b.Free() //F
}
`, "may still run"},
	{"a deferred helper", "", waiting + `
func f() {
	b := Make()
	var g G
	defer g.wait()
	g.wg.Go(func() { b.Use() })
	b.Free() //F
}
`, "may still run"},
	{"a goroutine that waits", "", waiting + `
func f() {
	b := Make()
	var g G
	g.wg.Go(func() { b.Use() })
	go g.wait()
	b.Free() //F
}
`, "may still run"},
	{"a goroutine that is started behind", "", waiting + `
func f() {
	b := Make()
	var g G
	g.wait()
	g.wg.Go(func() { b.Use() })
	b.Free() //F
}
`, "may still run"},
	{"a helper that starts another", "", waiting + `
func (g *G) more(f func()) {
	g.wg.Wait()
	g.wg.Go(f)
}

func f() {
	b := Make()
	var g G
	g.wg.Go(func() { b.Use() })
	g.more(func() { b.Use() })
	b.Free() //F
}
`, "was not made here"},
	{"a helper that calls what starts another", waiting + `
func (g *G) each(f func()) {
	f()
	g.wg.Wait()
}

func f() {
	b := Make()
	var g G
	g.each(func() { g.wg.Go(func() { b.Use() }) })
	g.wait()
	b.Free() //F
}
`, waiting + `
func (g *G) after(f func()) {
	g.wg.Wait()
	f()
}

func f() {
	b := Make()
	var g G
	g.after(func() { g.wg.Go(func() { b.Use() }) })
	b.Free() //F
}
`, "may still run"},
	{"a helper that hands what starts another to a method", "", waiting + `
func (g *G) run(f func()) { f() }

func (g *G) after(f func()) {
	g.wait()
	g.run(f)
}

func f() {
	b := Make()
	var g G
	g.after(func() { g.wg.Go(func() { b.Use() }) })
	b.Free() //F
}
`, "may still run"},
	{"a helper that runs it in a goroutine", "", waiting + `
func (g *G) after(f func()) {
	go f()
	g.wg.Wait()
}

func f() {
	b := Make()
	var g G
	g.after(func() { b.Use() })
	b.Free() //F
}
`, "not made here"},
	{"a method of a value that starts another", "", waiting + `
type starter struct{ f func() }

func (s starter) start() { s.f() }

func (g *G) after(s starter) {
	g.wg.Wait()
	s.start()
}

func f() {
	b := Make()
	var g G
	g.after(starter{func() { g.wg.Go(func() { b.Use() }) }})
	b.Free() //F
}
`, "may still run"},
	{"a group of errors", `
type G struct{ eg errgroup.Group }

func (g *G) wait() error { return g.eg.Wait() }

func f() error {
	b := Make()
	var g G
	g.eg.Go(func() error {
		b.Use()
		return nil
	})
	err := g.wait()
	b.Free() //F
	return err
}
`, `
type G struct{ eg errgroup.Group }

func (g *G) wait(done bool) error {
	if done {
		return nil
	}
	return g.eg.Wait()
}

func f(done bool) error {
	b := Make()
	var g G
	g.eg.Go(func() error {
		b.Use()
		return nil
	})
	err := g.wait(done)
	b.Free() //F
	return err
}
`, "may still run"},
	{"a literal in a field that starts another", "", `
type G struct {
	wg sync.WaitGroup
	f  func()
}

func (g *G) after() {
	g.wg.Wait()
	g.f()
}

func f() {
	b := Make()
	g := &G{}
	g.f = func() { g.wg.Go(func() { b.Use() }) }
	g.after()
	b.Free() //F
}
`, "may still run"},
	{"a method that starts another", "", waiting + `
type more struct {
	g *G
	b *B
}

func (m *more) start() { m.g.wg.Go(func() { m.b.Use() }) }

func (g *G) after(m *more) {
	g.wg.Wait()
	m.start()
}

func f() {
	b := Make()
	var g G
	g.after(&more{&g, b})
	b.Free() //F
}
`, "keep it"},
	{"a literal that waits and then starts another", "", waiting + `
func f() {
	b := Make()
	var g G
	again := func() {
		g.wait()
		g.wg.Go(func() { b.Use() })
	}
	again()
	b.Free() //F
}
`, "may still run"},
	{"a deferred call of a helper that starts another", "", waiting + `
func (g *G) after(f func()) {
	defer f()
	g.wg.Wait()
}

func f() {
	b := Make()
	var g G
	g.after(func() { g.wg.Go(func() { b.Use() }) })
	b.Free() //F
}
`, "may still run"},
	{"a range over a function that waits", "", waiting + `
func (g *G) all(yield func(int) bool) {
	g.wg.Wait()
	yield(1)
}

func f() {
	b := Make()
	var g G
	for range g.all {
		g.wg.Go(func() { b.Use() })
	}
	b.Free() //F
}
`, "may still run"},
	{"a helper that is given the group twice", "", waiting + `
func both(g, h *G) {
	g.wg.Wait()
	h.wg.Done()
}

func f() {
	b := Make()
	var g G
	g.wg.Go(func() { b.Use() })
	both(&g, &g)
	b.Free() //F
}
`, "may still run"},
	{"a helper that is given a variable with the group", waiting + `
func look(p **G) int { return (*p).n }

func f() {
	b := Make()
	g := &G{}
	g.wg.Go(func() { b.Use() })
	look(&g)
	g.wait()
	b.Free() //F
}
`, waiting + `
func less(p **G) { (*p).wg.Done() }

func f() {
	b := Make()
	g := &G{}
	g.wg.Go(func() { b.Use() })
	less(&g)
	g.wait()
	b.Free() //F
}
`, "may still run"},
	{"a goroutine that is given a variable with the group", "", waiting + `
func less(p **G) { (*p).wg.Done() }

func f() {
	b := Make()
	g := &G{}
	g.wg.Go(func() { b.Use() })
	go less(&g)
	g.wait()
	b.Free() //F
}
`, "may still run"},
	{"a function that is no literal, and says Done", "", `
func f() {
	b := Make()
	var wg sync.WaitGroup
	done := wg.Done
	wg.Go(func() { b.Use() })
	done()
	wg.Wait()
	b.Free() //F
}
`, "may still run"},
	{"a method of an interface", "", waiting + `
type waiter interface{ wait() }

type idle struct{}

func (idle) wait() {}

func f(n int) {
	b := Make()
	var g G
	var w waiter = &g
	if n > 0 {
		w = idle{}
	}
	g.wg.Go(func() { b.Use() })
	w.wait()
	b.Free() //F
}
`, "may still run"},
	{"groups in a slice", "", waiting + `
func f() {
	b := Make()
	gs := make([]G, 2)
	gs[0].wg.Go(func() { b.Use() })
	gs[1].wait()
	b.Free() //F
}
`, "may still run"},
	{"groups in an array", "", waiting + `
func f() {
	b := Make()
	var gs [2]G
	gs[0].wg.Go(func() { b.Use() })
	gs[1].wait()
	b.Free() //F
}
`, "may still run"},
	{"a group that changes places", "", waiting + `
func f(n int) {
	b := Make()
	g, h := &G{}, &G{}
	for range n {
		g.wg.Go(func() { b.Use() })
		g, h = h, g
	}
	g.wait()
	b.Free() //F
}
`, "may still run"},
}
