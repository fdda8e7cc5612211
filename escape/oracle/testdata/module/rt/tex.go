package rt

// Tex is a Mat that a function frees, not a method.
type Tex struct{ m Mat }

// NewTex makes a Tex.
//
//lastuse:effect result 0 owned on success
func NewTex(c *C, n int) (*Tex, error) {
	if c.op() {
		return nil, ErrFailed
	}
	t := &Tex{Mat{c: c, n: n, data: make([]int64, n), live: true}}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mats = append(c.mats, &t.m)
	return t, nil
}

// MaybeTex makes a Tex, or nothing, which is no error.
func MaybeTex(c *C, n int) (*Tex, error) {
	if !c.B() {
		return nil, nil
	}
	return NewTex(c, n)
}

// FindTex makes a Tex and says whether it could.
func FindTex(c *C, n int) (*Tex, bool) {
	m, err := NewTex(c, n)
	if err != nil {
		return nil, false
	}
	return m, true
}

// MustTex panics on an error.
func MustTex(c *C, n int) *Tex {
	t, err := NewTex(c, n)
	if err != nil {
		panic(err)
	}
	return t
}

// FreshTex makes a Tex with contents, for use without a name.
func FreshTex(c *C, n int) *Tex {
	t := MustTex(c, n)
	t.Reset(int64(n))
	return t
}

// FreeTex frees t.
//
//lastuse:effect arg t freed
func FreeTex(t *Tex) { t.m.Close() }

// FreerTex returns a function that frees t.
func FreerTex(t *Tex) func() { return func() { FreeTex(t) } }

// Set fills t.
//
//lastuse:effect recv borrowed
func (t *Tex) Set(c *C, x int64) error { return t.m.Set(c, x) }

// Reset is Set without an operation.
//
//lastuse:effect recv borrowed
func (t *Tex) Reset(x int64) { t.m.Reset(x) }

// Len returns the number of elements.
//
//lastuse:effect recv borrowed
func (t *Tex) Len() int { return t.m.Len() }

// Sum returns the sum, -1 if it cannot be read.
//
//lastuse:effect recv borrowed
func (t *Tex) Sum(c *C) int64 { return t.m.Sum(c) }

// Peek is Sum without an operation.
//
//lastuse:effect recv borrowed
func (t *Tex) Peek() int64 { return t.m.Peek() }

// Report shows the sum without an operation.
//
//lastuse:effect recv borrowed
func (t *Tex) Report(c *C) { t.m.Report(c) }

// MoveFrom copies as much as fits.
//
//lastuse:effect recv borrowed, arg src borrowed
func (t *Tex) MoveFrom(c *C, src *Tex) error { return t.m.MoveFrom(c, &src.m) }

// DropTex is Drop for a Tex.
func DropTex(t *Tex, free bool) {
	t.Len()
	if free {
		FreeTex(t)
	}
}

// TwiceTex reads what get returns, twice, without an operation.
func TwiceTex(c *C, get func() *Tex) {
	get().Report(c)
	get().Report(c)
}

// FreeGotTex frees what get returns.
func FreeGotTex(get func() *Tex) { FreeTex(get()) }

// KeepGotTex keeps what get returns.
func KeepGotTex(c *C, get func() *Tex) { Keep(c, get()) }
