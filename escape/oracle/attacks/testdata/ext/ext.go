// Package ext is a made-up foreign library whose handles are checked: using what was freed, and freeing twice, panic.
package ext

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"
)

// A store is one piece of foreign memory.
type store struct {
	data []float64
	text []byte
	id   int
	refs int
	gone bool
}

var (
	mu     sync.Mutex
	live   int
	made   int
	stores = map[H]*store{}
)

func take(n int, x float64) *store {
	mu.Lock()
	defer mu.Unlock()
	live++
	made++
	s := &store{data: make([]float64, n), text: make([]byte, n), id: made, refs: 1}
	for i := range s.data {
		s.data[i], s.text[i] = x, byte('a'+int(x)%26)
	}
	return s
}

func (s *store) check() {
	mu.Lock()
	defer mu.Unlock()
	if s.gone {
		panic(fmt.Sprint("ext: use after free of ", s.id))
	}
}

func (s *store) end() {
	mu.Lock()
	defer mu.Unlock()
	if s.gone {
		panic(fmt.Sprint("ext: double free of ", s.id))
	}
	s.gone = true
	live--
	for i := range s.data {
		s.data[i], s.text[i] = -1e9, '!'
	}
}

func (s *store) sum() float64 {
	s.check()
	t := 0.0
	for _, x := range s.data {
		t += x
	}
	return t
}

func (s *store) fill(x float64) {
	s.check()
	for i := range s.data {
		s.data[i] = x
	}
}

// Live counts what was not freed.
func Live() int { mu.Lock(); defer mu.Unlock(); return live }

// A View sees a part of a store.
type View struct {
	s    *store
	i, j int
}

func (v View) Sum() float64 {
	v.s.check()
	t := 0.0
	for _, x := range v.s.data[v.i:v.j] {
		t += x
	}
	return t
}

func (v View) Len() int           { return v.j - v.i }
func (v View) View(i, j int) View { v.s.check(); return View{v.s, v.i + i, v.i + j} }

// A Buf is a pointer handle that must be freed once.
type Buf struct{ s *store }

func New(n int, x float64) *Buf { return &Buf{take(n, x)} }

// Try fails for negative n.
func Try(n int) (*Buf, error) {
	if n < 0 {
		return nil, errors.New("ext: negative size")
	}
	return New(n, 1), nil
}

func (b *Buf) Free()               { b.s.end() }
func (b *Buf) Sum() float64        { return b.s.sum() }
func (b *Buf) Fill(x float64)      { b.s.fill(x) }
func (b *Buf) Len() int            { b.s.check(); return len(b.s.data) }
func (b *Buf) Get(i int) float64   { b.s.check(); return b.s.data[i] }
func (b *Buf) View(i, j int) View  { b.s.check(); return View{b.s, i, j} }
func (b *Buf) Slice() []float64    { b.s.check(); return b.s.data }
func (b *Buf) Ptr() unsafe.Pointer { b.s.check(); return unsafe.Pointer(&b.s.data[0]) }
func (b *Buf) Addr() uintptr       { b.s.check(); return uintptr(unsafe.Pointer(&b.s.data[0])) }
func (b *Buf) Text() string        { b.s.check(); return unsafe.String(&b.s.text[0], len(b.s.text)) }
func (b *Buf) Self() *Buf          { b.s.check(); return b }
func (b *Buf) Plus(c *Buf) *Buf    { return New(b.Len(), b.Get(0)+c.Get(0)) }
func (b *Buf) Each(f func(float64)) {
	for _, x := range b.Slice() {
		f(x)
	}
}

// At reads foreign memory at an address.
func At(p uintptr) float64 { return *(*float64)(*(*unsafe.Pointer)(unsafe.Pointer(&p))) }

// A Mat is a value that holds a pointer; its methods take its address.
type Mat struct{ s *store }

func NewMat(n int, x float64) Mat { return Mat{take(n, x)} }
func (m *Mat) Free()              { m.s.end() }
func (m *Mat) Sum() float64       { return m.s.sum() }
func (m *Mat) Fill(x float64)     { m.s.fill(x) }
func (m *Mat) Len() int           { m.s.check(); return len(m.s.data) }
func (m *Mat) View(i, j int) View { m.s.check(); return View{m.s, i, j} }

// An H is a number.
type H uint32

func NewH(n int, x float64) H {
	s := take(n, x)
	mu.Lock()
	defer mu.Unlock()
	h := H(len(stores) + 1)
	stores[h] = s
	return h
}

func (h H) store() *store {
	mu.Lock()
	defer mu.Unlock()
	return stores[h]
}

func (h H) Free()              { h.store().end() }
func (h H) Sum() float64       { return h.store().sum() }
func (h H) Fill(x float64)     { h.store().fill(x) }
func (h H) Len() int           { s := h.store(); s.check(); return len(s.data) }
func (h H) View(i, j int) View { s := h.store(); s.check(); return View{s, i, j} }

// Of a Key, an ID, a Tex, a Chan and a Func the handle is a text, an array, a struct of a number, a channel and
// a function.
type (
	Key  string
	ID   [4]byte
	Tex  struct{ N uint32 }
	Chan chan *store
	Func func() *store
)

func NewKey(n int, x float64) Key { return Key(fmt.Sprint(uint32(NewH(n, x)))) }

