// Package own has handles that no spec line speaks of: what is known of them was found in these bodies.
package own

import "ext.test"

// A Pair is a value with two buffers.
type Pair struct{ a, b *ext.Buf }

func NewPair(n int, x float64) Pair { return Pair{ext.New(n, x), ext.New(1, 0)} }

func (p Pair) Free()                  { p.a.Free(); p.b.Free() }
func (p Pair) Sum() float64           { return p.a.Sum() + p.b.Sum() }
func (p Pair) Fill(x float64)         { p.a.Fill(x) }
func (p Pair) Len() int               { return p.a.Len() }
func (p Pair) View(i, j int) ext.View { return p.a.View(i, j) }

// A Wrap is a pointer to a buffer, whose second Free does nothing.
type Wrap struct {
	b    *ext.Buf
	name string
}

func NewWrap(n int, x float64) *Wrap { return &Wrap{b: ext.New(n, x), name: "w"} }

// TryWrap fails for negative n.
func TryWrap(n int) (*Wrap, error) {
	b, err := ext.Try(n)
	if err != nil {
		return nil, err
	}
	return &Wrap{b: b}, nil
}

func (w *Wrap) Free() {
	if w == nil || w.b == nil {
		return
	}
	w.b.Free()
	w.b = nil
}
func (w *Wrap) Sum() float64           { return w.b.Sum() }
func (w *Wrap) Fill(x float64)         { w.b.Fill(x) }
func (w *Wrap) Len() int               { return w.b.Len() }
func (w *Wrap) View(i, j int) ext.View { return w.b.View(i, j) }

// A List is a slice of buffers.
type List []*ext.Buf

func NewList(n int, x float64) List {
	var l List
	for range 2 {
		l = append(l, ext.New(n, x/2))
	}
	return l
}

func (l List) Free() {
	for _, b := range l {
		b.Free()
	}
}

func (l List) Sum() float64 {
	t := 0.0
	for _, b := range l {
		t += b.Sum()
	}
	return t
}

func (l List) Fill(x float64) {
	for _, b := range l {
		b.Fill(x / 2)
	}
}

func (l List) Len() int               { return l[0].Len() }
func (l List) View(i, j int) ext.View { return l[0].View(i, j) }

// An Emb has the methods of what it embeds.
type Emb struct {
	*ext.Buf
	size int
}

func NewEmb(n int, x float64) Emb { return Emb{ext.New(n, x), n} }
