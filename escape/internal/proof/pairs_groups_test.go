package proof_test

// groupPairs show of which group, and when, a goroutine is waited for.
var groupPairs = []pair{
	{"a literal waits for the group of this round", `
func f() {
	b := Make()
	for range 2 {
		var wg sync.WaitGroup
		wait := func() { b.Use(); wg.Wait() }
		wg.Go(func() { b.Use() })
		wg.Wait()
		wait()
	}
	b.Free() //F
}
`, `
func f() {
	b := Make()
	var wait func()
	for i := range 2 {
		var wg sync.WaitGroup
		if i == 0 {
			wait = func() { b.Use(); wg.Wait() }
		}
		wg.Go(func() { b.Use() })
		wait()
	}
	b.Free() //F
}
`, "may still run"},
	{"a literal starts goroutines in the group of this round", `
func f() {
	b := Make()
	for range 2 {
		var wg sync.WaitGroup
		start := func() { wg.Go(func() { b.Use() }) }
		start()
		wg.Wait()
	}
	b.Free() //F
}
`, `
func f() {
	b := Make()
	var start func()
	for i := range 2 {
		var wg sync.WaitGroup
		if i == 0 {
			start = func() { wg.Go(func() { b.Use() }) }
		}
		start()
		wg.Wait()
	}
	b.Free() //F
}
`, "may still run"},
	{"a literal counts goroutines in the group of this round", `
func f() {
	b := Make()
	for range 2 {
		var wg sync.WaitGroup
		wg.Add(1)
		go func() { defer wg.Done(); b.Use() }()
		wg.Wait()
	}
	b.Free() //F
}
`, `
func f() {
	b := Make()
	var start func()
	for i := range 2 {
		var wg sync.WaitGroup
		if i == 0 {
			start = func() { wg.Add(1); go func() { defer wg.Done(); b.Use() }() }
		}
		start()
		wg.Wait()
	}
	b.Free() //F
}
`, "may still run"},
	{"a goroutine that a callee starts at its exit", `
func f() {
	b := Make()
	start(b)
	b.Free() //F
}

func start(b *B) {
	var wg sync.WaitGroup
	wg.Go(func() { b.Use() })
	wg.Wait()
}
`, `
func f() {
	b := Make()
	start(b)
	b.Free() //F
}

func start(b *B) {
	var wg sync.WaitGroup
	defer wg.Go(func() { b.Use() })
	wg.Wait()
}
`, "handed to somebody"},
	{"a go statement in a loop is waited for before the next round's variable is made", `
func f() {
	for range 2 {
		b := Make()
		var wg sync.WaitGroup
		wg.Add(1)
		go func() {
			defer wg.Done()
			b.Use()
		}()
		wg.Wait()
		b.Free() //F
	}
}
`, `
func f() {
	var last *B
	for range 2 {
		b := Make()
		var wg sync.WaitGroup
		wg.Add(1)
		go func() {
			defer wg.Done()
			b.Use()
		}()
		if last != nil {
			last.Free() //F
		}
		last = b
	}
}
`, "may still run"},
	{"a go statement's goroutine has what its own round made", `
func f() {
	for range 2 {
		b := Make()
		var wg sync.WaitGroup
		wg.Add(1)
		go func(b *B) {
			defer wg.Done()
			b.Use()
		}(b)
		wg.Wait()
		b.Free() //F
	}
}
`, `
func f() {
	var wg sync.WaitGroup
	var had *B
	for range 2 {
		b := Make()
		wg.Add(1)
		go func() {
			defer wg.Done()
			had = b
		}()
		b.Free() //F
	}
	wg.Wait()
	had.Use()
}
`, "goroutine"},
	{"a goroutine is added where the function is left", `
func f() {
	b := Make()
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		b.Use()
	}()
	wg.Wait()
	b.Free() //F
}
`, `
func f() {
	b := Make()
	var wg sync.WaitGroup
	defer wg.Add(1)
	go func() {
		defer wg.Done()
		b.Use()
	}()
	wg.Wait()
	b.Free() //F
}
`, "goroutine"},
	{"who panics has no register of its own any more, so a goroutine that runs there stays apart", `
func f() {
	b := Make()
	if next() > 1 {
		var wg sync.WaitGroup
		wg.Add(1)
		go func() { defer wg.Done(); b.Use() }()
		next()
		wg.Wait()
	}
	if next() > 1 {
		v, w := b.View(), b.View()
		next()
		v.Use()
		w.Use()
	}
	if next() > 1 {
		v, w := b.View(), b.View()
		next()
		v.Use()
		w.Use()
	}
	if next() > 1 {
		v, w := b.View(), b.View()
		next()
		v.Use()
		w.Use()
	}
	defer b.Free() //F
	defer b.Use()
	next()
}
`, `
func f() {
	b := Make()
	if next() > 1 {
		var wg sync.WaitGroup
		wg.Add(1)
		go func() { defer wg.Done(); b.Use() }()
		next()
		if next() > 1 {
			wg.Wait()
		}
	}
	if next() > 1 {
		v, w := b.View(), b.View()
		next()
		v.Use()
		w.Use()
	}
	if next() > 1 {
		v, w := b.View(), b.View()
		next()
		v.Use()
		w.Use()
	}
	if next() > 1 {
		v, w := b.View(), b.View()
		next()
		v.Use()
		w.Use()
	}
	defer b.Free() //F
	defer b.Use()
	next()
}
`, "may still run"},
	{"a group has what its goroutines return", returnsInGroup("nil"), returnsInGroup("e"), "handed"},
}

// returnsInGroup is a function that puts what it frees into memory which a goroutine of a group may have
// returned.
func returnsInGroup(what string) string {
	return `
type failed struct{ b *B }

func (e *failed) Error() string {
	e.b.Use()
	return ""
}

func f() {
	var g errgroup.Group
	e, b := &failed{}, Make()
	g.Go(func() error { return ` + what + ` })
	err := g.Wait()
	e.b = b
	e.b.Use()
	b.Free() //F
	if err != nil {
		println(err.Error())
	}
}
`
}