func (k Key) h() (h H)           { fmt.Sscan(string(k), &h); return h }
func (k Key) Free()              { k.h().Free() }
func (k Key) Sum() float64       { return k.h().Sum() }
func (k Key) Fill(x float64)     { k.h().Fill(x) }
func (k Key) Len() int           { return k.h().Len() }
func (k Key) View(i, j int) View { return k.h().View(i, j) }

func NewID(n int, x float64) ID {
	h := NewH(n, x)
	return ID{byte(h), byte(h >> 8), byte(h >> 16), byte(h >> 24)}
}

func (d ID) h() H               { return H(d[0]) | H(d[1])<<8 | H(d[2])<<16 | H(d[3])<<24 }
func (d ID) Free()              { d.h().Free() }
func (d ID) Sum() float64       { return d.h().Sum() }
func (d ID) Fill(x float64)     { d.h().Fill(x) }
func (d ID) Len() int           { return d.h().Len() }
func (d ID) View(i, j int) View { return d.h().View(i, j) }

func NewTex(n int, x float64) Tex { return Tex{uint32(NewH(n, x))} }

func (t Tex) Free()              { H(t.N).Free() }
func (t Tex) Sum() float64       { return H(t.N).Sum() }
func (t Tex) Fill(x float64)     { H(t.N).Fill(x) }
func (t Tex) Len() int           { return H(t.N).Len() }
func (t Tex) View(i, j int) View { return H(t.N).View(i, j) }

func NewChan(n int, x float64) Chan { c := make(Chan, 1); c <- take(n, x); return c }

func (c Chan) store() *store      { s := <-c; c <- s; return s }
func (c Chan) Free()              { c.store().end() }
func (c Chan) Sum() float64       { return c.store().sum() }
func (c Chan) Fill(x float64)     { c.store().fill(x) }
func (c Chan) Len() int           { s := c.store(); s.check(); return len(s.data) }
func (c Chan) View(i, j int) View { s := c.store(); s.check(); return View{s, i, j} }

func NewFunc(n int, x float64) Func { s := take(n, x); return func() *store { return s } }

func (f Func) Free()              { f().end() }
func (f Func) Sum() float64       { return f().sum() }
func (f Func) Fill(x float64)     { f().fill(x) }
func (f Func) Len() int           { s := f(); s.check(); return len(s.data) }
func (f Func) View(i, j int) View { s := f(); s.check(); return View{s, i, j} }

// A Ref is counted: each Retain owes one more Free.
type Ref struct{ s *store }

func NewRef(n int, x float64) *Ref { return &Ref{take(n, x)} }

func (r *Ref) Retain() {
	r.s.check()
	mu.Lock()
	defer mu.Unlock()
	r.s.refs++
}

func (r *Ref) Free() {
	mu.Lock()
	r.s.refs--
	last := r.s.refs <= 0
	mu.Unlock()
	if last {
		r.s.end()
	}
}

func (r *Ref) Sum() float64       { return r.s.sum() }
func (r *Ref) Fill(x float64)     { r.s.fill(x) }
func (r *Ref) Len() int           { r.s.check(); return len(r.s.data) }
func (r *Ref) View(i, j int) View { r.s.check(); return View{r.s, i, j} }

// A Conn has children which must be freed before it.
type Conn struct{ s *store }

func Dial(name string) (*Conn, error) {
	if name == "" {
		return nil, errors.New("ext: no name")
	}
	return &Conn{take(len(name), 1)}, nil
}

func (c *Conn) Close() error           { c.s.end(); return nil }
func (c *Conn) Ask(x float64) float64  { return c.s.sum() * x }
func (c *Conn) Prepare(x float64) *Row { c.s.check(); return &Row{take(1, x), c} }

// A Row is a child of a Conn.
type Row struct {
	s *store
	c *Conn
}

func (r *Row) Read() float64 { r.c.s.check(); return r.s.sum() }
func (r *Row) Close()        { r.c.s.check(); r.s.end() }

// An Arena owns what is made in it.
type Arena struct {
	s    *store
	kids []*store
}

// A Node is in an arena.
type Node struct{ s *store }

func NewArena() *Arena { return &Arena{s: take(1, 0)} }

func (a *Arena) Node(x float64) *Node {
	a.s.check()
	s := &store{data: []float64{x}, text: []byte{0}}
	a.kids = append(a.kids, s)
	return &Node{s}
}

func (a *Arena) Free() {
	a.s.end()
	for _, k := range a.kids {
		k.gone = true
	}
}

func (n *Node) Sum() float64 { return n.s.sum() }

// A Box is a pointer to a value of a type that its maker chooses.
type Box[T float32 | float64] struct {
	s    *store
	last T
}

func NewBox[T float32 | float64](n int, x T) *Box[T] { return &Box[T]{take(n, float64(x)), x} }

func (b *Box[T]) Free()              { b.s.end() }
func (b *Box[T]) Sum() float64       { return b.s.sum() }
func (b *Box[T]) Fill(x float64)     { b.s.fill(x); b.last = T(x) }
func (b *Box[T]) Len() int           { b.s.check(); return len(b.s.data) }
func (b *Box[T]) View(i, j int) View { b.s.check(); return View{b.s, i, j} }

// An Any is one of the handles, behind an interface.
type Any interface {
	Free()
	Sum() float64
	Fill(x float64)
	Len() int
	View(i, j int) View
}

func NewAny(n int, x float64) Any { return New(n, x) }

// TryAny fails for negative n.
func TryAny(n int) (Any, error) {
	if n < 0 {
		return nil, errors.New("ext: negative size")
	}
	return New(n, 1), nil
}
