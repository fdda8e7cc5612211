package proof_test

import "testing"

// TestWrongCalls is wrong edits in which a goroutine that still runs, or a callee, has what is freed, or in
// which a callee gave it.
func TestWrongCalls(t *testing.T) {
	tests := []wrong{
		{"withheld for another reason, same 07", "the new text differs from the old one in more than frees", `
type holder struct{ b *B }

func f(h *holder) {
	b := Make()
	b.Use()
	if h.b != nil { //F
		b.Free() //F
	} //F
}
`},
		{"withheld for another reason, joins 08", "the new text differs from the old one in more than frees", `
func f() {
	m := map[int]*V{}
	b := Make()
	b.Use()
	go func() {
		for range 100 {
			m[1] = nil
		}
	}()
	if m[0] != nil { //F
		b.Free() //F
	} //F
}
`},
		{"what leads to it was freed", "the new text differs from the old one in more than frees", `
type P struct{ q *int }

//lastuse:effect result 0 owned
func MakeP() *P

//lastuse:effect recv freed
func (p *P) Free()

func f() {
	p := MakeP()
	p.Free()
	runtime.KeepAlive(p.q) //F
}
`},
		{"withheld for another reason, joins 09", "in more than frees", `
func f() {
	m := map[int]*V{}
	b := Make()
	b.Use()
	go func() { m[1] = nil }()
	runtime.KeepAlive(m[0]) //F
	b.Free() //F
}
`},
		{"a goroutine that may have been started", "may still run", `
func f() {
	b := Make()
	var g errgroup.Group
	g.TryGo(func() error { b.Use(); return nil })
	b.Free() //F
}
`},
		{"Done in a goroutine that was not counted", "may still run", `
func f() {
	b := Make()
	var wg sync.WaitGroup
	wg.Add(1)
	go func() { defer wg.Done(); b.Use() }()
	go func() { defer wg.Done() }()
	wg.Wait()
	b.Free() //F
}
`},
		{"Done twice in one goroutine", "may still run", `
func f() {
	b := Make()
	var wg sync.WaitGroup
	wg.Add(1)
	go func() { defer wg.Done(); defer wg.Done() }()
	wg.Add(1)
	go func() { defer wg.Done(); b.Use() }()
	wg.Wait()
	b.Free() //F
}
`},
		{"Done in a literal that is called as well", "may still run", `
func f() {
	b := Make()
	var wg sync.WaitGroup
	done := func() { defer wg.Done() }
	wg.Add(1)
	go done()
	wg.Add(1)
	go func() { defer wg.Done(); b.Use() }()
	done()
	wg.Wait()
	b.Free() //F
}
`},
		{"Done in a literal that Go starts as well", "may still run", `
func f() {
	b := Make()
	var wg sync.WaitGroup
	done := func() { defer wg.Done() }
	wg.Add(1)
	go done()
	wg.Go(done)
	wg.Add(1)
	go func() { defer wg.Done(); b.Use() }()
	wg.Wait()
	b.Free() //F
}
`},
		{"a group that is waited for before a goroutine goes on in it", "may still run", `
func f() {
	b := Make()
	var g, h sync.WaitGroup
	h.Go(func() { g.Go(func() { b.Use() }) })
	g.Wait()
	h.Wait()
	b.Free() //F
}
`},
		{"the same with Add", "may still run", `
func f() {
	b := Make()
	var g, h sync.WaitGroup
	h.Go(func() {
		g.Add(1)
		go func() { defer g.Done(); b.Use() }()
	})
	g.Wait()
	h.Wait()
	b.Free() //F
}
`},
		{"a function that a callee returned starts a goroutine", "handed to somebody", `
func f() {
	b := Make()
	start := starter(b)
	start()
	b.Free() //F
}

func starter(b *B) func() { return func() { go func() { b.Use() }() } }
`},
		{"the same in a field", "handed to somebody", `
func f() {
	b := Make()
	j := newJob(b)
	j.start()
	b.Free() //F
}

type job struct{ start func() }

func newJob(b *B) job { return job{func() { go func() { b.Use() }() }} }
`},
		{"a callee calls a function whose type is a parameter", "handed to somebody", `
func f[F func(*B)](g F) {
	b := Make()
	apply(b, g)
	b.Free() //F
}

func apply[F func(*B)](b *B, g F) { g(b) }
`},
		{"a callee calls a literal several times at once", "its name is read", `
func f() {
	var mu sync.Mutex
	var x H
	twice(func() {
		mu.Lock()
		x = MakeH()
		mu.Unlock()
		mu.Lock()
		y := x
		mu.Unlock()
		y.Use()
		y.Free() //F
	})
}

func twice(f func()) {
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { f() })
	}
	wg.Wait()
}
`},
		{"a variable that another run of the literal sets", "handed to somebody", `
func f() {
	b := Make()
	v := b.View()
	var x *V
	var mu sync.Mutex
	lendTwice(func() {
		mu.Lock()
		x = nil
		mu.Unlock()
		mu.Lock()
		kept, x = x, v
		mu.Unlock()
	})
	b.Free() //F
	kept.Use()
}

var kept *V

func lendTwice(f func())
`},
		{"a flag that another run of the literal sets", "handed to somebody", `
func f() {
	b := Make()
	v := b.View()
	done := false
	var mu sync.Mutex
	lendTwice(func() {
		mu.Lock()
		done = true
		mu.Unlock()
		mu.Lock()
		if !done {
			kept = v
		}
		done = false
		mu.Unlock()
	})
	b.Free() //F
	kept.Use()
}

var kept *V

func lendTwice(f func())
`},
		{"a result that is the operand or another's", "may be something that was not made here", `
func f() {
	b := Make()
	c := choose(b)
	c.Use()
	c.Free() //F
}

func choose(b *B) *B {
	if next() > 0 {
		return global
	}
	return b
}
`},
		{"a result that is the operand or nil", "may be", `
func f() {
	b := Make()
	c := choose(b)
	_ = c
	c.Free() //F
}

func choose(b *B) *B {
	if next() > 0 {
		return nil
	}
	return b
}
`},
		{"a result that is the operand or one that was kept", "may be something that was not made here", `
func f() {
	b := Make()
	c := choose(b)
	c.Use()
	c.Free() //F
}

func choose(b *B) *B {
	if next() > 0 {
		global = Make()
		return global
	}
	return b
}
`},
		{"a struct that has the operand or another's", "may be something that was not made here", `
func f() {
	s := wrap(Make())
	s.b.Use()
	s.b.Free() //F
}

type wrapper struct{ b *B }

func wrap(b *B) wrapper {
	if next() > 0 {
		return wrapper{global}
	}
	return wrapper{b}
}
`},
		{"a callee that recovers has what a literal panicked with", "handed to somebody", `
func f() {
	b := Make()
	try(func() { panic(b) })
	b.Free() //F
}

func try(f func()) {
	defer func() { global, _ = recover().(*B) }()
	f()
}
`},
		{"a callee that calls a literal again when it panicked", "its name is read", `
func f() {
	b := Make()
	done := false
	try(func() {
		if done {
			return
		}
		b.Use()
		b.Free() //F
		next()
		done = true
	})
}

func try(f func()) {
	for range 3 {
		func() {
			defer forget()
			f()
		}()
	}
}

func forget() { recover() }
`},
		{"a panic that is deferred with who has it later", "was not made here", `
type box struct{ b *B }

func f() {
	x := &box{}
	defer panic(x)
	x.b = Make()
	x.b.Use()
	x.b.Free() //F
}
`},
		{"a callee that frees on a condition, and else keeps", "handed to somebody", `
//lastuse:effect arg 0 freed if arg 1 is true
func put(b *B, c bool) {
	if c {
		b.Free()
	} else {
		global = b
	}
}

func f() {
	b := Make()
	put(b, false)
	b.Free() //F
}
`},
		{"a result that is the operand on a condition", "not made here", `
//lastuse:effect result 0 is arg 0 if arg 1 is true
func pick(b *B, c bool) *B {
	if c {
		return b
	}
	return global
}

func f() {
	b := Make()
	x := pick(b, false)
	_ = x
	x.Free() //F
}
`},
		{"a function whose method is called on an interface", "handed to somebody", `
type F func(*B)

func (f F) do(b *B) { f(b) }

type doer interface{ do(*B) }

func stash(b *B) { global = b }

func f() {
	b := Make()
	var d doer = F(stash)
	d.do(b)
	b.Free() //F
}
`},
		{"the same, of which nobody knows which it is", "handed to somebody", `
type F func(*B)

func (f F) do(b *B) { f(b) }

type doer interface{ do(*B) }

func f(d doer) {
	b := Make()
	d.do(b)
	b.Free() //F
}
`},
		{"the same, which a library calls", "handed to somebody", `
type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

//lastuse:effect result 0 views recv
func (b *B) Bytes() []byte

var kept []byte

func stash(p []byte) (int, error) {
	kept = p
	return 0, nil
}

func f() {
	b := Make()
	lendTo(writer(stash), b.Bytes())
	b.Free() //F
}

func lendTo(w io.Writer, p []byte)
`},
		{"a glob that says nothing of the result", "it is read or written", `
func lendPart(b *B) []byte

func f() int {
	b := Make()
	p := lendPart(b)
	b.Free() //F
	return int(p[0])
}
`},
		{"a glob over a body that hands its operand to C and back", "its name is read", `
type part struct{ at *byte }

func c(b *B) *byte

func lendBody(b *B) part { return part{c(b)} }

func f() byte {
	b := Make()
	p := lendBody(b)
	b.Free() //F
	return *p.at
}
`},
		{"a glob over a body that returns a part", "it is read or written", `
func lendSeen(b *B) *int { return &b.n }

func f() int {
	b := Make()
	p := lendSeen(b)
	b.Free() //F
	return *p
}
`},
		{"a result that another result views", "was not made here", `
//lastuse:effect args borrowed, result 0 owned, result 1 views result 0
func both(n int) (*B, []byte)

func f() byte {
	b, p := both(1)
	b.Use()
	b.Free() //F
	return p[0]
}
`},
		{"a sum that an atomic call makes of an address", "it is used by at", `
//lastuse:effect result 0 views arg 0
func address(b *B) uintptr

//lastuse:effect args borrowed
func at(p uintptr) int

func f() int {
	b := Make()
	x := int64(address(b))
	y := atomic.AddInt64(&x, 8)
	b.Use()
	b.Free() //F
	return at(uintptr(y))
}
`},
		{"an address that an atomic call swaps out", "it is used by at", `
//lastuse:effect result 0 views arg 0
func address(b *B) uintptr

//lastuse:effect args borrowed
func at(p uintptr) int

func f() int {
	b := Make()
	x := int64(address(b))
	y := atomic.SwapInt64(&x, 0)
	b.Use()
	b.Free() //F
	return at(uintptr(y))
}
`},
		{"a method of a library's interface frees", "handed to somebody", `
type bw struct{ b *B }

func (x bw) WriteByte(c byte) error { x.b.Free(); return nil }

func put(w io.ByteWriter) { w.WriteByte(1) }

func f() {
	b := Make()
	put(bw{b})
	b.Free() //F
}
`},
		{"the same, asked for by who gets it as another interface", "handed to somebody", `
type lk struct{ b *B }

func (x lk) Write(p []byte) (int, error) { return 0, nil }
func (x lk) Seek(int64, int) (int64, error) { global = x.b; return 0, nil }

func put(w io.Writer) { w.(io.Seeker).Seek(0, 0) }

func f() {
	b := Make()
	put(lk{b})
	b.Free() //F
}
`},
	}
	newLab().withholds(t, tests)
}
