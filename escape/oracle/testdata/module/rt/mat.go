package rt

import "oracle.test/backend"

func current() *backend.Backend { return backend.Current() }

// Mat is a resource of another kind: a pointer, which must not be freed twice,
// and whose methods do not tolerate nil.
type Mat struct {
	c     *C
	n     int
	data  []int64
	live  bool
	frees int
}

// NewMat makes a Mat.
//
//lastuse:effect result 0 owned on success
func NewMat(c *C, n int) (*Mat, error) {
	if c.op() {
		return nil, ErrFailed
	}
	m := &Mat{c: c, n: n, data: make([]int64, n), live: true}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mats = append(c.mats, m)
	return m, nil
}

// MaybeMat makes a Mat, or nothing, which is no error.
func MaybeMat(c *C, n int) (*Mat, error) {
	if !c.B() {
		return nil, nil
	}
	return NewMat(c, n)
}

// FindMat makes a Mat and says whether it could.
func FindMat(c *C, n int) (*Mat, bool) {
	m, err := NewMat(c, n)
	if err != nil {
		return nil, false
	}
	return m, true
}

// MustMat panics on an error.
func MustMat(c *C, n int) *Mat {
	m, err := NewMat(c, n)
	if err != nil {
		panic(err)
	}
	return m
}

// FreshMat makes a Mat with contents, for use without a name.
func FreshMat(c *C, n int) *Mat {
	m := MustMat(c, n)
	m.Reset(int64(n))
	return m
}

func (m *Mat) use(what string) {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	if !m.live {
		m.c.UAF = append(m.c.UAF, "Mat."+what)
	}
}

// Close frees m.
//
//lastuse:effect recv freed
func (m *Mat) Close() {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	if !m.live {
		m.c.Twice++
	}
	m.live = false
	m.frees++
	for i := range m.data { // who reads it still sees that
		m.data[i] = -1
	}
}

// Set fills m.
//
//lastuse:effect recv borrowed
func (m *Mat) Set(c *C, x int64) error {
	m.use("Set")
	if c.op() {
		return ErrFailed
	}
	for i := range m.data {
		m.data[i] = x
	}
	return nil
}

// Reset is Set without an operation.
//
//lastuse:effect recv borrowed
func (m *Mat) Reset(x int64) {
	m.use("Reset")
	for i := range m.data {
		m.data[i] = x
	}
}

// Len returns the number of elements.
//
//lastuse:effect recv borrowed
func (m *Mat) Len() int { m.use("Len"); return m.n }

// Sum returns the sum, -1 if it cannot be read.
//
//lastuse:effect recv borrowed
func (m *Mat) Sum(c *C) int64 {
	m.use("Sum")
	if c.op() {
		return -1
	}
	return total(m.data)
}

// Peek is Sum without an operation.
//
//lastuse:effect recv borrowed
func (m *Mat) Peek() int64 { m.use("Peek"); return total(m.data) }

// Report shows the sum without an operation.
//
//lastuse:effect recv borrowed
func (m *Mat) Report(c *C) { c.Out(m.Peek()) }

// TwiceMat reads what get returns, twice, without an operation.
func TwiceMat(c *C, get func() *Mat) {
	get().Report(c)
	get().Report(c)
}

// FreeGotMat frees what get returns.
func FreeGotMat(get func() *Mat) { get().Close() }

// KeepGotMat keeps what get returns.
func KeepGotMat(c *C, get func() *Mat) { Keep(c, get()) }

// MoveFrom copies as much as fits.
//
//lastuse:effect recv borrowed, arg src borrowed
func (m *Mat) MoveFrom(c *C, src *Mat) error {
	m.use("MoveFrom")
	src.use("MoveFrom")
	if c.op() {
		return ErrFailed
	}
	copy(m.data, src.data)
	return nil
}
